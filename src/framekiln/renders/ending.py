"""How any job of a render ends it badly: at the last try, with the reason, come what may."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

import structlog

from framekiln.db.pool import DatabaseUnavailable
from framekiln.jobs.model import JobContext
from framekiln.kit.errors import FramekilnError
from framekiln.kit.ids import RenderId
from framekiln.renders.model import Failure
from framekiln.renders.work import RenderWork

log = structlog.get_logger(__name__)

_DATABASE_BACK_WITHIN_S: Final = 120.0


@asynccontextmanager
async def ending_badly(
    work: RenderWork, render_id: RenderId, job: JobContext
) -> AsyncIterator[None]:
    """Fail the render when its job fails for good; while the queue tries again it goes on."""
    try:
        yield
    except Exception as error:
        if job.tries_again_after(error):
            raise
        failure = _failure(error)
        log.warning("render failed", code=failure.code, reason=failure.message)
        await patiently(lambda: work.fail(render_id, failure))


async def patiently(step: Callable[[], Awaitable[Any]]) -> None:
    """Do the last write of a render even if the database is away for a while."""
    async with asyncio.timeout(_DATABASE_BACK_WITHIN_S):
        while True:
            try:
                await step()
            except DatabaseUnavailable:
                await asyncio.sleep(1)
            else:
                return


def _failure(error: Exception) -> Failure:
    if isinstance(error, FramekilnError):
        return Failure(error.code, error.message)
    log.error("unexpected error", exc_info=error)
    return Failure("internal_error", f"unexpected error: {type(error).__name__}")
