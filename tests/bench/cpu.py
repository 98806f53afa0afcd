"""Processor time: of this process, of one thread, of a whole tree of processes."""

import os
import resource
from dataclasses import dataclass
from pathlib import Path

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def process_cpu_s() -> float:
    """Return what this process has used, all threads together."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def process_tree_cpu_s(leader: int) -> float:
    """Return what a process and everything below it have used, ended children included."""
    processes = _processes()
    return sum(processes[pid].cpu_s for pid in _below(leader, processes))


def tree_of(leader: int) -> list[int]:
    """Return a process and everything below it."""
    return _below(leader, _processes())


@dataclass(frozen=True)
class _Process:
    parent: int
    cpu_s: float


def _processes() -> dict[int, _Process]:
    found: dict[int, _Process] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        cpu_s = sum(int(fields[i]) for i in (11, 12, 13, 14)) / _TICKS_PER_S
        found[int(entry.name)] = _Process(int(fields[1]), cpu_s)
    return found


def _below(leader: int, processes: dict[int, _Process]) -> list[int]:
    return [pid for pid in processes if _is_below(pid, leader, processes)]


def _is_below(pid: int, leader: int, processes: dict[int, _Process]) -> bool:
    while pid > 1:
        if pid == leader:
            return True
        pid = processes[pid].parent if pid in processes else 0
    return False
