"""Runs a program and measures its whole process tree: processor time, wall time, peak memory.

Processor time comes from a control group (cgroup v2). The time that the kernel adds up for a parent
lacks children that nobody waited for: it missed up to half of what a film took.
"""

import contextlib
import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.bench.cpu import tree_of

PR_SET_CHILD_SUBREAPER = 36
SAMPLE_EVERY_S = 0.25
MESSAGE_CHARACTERS = 600
# The group's folder is `$0`, the program and its arguments are the rest.
_JOIN = 'echo $$ > "$0/cgroup.procs" && exec "$@"'


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
    began = time.monotonic()
    peak_mib = 0.0
    with log.open("wb") as output, _control_group() as group:
        child = subprocess.Popen(
            ["/bin/sh", "-c", _JOIN, str(group), *(str(part) for part in command)],
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
        cpu_s = _group_cpu_s(group)
    if is_late:
        raise ProgramFailed(f"it took longer than {timeout_s:g} s: {_last_words(log)}")
    if child.returncode:
        raise ProgramFailed(f"it ended with status {child.returncode}: {_last_words(log)}")
    return Usage(cpu_s, wall_s, peak_mib)


@contextlib.contextmanager
def _control_group() -> Iterator[Path]:
    """Make a control group for the block."""
    mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    folder = next((Path(mount[1]) for mount in mounts if mount[2] == "cgroup2"), None)
    if folder is None:
        raise ProgramFailed("processor time cannot be measured: this machine has no cgroup v2")
    group = folder / f"framekiln-bench-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        raise ProgramFailed(
            f"processor time cannot be measured, run this as root: {error}"
        ) from None
    try:
        yield group
    finally:
        group.rmdir()


def _group_cpu_s(group: Path) -> float:
    fields = dict(line.split() for line in (group / "cpu.stat").read_text().splitlines())
    return int(fields["usage_usec"]) / 1e6


def _adopt_orphans() -> None:
    """Become the parent of processes whose own has ended, so that they can be ended, too."""
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
