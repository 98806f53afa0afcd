"""How a running Chromium is confined, as the kernel reports it: for `framekiln doctor`."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from framekiln.capture.browser import Browser

# Chromium has these, too, and with the same values where the machine's are the usual ones.
_ORDINARY_VARIABLES: Final = frozenset({b"PATH", b"HOME", b"LANG", b"PWD", b"SHLVL", b"_"})
_OURSELVES: Final = Path("/proc/self")
_NAMESPACES: Final = {"net": "network", "mnt": "files", "pid": "processes", "user": "users"}


@dataclass(frozen=True)
class ConfinementFacts:
    """What was seen of all its processes."""

    users: tuple[int, ...]
    processes: int
    filtered_processes: int
    """How many of them have a seccomp filter."""
    namespaces: tuple[str, ...] | None
    """What it has of its own; None if that may not be read."""
    our_variables: tuple[str, ...] | None
    """Variables of our environment that it has; None if that may not be read."""

    @property
    def is_enough(self) -> bool:
        """Whether pages of strangers may be shown."""
        return (
            0 not in self.users
            and self.processes == self.filtered_processes > 0
            and {"network", "files", "processes"} <= set(self.namespaces or ())
            and self.our_variables == ()
        )

    def __str__(self) -> str:
        users = " and ".join(str(user) for user in self.users)
        return (
            f"user {users}; {self.filtered_processes} of {self.processes} processes with a filter"
            f" of system calls; of its own: {_listed(self.namespaces)};"
            f" variables of ours: {_listed(self.our_variables)}"
        )


def confinement_facts(browser: Browser) -> ConfinementFacts:
    """Look at all processes of the browser."""
    processes = [status for status in browser.processes.statuses() if status.is_chromium]
    folders = [status.folder for status in processes]
    return ConfinementFacts(
        users=tuple(sorted({status.uid for status in processes})),
        processes=len(processes),
        filtered_processes=sum(status.has_filter for status in processes),
        namespaces=_own_namespaces(folders),
        our_variables=our_variables(folders),
    )


def our_variables(folders: list[Path]) -> tuple[str, ...] | None:
    """Return the names of variables of ours that these processes have with the same value."""
    ours = {name + b"=" + value for name, value in os.environb.items()}
    try:
        theirs = {
            entry for each in folders for entry in (each / "environ").read_bytes().split(b"\0")
        }
    except OSError:
        return None
    names = {entry.split(b"=")[0] for entry in ours & theirs} - _ORDINARY_VARIABLES
    return tuple(sorted(name.decode(errors="replace") for name in names))


def _own_namespaces(folders: list[Path]) -> tuple[str, ...] | None:
    own = []
    for kind, name in _NAMESPACES.items():
        try:
            ours, *theirs = ((each / "ns" / kind).readlink() for each in (_OURSELVES, *folders))
        except OSError:
            return None
        if ours not in theirs:
            own.append(name)
    return tuple(own)


def _listed(names: tuple[str, ...] | None) -> str:
    return "unknown" if names is None else ", ".join(names) or "none"
