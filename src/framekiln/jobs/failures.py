"""Records failures: on a job's last attempt, with the reason, even while the database is down.

Knows no domain: the caller says how the failure is recorded.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import structlog

from framekiln.db.pool import DatabaseUnavailable
from framekiln.jobs.model import JobContext
from framekiln.kit.errors import FramekilnError, Outage

log = structlog.get_logger(__name__)

DATABASE_TIMEOUT_S: Final = 120.0

ResultT = TypeVar("ResultT")


@dataclass(frozen=True)
class Failure:
    """The final error of something, as its owner sees it."""

    code: str
    message: str
    warnings: tuple[str, ...] = ()
    """Earlier warnings that may name the cause."""


@asynccontextmanager
async def fail_on_last_attempt(
    job: JobContext, record: Callable[[Failure], Awaitable[Any]]
) -> AsyncIterator[None]:
    """Record why a job fails on its last attempt; before that, let the queue retry it."""
    try:
        yield
    except Exception as error:
        if job.will_retry(error):
            raise
        failure = failure_of(error)
        log.warning("job.gave_up", code=failure.code, reason=failure.message)
        await retry_while_database_down(lambda: record(failure))


async def retry_while_database_down(step: Callable[[], Awaitable[ResultT]]) -> ResultT:
    """Call `step` until the database is available; give up after `DATABASE_TIMEOUT_S`."""
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
        # The queue retries this error without limit.
        message = f"PostgreSQL was not available for {DATABASE_TIMEOUT_S:g} s"
        raise DatabaseUnavailable(message) from error


def failure_of(error: Exception) -> Failure:
    """Return the failure that the owner sees for an error."""
    if isinstance(error, Outage):
        # The message is for the operator: it may name keys, paths and internal hosts.
        log.error("job.outage", code=error.code, reason=error.message)
        return Failure(error.code, "a server that the service needs is away: try again later")
    if isinstance(error, FramekilnError):
        return Failure(error.code, error.message, error.warnings)
    log.error("job.unexpected_error", exc_info=error)
    return Failure("internal_error", f"unexpected error: {type(error).__name__}")
