"""The scheduling class of this thread, which processes that it starts inherit."""

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


@contextmanager
def ordinary_afterwards() -> Iterator[None]:
    """Leave the realtime class that an encoder gives to its caller: SVT-AV1 does so as root.

    Whatever the tests start later would be realtime, too, and starve all ordinary programs.
    """
    try:
        yield
    finally:
        leave_realtime()
