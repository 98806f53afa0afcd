"""Holds a running child, and lets it go on later: work that is not urgent makes way for other work.

While it is held it uses no processor, and its wall clock stands still.
"""

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

Send = Callable[[signal.Signals], None]


@dataclass(frozen=True)
class _Held:
    """A child under the brake; `clock` ends it when its time is over."""

    send: Send
    clock: asyncio.Timeout


class Brake:
    """For one child at a time; it may be pulled before there is one."""

    def __init__(self) -> None:
        self._child: _Held | None = None
        self._is_pulled = False
        self._left_s: float | None = None

    def pull(self) -> None:
        """Let the child stand still, at once or as soon as it is there."""
        if self._is_pulled:
            return
        self._is_pulled = True
        if self._child is not None:
            self._stop(self._child)

    def release(self) -> None:
        """Let the child go on."""
        if not self._is_pulled:
            return
        self._is_pulled = False
        if self._child is not None:
            if self._left_s is not None:
                self._child.clock.reschedule(_now() + self._left_s)
            self._child.send(signal.SIGCONT)

    @contextmanager
    def on(self, send: Send, clock: asyncio.Timeout) -> Iterator[None]:
        """Have a child under the brake."""
        self._child = _Held(send, clock)
        if self._is_pulled:
            self._stop(self._child)
        try:
            yield
        finally:
            self._child = None

    def _stop(self, child: _Held) -> None:
        ends_at = child.clock.when()
        self._left_s = None if ends_at is None else ends_at - _now()
        child.clock.reschedule(None)
        child.send(signal.SIGSTOP)


def _now() -> float:
    return asyncio.get_running_loop().time()
