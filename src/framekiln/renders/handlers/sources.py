"""Films and mixes do not wait for slow servers in their slots while other organizations wait.

Such a film or mix ends, and gives its slice back. A job that mostly waits downloads the sources,
and then queues the film or mix again, which finds them stored, or gets their errors at once.
"""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any

import structlog

from framekiln.db.pool import Database
from framekiln.files.ingest import Ingest
from framekiln.files.model import IngestedAsset
from framekiln.jobs.model import JobContext
from framekiln.jobs.progress import WorkUnwanted, run_while_wanted
from framekiln.jobs.queue import JobQueue
from framekiln.kit.confined.errors import describe_error
from framekiln.kit.errors import FramekilnError
from framekiln.renders.assets import RenderAssets
from framekiln.renders.jobs import job_with_sources
from framekiln.renders.model import Render
from framekiln.renders.render_job import run_later_job
from framekiln.renders.worker import RenderWorker

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class SlotRelease:
    """Gives up the slot of a job that waits for slow servers."""

    worker: RenderWorker
    jobs: JobQueue

    async def run(
        self,
        work: Coroutine[Any, Any, None],
        assets: RenderAssets,
        *,
        render: Render,
        job: JobContext,
        queue: str,
    ) -> None:
        """Run `work`, which reads the assets, unless its slot is needed while it waits for them."""
        slow: list[str] = []

        async def may_wait() -> bool:
            slow[:] = assets.slow_downloads()
            return not slow or not await self.jobs.should_yield(queue, render.organization_id)

        try:
            await run_while_wanted(work, may_wait)
        except WorkUnwanted:
            log.info("render.slot_released", slow_sources=len(slow))
            await self.worker.fetch_sources_first(render, slow, job=job)


@dataclass(frozen=True)
class FetchSources:
    """Handles `render.sources` jobs."""

    worker: RenderWorker
    database: Database
    jobs: JobQueue
    ingest: Ingest

    async def __call__(self, job: JobContext) -> None:
        """Download the sources, and queue the job again that needs them."""
        await run_later_job(self.worker, job, self._fetch_all)

    async def _fetch_all(self, render: Render, job: JobContext) -> None:
        urls = job.args["urls"]
        fetching = (self.ingest.get(render.organization_id, url) for url in urls)
        results = await asyncio.gather(*fetching, return_exceptions=True)
        fetched = dict(job.args.get("fetched", {}))
        for url, result in zip(urls, results, strict=True):
            fetched[url] = _last_error(result, job)
        async with self.database.transaction() as connection:
            again = job_with_sources(render, job.args["then"], fetched)
            await self.jobs.defer(connection, again)


def _last_error(result: IngestedAsset | BaseException, job: JobContext) -> dict[str, Any] | None:
    """Return the error of a download, which is for the film to handle; raise if it is retried."""
    if isinstance(result, IngestedAsset):
        return None
    if not isinstance(result, FramekilnError) or job.will_retry(result):
        raise result
    return describe_error(result)
