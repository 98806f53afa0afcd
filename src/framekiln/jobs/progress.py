"""Reports the progress of a job, from any thread to the database, a few times a second.

Only the latest value is sent. A report may be lost, and none delays the work.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from types import TracebackType
from typing import Any, Final, Generic, Self, TypeVar

from psycopg.errors import ForeignKeyViolation

from framekiln.db.pool import DatabaseUnavailable

_REPORT_INTERVAL_S: Final = 0.25

ValueT = TypeVar("ValueT")


class ProgressReporter(Generic[ValueT]):
    """Takes values from the working thread; a task of the event loop sends them."""

    def __init__(self, send: Callable[[ValueT], Awaitable[Any]]) -> None:
        self._send = send
        # One reference, replaced at once, so that a reader never sees half a value.
        self._latest: ValueT | None = None

    def report(self, value: ValueT) -> None:
        """Replace the value to be sent."""
        self._latest = value

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
        sent = None
        while True:
            await asyncio.sleep(_REPORT_INTERVAL_S)
            latest = self._latest
            if latest is None or latest == sent:
                continue
            # What was deleted at this moment needs no progress; `run_while_wanted` stops the work.
            with suppress(DatabaseUnavailable, ForeignKeyViolation):
                await self._send(latest)
                sent = latest
