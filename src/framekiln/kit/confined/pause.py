"""Pauses and resumes a running child, so that urgent work can run first.

While it is paused it uses no CPU, and its wall clock stops.
"""

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

Send = Callable[[signal.Signals], None]


@dataclass(frozen=True)
class _PausableChild:
    """A child that can be paused; `clock` kills it when its time is over."""

    send: Send
    clock: asyncio.Timeout


class PauseSwitch:
    """For one child at a time; it may be paused before the child starts."""

    def __init__(self) -> None:
        self._child: _PausableChild | None = None
        self._is_pulled = False
        self._left_s: float | None = None

    def pause(self) -> None:
        """Pause the child, now or as soon as it starts."""
        if self._is_pulled:
            return
        self._is_pulled = True
        if self._child is not None:
            self._stop(self._child)

    def resume(self) -> None:
        """Resume the child."""
        if not self._is_pulled:
            return
        self._is_pulled = False
        if self._child is not None:
            if self._left_s is not None:
                self._child.clock.reschedule(_now() + self._left_s)
            self._child.send(signal.SIGCONT)

    @contextmanager
    def control(self, send: Send, clock: asyncio.Timeout) -> Iterator[None]:
        """Attach the switch to a child for the block."""
        self._child = _PausableChild(send, clock)
        if self._is_pulled:
            self._stop(self._child)
        try:
            yield
        finally:
            self._child = None

    def _stop(self, child: _PausableChild) -> None:
        ends_at = child.clock.when()
        self._left_s = None if ends_at is None else ends_at - _now()
        child.clock.reschedule(None)
        child.send(signal.SIGSTOP)


def _now() -> float:
    return asyncio.get_running_loop().time()
