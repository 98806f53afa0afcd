"""Processor time: of this process, of one thread, of a whole tree of processes."""

import os
import resource
from pathlib import Path

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def process_cpu_s() -> float:
    """Return what this process has used, all threads together."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def process_tree_cpu_s(leader: int) -> float:
    """Return what a process and everything below it have used, ended children included."""
    parents: dict[int, int] = {}
    used: dict[int, float] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        parents[int(entry.name)] = int(fields[1])
        used[int(entry.name)] = sum(int(fields[i]) for i in (11, 12, 13, 14)) / _TICKS_PER_S
    return sum(s for pid, s in used.items() if _is_below(pid, leader, parents))


def _is_below(pid: int, leader: int, parents: dict[int, int]) -> bool:
    while pid > 1:
        if pid == leader:
            return True
        pid = parents.get(pid, 0)
    return False
