"""Reports the progress of a job, and stops its work once nobody wants the result.

Reports go from any thread to the database, a few times a second. Only the latest value is sent. A
report may be lost, and none delays the work.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from types import TracebackType
from typing import Any, Final, Generic, Self, TypeVar

import structlog
from psycopg.errors import ForeignKeyViolation

from framekiln.db.pool import DatabaseUnavailable

log = structlog.get_logger(__name__)

ResultT = TypeVar("ResultT")

_CHECK_EVERY_S: Final = 0.5


class WorkUnwanted(Exception):
    """The work was stopped, because nobody wants it any more."""


async def run_while_wanted(
    work: Coroutine[Any, Any, ResultT], is_wanted: Callable[[], Awaitable[bool]]
) -> ResultT:
    """Run `work`; if it is not wanted any more, cancel it within a second and raise."""
    working = asyncio.create_task(work)
    unwanted = asyncio.create_task(_wait_until_unwanted(is_wanted))
    try:
        await asyncio.wait([working, unwanted], return_when=asyncio.FIRST_COMPLETED)
    finally:
        is_stopped = not working.done()
        working.cancel()
        unwanted.cancel()
        await asyncio.gather(working, unwanted, return_exceptions=True)
    if is_stopped:
        unwanted.result()
        # What the work raised meanwhile, such as for a row that is gone, does not matter.
        raise WorkUnwanted
    return working.result()


async def _wait_until_unwanted(is_wanted: Callable[[], Awaitable[bool]]) -> None:
    while True:
        with suppress(DatabaseUnavailable):
            if not await is_wanted():
                return
        await asyncio.sleep(_CHECK_EVERY_S)


ValueT = TypeVar("ValueT")


class ProgressReporter(Generic[ValueT]):
    """Takes values from the working thread; a task of the event loop sends them."""

    def __init__(
        self, send: Callable[[ValueT], Awaitable[Any]], *, interval_s: float = 0.25
    ) -> None:
        self._send = send
        self._interval_s = interval_s
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
        # Unlike `await self._task`, this raises only the cancellation of the caller.
        await asyncio.wait([self._task])

    async def _send_latest(self) -> None:
        sent = None
        while True:
            await asyncio.sleep(self._interval_s)
            latest = self._latest
            if latest is None or latest == sent:
                continue
            try:
                await self._send(latest)
                sent = latest
            except (DatabaseUnavailable, ForeignKeyViolation):
                # What was deleted needs no progress; `run_while_wanted` stops the work.
                continue
            except Exception as error:
                log.warning("job.progress_lost", error=repr(error))
