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

from framekiln.composition.layers.stored import read_stored_config
from framekiln.engine.order import FilmLimits, FilmOrder
from framekiln.engine.page_api import ServiceAnswers
from framekiln.engine.site import SiteAssets
from framekiln.engine.studio import Studio
from framekiln.jobs.ending import patiently
from framekiln.jobs.model import JobContext
from framekiln.jobs.queue import JobQueue
from framekiln.kit.ids import OrganizationId, RenderId
from framekiln.renders.assets import RenderAssets, Sources, fetch_site
from framekiln.renders.bundle import read_index
from framekiln.renders.chain import Chain, ChainParts
from framekiln.renders.ending import ending_badly
from framekiln.renders.model import Render, SourceKind, output_key
from framekiln.renders.output import FilmFormat
from framekiln.renders.progress import ProgressReports
from framekiln.renders.reuse.reusing import Reuse
from framekiln.renders.still import Still, still_moment
from framekiln.renders.work import RenderWork
from framekiln.storage.blob_store import BlobStore


@dataclass(frozen=True)
class FilmRenders:
    """Handles `render.film` jobs."""

    work: RenderWork
    blobs: BlobStore
    sources: Sources
    jobs: JobQueue
    studio: Studio
    limits: FilmLimits
    reuse: Reuse
    service_of: Callable[[OrganizationId, asyncio.AbstractEventLoop, Path], ServiceAnswers]
    """What answers, for an organization, the pages that expect a service behind them; it may write
    into the folder.
    """

    async def __call__(self, job: JobContext) -> None:
        """Film what can be filmed now."""
        render_id = RenderId(UUID(job.args["render_id"]))
        with structlog.contextvars.bound_contextvars(render_id=str(render_id)):
            async with ending_badly(self.work, render_id, job):
                render = await self.work.start(render_id, job_id=job.job_id, attempt=job.attempt)
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
            async with ProgressReports(self.work) as reports:
                parts = ChainParts(self.work, self.blobs, self.jobs, self.limits, self.reuse)
                chain = Chain(parts, render, job, order, folder, loop, reports)
                await self.studio.run(chain.run)

    async def _order(self, render: Render, assets: RenderAssets, folder: Path) -> FilmOrder:
        order = FilmOrder(
            html="",
            width_px=render.asked.width_px,
            height_px=render.asked.height_px,
            fps=render.asked.fps,
            duration_ms=render.asked.duration_ms,
            assets=assets,
            still=still_moment(render),
            data=None if render.data_key is None else await self._data(render.data_key),
            service=self.service_of(render.organization_id, asyncio.get_running_loop(), folder),
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
        still = Still(order, self.limits, render.output)
        await self.studio.run(still.shoot)
        key = output_key(render, attempt=job.attempt)
        await self.blobs.put(key, still.data)
        made = still.made(output_key=key)
        await patiently(lambda: self.work.complete(render.id, made))
