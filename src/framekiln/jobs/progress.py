"""Progress of a job, from any thread to the database, a few times a second.

Only the newest word counts; a lost one costs nothing, and none is ever in the way of the work.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from types import TracebackType
from typing import Any, Final, Generic, Self, TypeVar

from framekiln.db.pool import DatabaseUnavailable

_REPORT_INTERVAL_S: Final = 0.25

ValueT = TypeVar("ValueT")


class ProgressReporter(Generic[ValueT]):
    """Written by whoever works, passed on by a task of the event loop."""

    def __init__(self, send: Callable[[ValueT], Awaitable[Any]]) -> None:
        self._send = send
        # One value, replaced whole, so that a reader never sees half of it.
        self._latest: ValueT | None = None

    def report(self, word: ValueT) -> None:
        """Say how things are now."""
        self._latest = word

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._send_latest())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    async def _send_latest(self) -> None:
        told = None
        while True:
            await asyncio.sleep(_REPORT_INTERVAL_S)
            now = self._latest
            if now is None or now == told:
                continue
            with suppress(DatabaseUnavailable):
                await self._send(now)
                told = now
