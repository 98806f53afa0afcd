"""Records failures: on a job's last attempt, with the reason, even while the database is down.

Knows no render and no file: whoever uses it says how the failure is recorded.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import structlog

from framekiln.db.pool import DatabaseUnavailable
from framekiln.jobs.model import JobContext
from framekiln.kit.errors import FramekilnError

log = structlog.get_logger(__name__)

DATABASE_TIMEOUT_S: Final = 120.0

ResultT = TypeVar("ResultT")


@dataclass(frozen=True)
class Failure:
    """Why something failed for good, as its owner is told."""

    code: str
    message: str
    warnings: tuple[str, ...] = ()
    """What was noticed before, and may be the cause."""


@asynccontextmanager
async def fail_on_last_attempt(
    job: JobContext, record: Callable[[Failure], Awaitable[Any]]
) -> AsyncIterator[None]:
    """Record why a job fails when it fails for good; while the queue tries again it goes on."""
    try:
        yield
    except Exception as error:
        if job.will_retry(error):
            raise
        failure = failure_of(error)
        log.warning("failed for good", code=failure.code, reason=failure.message)
        await retry_while_database_down(lambda: record(failure))


async def retry_while_database_down(step: Callable[[], Awaitable[ResultT]]) -> ResultT:
    """Do the last write of a job even if the database is away for a while."""
    try:
        async with asyncio.timeout(DATABASE_TIMEOUT_S) as limit:
            while True:
                try:
                    return await step()
                except DatabaseUnavailable:
                    await asyncio.sleep(1)
    except TimeoutError as error:
        if not limit.expired():
            raise
        # What it is, so that the queue tries again, however often it has.
        message = f"PostgreSQL was away for more than {DATABASE_TIMEOUT_S:g} s"
        raise DatabaseUnavailable(message) from error


def failure_of(error: Exception) -> Failure:
    """Return what the owner is told of an error."""
    if isinstance(error, FramekilnError):
        return Failure(error.code, error.message, error.warnings)
    log.error("unexpected error", exc_info=error)
    return Failure("internal_error", f"unexpected error: {type(error).__name__}")
