"""Resource limits of a confined child, and their kernel settings."""

import os
import resource
import signal
from dataclasses import dataclass
from typing import Final

NICENESS: Final = 5
_ORDINARY: Final = (os.SCHED_OTHER, os.SCHED_BATCH, os.SCHED_IDLE)
# Memory that is mapped but hardly used: libraries, and address space that each thread reserves.
_ADDRESS_SLACK_BYTES: Final = 2 << 30


@dataclass(frozen=True)
class ResourceLimits:
    """The limits of one run. A child that exceeds one is killed."""

    cpu_s: int
    """Of all threads together."""
    memory_bytes: int
    file_bytes: int
    """Of any single file it writes."""
    wall_s: float
    open_files: int = 64
    niceness: int = NICENESS
    """Relative to the service."""


@dataclass(frozen=True)
class SessionLimits:
    """The limits of one session; a child that exceeds one is killed."""

    request_s: float = 180
    """Wall-clock time of one request, without the time to fetch parts of the source."""
    request_cpu_s: int = 240
    """Of all threads together, in one request."""
    total_cpu_s: int = 24 * 3600
    memory_bytes: int = 4 << 30
    counted_bytes: int = 1 << 30
    """What it counts in the budget: what most films need. It counts more when it takes more."""
    wait_s: float = 1800
    """How long it waits for a place in the budget."""
    open_sources: int = 64
    """More are closed, least recently used first, and opened again when they are needed."""
    shared_bytes: int = 1 << 30
    """Memory for frames; beyond it, sources are closed in the same way."""


def apply_limits(limits: ResourceLimits) -> None:
    """Apply the limits to this process; the parent enforces the wall clock.

    Memory is limited by writable data (RLIMIT_DATA), which is close to real use. The whole address
    space is several times as large, and grows with each thread.
    """
    # One second of grace, so that the soft limit's own signal identifies the limit.
    _limit(resource.RLIMIT_CPU, limits.cpu_s, limits.cpu_s + 1)
    _limit(resource.RLIMIT_DATA, limits.memory_bytes)
    _limit(resource.RLIMIT_AS, limits.memory_bytes + _ADDRESS_SLACK_BYTES)
    _limit(resource.RLIMIT_FSIZE, limits.file_bytes)
    _limit(resource.RLIMIT_NOFILE, limits.open_files)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_RTPRIO, 0)
    _limit(resource.RLIMIT_NICE, 0)
    leave_realtime()
    # Python ignores it, and a writer would get an ordinary error.
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)


def is_realtime() -> bool:
    """Return whether this thread has a realtime scheduling class, which its children inherit."""
    return os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK not in _ORDINARY


def leave_realtime() -> None:
    """Make this thread an ordinary one: realtime threads that never sleep stop the machine."""
    if is_realtime():
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def _limit(kind: int, soft: int, hard: int | None = None) -> None:
    _, highest = resource.getrlimit(kind)
    wanted = (soft, soft if hard is None else hard)
    if highest != resource.RLIM_INFINITY:
        wanted = (min(wanted[0], highest), min(wanted[1], highest))
    resource.setrlimit(kind, wanted)
