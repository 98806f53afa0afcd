"""Resource limits of a confined child, and their kernel settings."""

import resource
import signal
from dataclasses import dataclass
from typing import Final

_NICENESS: Final = 5
# What is mapped but hardly used: libraries, and address space that each thread reserves.
_ADDRESS_SLACK_BYTES: Final = 2 << 30


@dataclass(frozen=True)
class ResourceLimits:
    """The limits of one run. A child that exceeds one is killed."""

    cpu_s: int
    """Of all its threads together."""
    memory_bytes: int
    file_bytes: int
    """Of any single file that it writes."""
    wall_s: float
    open_files: int = 64


def nice_increment() -> int:
    """Return how much a child stands back behind the rest of the service."""
    return _NICENESS


def apply_limits(limits: ResourceLimits) -> None:
    """Put this very process under the limits; only the wall clock is left to the parent.

    Memory is counted by what can be written (RLIMIT_DATA): that is near to what is really used,
    while the whole address space is several times as much, and grows with each thread.
    """
    # A second of grace lets the soft limit's own signal say which limit it was.
    _limit(resource.RLIMIT_CPU, limits.cpu_s, limits.cpu_s + 1)
    _limit(resource.RLIMIT_DATA, limits.memory_bytes)
    _limit(resource.RLIMIT_AS, limits.memory_bytes + _ADDRESS_SLACK_BYTES)
    _limit(resource.RLIMIT_FSIZE, limits.file_bytes)
    _limit(resource.RLIMIT_NOFILE, limits.open_files)
    _limit(resource.RLIMIT_CORE, 0)
    # Python ignores it, and a writer would see one more error of many.
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)


def _limit(kind: int, soft: int, hard: int | None = None) -> None:
    _, highest = resource.getrlimit(kind)
    wanted = (soft, soft if hard is None else hard)
    if highest != resource.RLIM_INFINITY:
        wanted = (min(wanted[0], highest), min(wanted[1], highest))
    resource.setrlimit(kind, wanted)
