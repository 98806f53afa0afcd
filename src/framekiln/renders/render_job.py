"""Runs the work of a job on its render, while that is wanted; a last failure fails the render."""

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any
from uuid import UUID

import structlog

from framekiln.jobs.failures import fail_on_last_attempt
from framekiln.jobs.model import JobContext
from framekiln.jobs.progress import WorkUnwanted, run_while_wanted
from framekiln.kit.ids import RenderId
from framekiln.renders.model import Render
from framekiln.renders.worker import RenderWorker

log = structlog.get_logger(__name__)

Make = Callable[[Render, JobContext], Coroutine[Any, Any, None]]


async def run_first_job(worker: RenderWorker, job: JobContext, make: Make) -> None:
    """Start the render of a job, or continue it, and make it, unless nothing is left to do."""

    async def start(render_id: RenderId) -> Render | None:
        return await worker.start(
            render_id, job_id=job.job_id, attempt=job.attempt, was_returned=job.was_returned
        )

    await _run(worker, job, start, make)


async def run_later_job(worker: RenderWorker, job: JobContext, make: Make) -> None:
    """Make a part of a render that has been started, unless it has ended."""
    await _run(worker, job, worker.get, make)


async def _run(
    worker: RenderWorker,
    job: JobContext,
    find: Callable[[RenderId], Awaitable[Render | None]],
    make: Make,
) -> None:
    render_id = RenderId(UUID(job.args["render_id"]))
    with structlog.contextvars.bound_contextvars(render_id=str(render_id)):
        async with fail_on_last_attempt(job, lambda failure: worker.fail(render_id, failure)):
            render = await find(render_id)
            if render is None:
                return
            try:
                await run_while_wanted(make(render, job), lambda: worker.is_wanted(render_id))
            except WorkUnwanted:
                log.info("render.work_stopped")
