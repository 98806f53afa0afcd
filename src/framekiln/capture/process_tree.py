"""The processes of one Chromium, read from `/proc`: which there are, and their CPU time."""

import os
from collections.abc import Iterator
from pathlib import Path


def descendants(leader: int) -> Iterator[int]:
    """Yield the process and all its descendants."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (fields := _stat_fields(int(entry.name))):
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
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return None
    # Forked from the zygote, a renderer has its arguments in one string, separated by spaces.
    for argument in command.replace(b"\0", b" ").split():
        if argument.startswith(b"--type="):
            return argument.removeprefix(b"--type=").decode(errors="replace")
    return None


def cpu_seconds(leader: int) -> float:
    """Return the CPU time of the process and its descendants that are running now."""
    fields = (_stat_fields(pid) for pid in descendants(leader))
    ticks = sum(int(each[11]) + int(each[12]) for each in fields if each)
    return ticks / os.sysconf("SC_CLK_TCK")


def _stat_fields(pid: int) -> list[str]:
    """Return the fields after the name; empty if the process has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return []
