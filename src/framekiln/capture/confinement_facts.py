"""How a running Chromium is confined, as the kernel reports it: for `framekiln doctor`."""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from framekiln.capture.browser import Browser

# What Chromium, or the shell script that starts it, has in its environment.
_EXPECTED_NAMES: Final = frozenset({"PATH", "HOME", "LANG", "PWD", "SHLVL", "_"})
_NAMESPACES: Final = {"net": "network", "mnt": "files", "pid": "processes", "user": "users"}


@dataclass(frozen=True)
class ConfinementFacts:
    """What was seen of all its processes."""

    users: tuple[int, ...]
    processes: int
    filtered_processes: int
    """How many of them have a seccomp filter."""
    namespaces: tuple[str, ...]
    """What it has of its own."""
    foreign_variables: tuple[str, ...]
    """Names in its environment that are not its own."""

    @property
    def is_enough(self) -> bool:
        """Whether pages of strangers may be shown."""
        return (
            0 not in self.users
            and self.processes == self.filtered_processes > 0
            and {"network", "files", "processes"} <= set(self.namespaces)
            and not self.foreign_variables
        )

    def __str__(self) -> str:
        users = " and ".join(str(user) for user in self.users)
        own = ", ".join(self.namespaces) or "nothing"
        foreign = ", ".join(self.foreign_variables) or "none"
        return (
            f"user {users}; {self.filtered_processes} of {self.processes} processes with a filter"
            f" of system calls; {own} of its own; variables of ours: {foreign}"
        )


def confinement_facts(browser: Browser) -> ConfinementFacts:
    """Look at all processes of the browser."""
    processes = [status for status in browser.processes.statuses() if status.is_chromium]
    shared = {_namespace(Path("/proc/self"), kind) for kind in _NAMESPACES}
    own = [
        name
        for kind, name in _NAMESPACES.items()
        if shared.isdisjoint(_namespace(status.folder, kind) for status in processes)
    ]
    return ConfinementFacts(
        users=tuple(sorted({status.uid for status in processes})),
        processes=len(processes),
        filtered_processes=sum(status.has_filter for status in processes),
        namespaces=tuple(own),
        foreign_variables=tuple(
            sorted(set().union(*(foreign_variables(status.folder) for status in processes)))
        ),
    )


def _namespace(folder: Path, kind: str) -> str | None:
    """Return the name of the process's namespace; None if it may not be read."""
    with suppress(OSError):
        return str((folder / "ns" / kind).readlink())
    return None


def foreign_variables(folder: Path) -> set[str]:
    """Return the names in the environment of a process that Chromium has no use for."""
    try:
        content = (folder / "environ").read_bytes()
    except OSError:
        return set()
    entries = [entry for entry in content.split(b"\0") if b"=" in entry]
    # A process forked by Chromium's zygote has the end of its command line there.
    names = {entry.split(b"=")[0].decode(errors="replace") for entry in entries}
    return {name for name in names - _EXPECTED_NAMES if name.isidentifier() and name.isupper()}
