"""A realtime scheduling class for this thread, as that of a service started by a realtime one."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from framekiln.kit.confined.limits import leave_realtime


@contextmanager
def realtime_if_allowed() -> Iterator[None]:
    """Make this thread, and the processes that it starts, realtime, where the machine allows it."""
    with suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    try:
        yield
    finally:
        leave_realtime()
