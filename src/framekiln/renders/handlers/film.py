"""Job: one worker films slices of a render until none is free.

The composition is made ready here; `chain` takes slice after slice.
"""

import asyncio
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import UUID

import structlog

from framekiln.composition.layers.config_json import read_stored_config
from framekiln.engine.film_order import FilmLimits, FilmOrder
from framekiln.engine.film_threads import FilmThreadPool
from framekiln.engine.page_api import PageServiceBackend
from framekiln.engine.site import SiteAssets
from framekiln.jobs.failures import retry_while_database_down
from framekiln.jobs.model import JobContext
from framekiln.jobs.queue import JobQueue
from framekiln.kit.ids import OrganizationId, RenderId
from framekiln.renders.assets import AssetSources, RenderAssets, fetch_site
from framekiln.renders.bundle import read_index
from framekiln.renders.cache import RenderCache
from framekiln.renders.model import Render, SourceKind, output_key
from framekiln.renders.output import FilmFormat
from framekiln.renders.slice_worker import SliceWorker, SliceWorkers
from framekiln.renders.still import StillRender, still_moment
from framekiln.renders.worker import RenderWorker, SliceProgress, fail_render_on_last_attempt
from framekiln.storage.blob_store import BlobStore


@dataclass(frozen=True)
class FilmRender:
    """Handles `render.film` jobs."""

    worker: RenderWorker
    blobs: BlobStore
    sources: AssetSources
    jobs: JobQueue
    film_threads: FilmThreadPool
    limits: FilmLimits
    cache: RenderCache
    page_service_for: Callable[
        [OrganizationId, asyncio.AbstractEventLoop, Path], PageServiceBackend
    ]
    """What answers, for an organization, the pages that expect a service behind them; it may write
    into the folder.
    """

    async def __call__(self, job: JobContext) -> None:
        """Film what can be filmed now."""
        render_id = RenderId(UUID(job.args["render_id"]))
        with structlog.contextvars.bound_contextvars(render_id=str(render_id)):
            async with fail_render_on_last_attempt(self.worker, render_id, job):
                render = await self.worker.start(render_id, job_id=job.job_id, attempt=job.attempt)
                if render is not None:
                    await self._film(render, job)

    async def _film(self, render: Render, job: JobContext) -> None:
        loop = asyncio.get_running_loop()
        with tempfile.TemporaryDirectory(prefix="framekiln-film-") as name:
            folder = Path(name)
            assets = RenderAssets(self.sources, render, folder=folder, loop=loop)
            order = await self._order(render, assets, folder)
            if order.still is not None:
                await self._shoot_still(render, order, job)
                return
            async with SliceProgress(self.worker) as reports:
                parts = SliceWorkers(self.worker, self.blobs, self.jobs, self.limits, self.cache)
                chain = SliceWorker(parts, render, job, order, folder, loop, reports)
                await self.film_threads.run(chain.run)

    async def _order(self, render: Render, assets: RenderAssets, folder: Path) -> FilmOrder:
        order = FilmOrder(
            html="",
            width_px=render.options.width_px,
            height_px=render.options.height_px,
            fps=render.options.fps,
            duration_ms=render.options.duration_ms,
            assets=assets,
            still=still_moment(render),
            data=None if render.data_key is None else await self._data(render.data_key),
            service=self.page_service_for(
                render.organization_id, asyncio.get_running_loop(), folder
            ),
        )
        if render.source_kind is SourceKind.LAYERS:
            stored = await self.blobs.get(render.source_key)
            read = await asyncio.to_thread(read_stored_config, stored)
            return replace(order, layers=read.config)
        if not render.is_bundle:
            return replace(order, html=(await self.blobs.get(render.source_key)).decode())
        site = await fetch_site(render, self.blobs, folder)
        html = read_index(site.folder)
        return replace(order, html=html, site=site, assets=SiteAssets(site, assets))

    async def _data(self, key: str) -> str:
        return (await self.blobs.get(key)).decode()

    async def _shoot_still(self, render: Render, order: FilmOrder, job: JobContext) -> None:
        assert not isinstance(render.output, FilmFormat)
        still = StillRender(order, self.limits, render.output)
        await self.film_threads.run(still.shoot)
        key = output_key(render, attempt=job.attempt)
        await self.blobs.put(key, still.data)
        made = still.result(output_key=key)
        await retry_while_database_down(lambda: self.worker.complete(render.id, made))
