"""The processes of one Chromium, read from `/proc`: which there are, and what they use."""

import os
import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from io import FileIO
from itertools import chain
from pathlib import Path
from typing import Final

_PROC: Final = Path("/proc")
_KIB: Final = 1024
_STATUS_FIELDS: Final = re.compile(
    r"^(State|Uid|Threads|RssAnon|RssShmem|Seccomp|CapEff):\t(.*)$", re.MULTILINE
)
_TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")
_LOW_PRIORITY: Final = 15


@dataclass(frozen=True)
class ProcessStatus:
    """The state of one process."""

    folder: Path
    """Its folder in `/proc`, or in the `/proc` of its namespace."""
    uid: int
    """Its user outside all namespaces."""
    threads: int
    memory_bytes: int
    """Resident memory without files. Memory that processes share counts in each of them."""
    has_filter: bool
    """Whether a seccomp filter applies."""
    capabilities: int

    @property
    def is_chromium(self) -> bool:
        """Whether it is Chromium itself, not a program that has started it."""
        with suppress(OSError):
            program = (self.folder / "cmdline").read_bytes().replace(b"\0", b" ").split(b" ")[0]
            return program.endswith(b"headless-shell") or program == b"/proc/self/exe"
        return False

    def proportional_bytes(self) -> int:
        """Return resident memory without files, with a share of what is shared.

        The kernel walks all pages for this, so it is for rare use. Where it is not allowed, the
        result is `memory_bytes`.
        """
        try:
            text = (self.folder / "smaps_rollup").read_text()
        except OSError:
            return self.memory_bytes
        fields = dict(line.split(":", 1) for line in text.splitlines()[1:])
        return _kib(fields, "Pss_Anon") + _kib(fields, "Pss_Shmem")


class ProcessTree:
    """All processes of one Chromium."""

    def __init__(self, leader: int, *, has_namespace: bool) -> None:
        self._leader = leader
        self._inner = self._inner_proc() if has_namespace else None

    def statuses(self) -> list[ProcessStatus]:
        """Return the state of each process that has not ended."""
        return [status for folder in self._folders() if (status := _read(folder)) is not None]

    def of_types(self, kinds: Collection[str]) -> frozenset[int]:
        """Return the ids of the processes of these types, such as `gpu-process`."""
        folders = self._folders()
        return frozenset(int(each.name) for each in folders if _type_of(each) in kinds)

    def cpu_seconds(self) -> float:
        """Return the CPU time of the processes that are running now."""
        return sum(map(_cpu_seconds, self._folders()))

    def temporary_bytes(self) -> int:
        """Return the size of the files in the temporary folder of its own file system."""
        if self._inner is not None:
            with suppress(OSError):
                system = os.statvfs(self._inner.parent / "tmp")
                return (system.f_blocks - system.f_bfree) * system.f_frsize
        return 0

    def _folders(self) -> list[Path]:
        if self._inner is None:
            return [_PROC / str(pid) for pid in descendants(self._leader)]
        with suppress(OSError):
            return [entry for entry in self._inner.iterdir() if entry.name.isdigit()]
        return []

    def _inner_proc(self) -> Path | None:
        """Return the `/proc` of Chromium's namespace, which lists only its own processes."""
        for pid in chain(_first_descendants(self._leader), descendants(self._leader)):
            inner = _PROC / str(pid) / "root/proc"
            with suppress(OSError):
                status = _read(_PROC / str(pid))
                if status is not None and status.is_chromium and any(inner.iterdir()):
                    return inner
        return None


def _first_descendants(leader: int) -> Iterator[int]:
    """Yield the process, its first child, the first child of that, and so on.

    Each program that wraps Chromium has one thread and one child. Asking for it is cheaper than
    searching all processes of the machine.
    """
    waiting = [leader]
    while waiting:
        yield (pid := waiting[0])
        try:
            children = (_PROC / f"{pid}/task/{pid}/children").read_text()
        except OSError:
            # The process has ended, or the kernel lists no children.
            return
        waiting = [int(child) for child in children.split()]


def descendants(leader: int) -> Iterator[int]:
    """Yield the process and all its descendants."""
    children: dict[int, list[int]] = {}
    # Each page does this, and a machine has hundreds of processes: a Path for each is slow.
    with os.scandir(_PROC) as entries:
        for entry in entries:
            if entry.name.isdigit() and (fields := _stat_fields(entry.path)):
                children.setdefault(int(fields[1]), []).append(int(entry.name))
    waiting = [leader]
    while waiting:
        pid = waiting.pop()
        yield pid
        waiting += children.get(pid, [])


def processes_of_type(leader: int, kind: str) -> Iterator[int]:
    """Yield Chromium's processes of this type, for example `gpu-process`."""
    return (pid for pid in descendants(leader) if process_type(pid) == kind)


def process_type(pid: int) -> str | None:
    """Return the type that Chromium gave the process; None for any other process."""
    return _type_of(_PROC / str(pid))


def _type_of(folder: Path) -> str | None:
    try:
        command = (folder / "cmdline").read_bytes()
    except OSError:
        return None
    # Forked from the zygote, a renderer has its arguments in one string, separated by spaces.
    for argument in command.replace(b"\0", b" ").split():
        if argument.startswith(b"--type="):
            return argument.removeprefix(b"--type=").decode(errors="replace")
    return None


def lower_priority(leader: int) -> None:
    """Let all others go first, whatever the process and its descendants do."""
    for pid in descendants(leader):
        with suppress(OSError):
            for thread in (_PROC / str(pid) / "task").iterdir():
                with suppress(OSError):
                    os.setpriority(os.PRIO_PROCESS, int(thread.name), _LOW_PRIORITY)


def _cpu_seconds(folder: Path) -> float:
    fields = _stat_fields(folder)
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S if fields else 0


def _stat_fields(folder: Path | str) -> list[bytes]:
    """Return the fields after the name; empty if the process has ended."""
    try:
        with FileIO(f"{folder}/stat") as file:
            return file.read().rpartition(b")")[2].split()
    except OSError:
        return []


def _read(folder: Path) -> ProcessStatus | None:
    try:
        with FileIO(f"{folder}/status") as file:
            text = file.read().decode(errors="replace")
    except OSError:
        return None
    fields = dict(_STATUS_FIELDS.findall(text))
    if fields["State"].startswith(("Z", "X")):
        return None
    return ProcessStatus(
        folder=folder,
        uid=int(fields["Uid"].split()[1]),
        threads=int(fields["Threads"]),
        memory_bytes=_kib(fields, "RssAnon") + _kib(fields, "RssShmem"),
        has_filter=fields.get("Seccomp") == "2",
        capabilities=int(fields["CapEff"], 16),
    )


def _kib(fields: dict[str, str], name: str) -> int:
    # A process that is ending has no memory.
    return int(fields.get(name, "0 kB").split()[0]) * _KIB
