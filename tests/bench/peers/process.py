"""Runs a program and measures its whole process tree: processor time, wall time, peak memory."""

import contextlib
import ctypes
import os
import resource
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.bench.cpu import tree_of

PR_SET_CHILD_SUBREAPER = 36
SAMPLE_EVERY_S = 0.25
MESSAGE_CHARACTERS = 600


@dataclass(frozen=True)
class Usage:
    """What a program used, with everything it started."""

    cpu_s: float
    wall_s: float
    peak_mib: float


class ProgramFailed(Exception):
    """The program ended with an error, or took too long."""


def run_measured(
    command: Sequence[str | Path],
    *,
    cwd: Path,
    timeout_s: float,
    environment: Mapping[str, str] | None = None,
) -> Usage:
    """Run a program to its end; processes that outlive it are ended, and count as well."""
    _adopt_orphans()
    log = cwd / "output.log"
    began, before = time.monotonic(), _children_cpu_s()
    peak_mib = 0.0
    with log.open("wb") as output:
        child = subprocess.Popen(
            [str(part) for part in command],
            cwd=cwd,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        is_late = False
        try:
            while child.poll() is None and not is_late:
                peak_mib = max(peak_mib, _tree_mib(child.pid))
                time.sleep(SAMPLE_EVERY_S)
                is_late = time.monotonic() - began > timeout_s
            wall_s = time.monotonic() - began
        finally:
            _end_tree(child)
    if is_late:
        raise ProgramFailed(f"it took longer than {timeout_s:g} s: {_last_words(log)}")
    if child.returncode:
        raise ProgramFailed(f"it ended with status {child.returncode}: {_last_words(log)}")
    return Usage(_children_cpu_s() - before, wall_s, peak_mib)


def _adopt_orphans() -> None:
    """Become the parent of processes whose own has ended, so that their time is counted."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "this process cannot adopt orphans")


def _end_tree(child: subprocess.Popen[bytes]) -> None:
    if child.poll() is None:
        _signal_tree(child.pid)
        child.wait()
    while True:
        _signal_orphans()
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _signal_tree(leader: int) -> None:
    for pid in tree_of(leader):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def _signal_orphans() -> None:
    """Nothing else is started by this process, so what is below it belonged to the program."""
    for pid in tree_of(os.getpid()):
        if pid != os.getpid():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)


def _children_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _tree_mib(leader: int) -> float:
    return sum(_resident_kib(pid) for pid in tree_of(leader)) / 1024


def _resident_kib(pid: int) -> int:
    """Return the proportional share of shared memory and all of its own, if that can be read."""
    for name, field in (("smaps_rollup", "Pss:"), ("status", "VmRSS:")):
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{pid}/{name}").read_text().splitlines():
                if line.startswith(field):
                    return int(line.split()[1])
    return 0


def _last_words(log: Path) -> str:
    return log.read_text(errors="replace").strip()[-MESSAGE_CHARACTERS:]
