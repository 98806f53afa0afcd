"""Job: render slices of a film until none is free, or one still.

The order is prepared here; `SliceWorker` renders slice after slice.
"""

import asyncio
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from framekiln.composition.layers.config_json import read_stored_config
from framekiln.engine.film import make_still
from framekiln.engine.film_order import FilmLimits, FilmOrder, PageMethod, StillMoment
from framekiln.engine.film_threads import FilmThreadPool
from framekiln.engine.page_api import PageServiceBackend
from framekiln.engine.site import SiteAssets
from framekiln.jobs.failures import retry_while_database_down
from framekiln.jobs.model import JobContext
from framekiln.jobs.queue import JobQueue
from framekiln.kit.ids import OrganizationId
from framekiln.renders.assets import AssetSources, RenderAssets, fetch_site
from framekiln.renders.bundle import read_index
from framekiln.renders.cache import RenderCache
from framekiln.renders.handlers.sources import SlotRelease
from framekiln.renders.jobs import FILM_QUEUE
from framekiln.renders.model import Render, RenderResult, SourceKind
from framekiln.renders.output import FilmFormat, preset_of
from framekiln.renders.output_file import store_output
from framekiln.renders.render_job import run_first_job
from framekiln.renders.slice_worker import SliceProgress, SliceWorker, SliceWorkerServices
from framekiln.renders.worker import RenderWorker
from framekiln.storage.blob_store import BlobStore
from framekiln.storage.new_blobs import NewBlobs


@dataclass(frozen=True)
class FilmRender:
    """Handles `render.film` jobs."""

    worker: RenderWorker
    blobs: BlobStore
    new_blobs: NewBlobs
    sources: AssetSources
    jobs: JobQueue
    film_threads: FilmThreadPool
    limits: FilmLimits
    cache: RenderCache
    page_method: PageMethod
    reuses_pages: bool
    page_service_for: Callable[
        [OrganizationId, asyncio.AbstractEventLoop, Path], PageServiceBackend
    ]
    """Makes the service that pages with an external runtime expect, for an organization; it may
    write into the folder.
    """

    async def __call__(self, job: JobContext) -> None:
        """Render what is left of the film."""
        await run_first_job(self.worker, job, self._film)

    async def _film(self, render: Render, job: JobContext) -> None:
        loop = asyncio.get_running_loop()
        with tempfile.TemporaryDirectory(prefix="framekiln-film-") as name:
            folder = Path(name)
            fetched = job.args.get("fetched")
            assets = RenderAssets(self.sources, render, folder=folder, loop=loop, fetched=fetched)
            order = await self._order(render, assets, folder)
            if order.still is None:
                making = self._make_slices(render, order, folder, job)
            else:
                making = self._make_still(render, order, folder / "still")
            await SlotRelease(self.worker, self.jobs).run(
                making,
                assets,
                render=render,
                job=job,
                queue=FILM_QUEUE,
            )

    async def _make_slices(
        self, render: Render, order: FilmOrder, folder: Path, job: JobContext
    ) -> None:
        services = SliceWorkerServices(
            self.worker, self.blobs, self.new_blobs, self.jobs, self.limits, self.cache
        )
        loop = asyncio.get_running_loop()
        async with SliceProgress(self.worker) as progress:
            slices = SliceWorker(services, render, job, order, folder, loop, progress)
            await self.film_threads.run(slices.run, owner=render.organization_id)

    async def _order(self, render: Render, assets: RenderAssets, folder: Path) -> FilmOrder:
        request = render.request
        order = FilmOrder(
            width_px=request.width_px,
            height_px=request.height_px,
            fps=request.fps,
            duration_ms=request.duration_ms,
            assets=assets,
            page_method=self.page_method,
            has_page_digests=self.reuses_pages,
            still=still_moment(render),
            preset=preset_of(request.output),
            data=None if render.data_key is None else await self._data(render.data_key),
            service=self.page_service_for(
                render.organization_id, asyncio.get_running_loop(), folder
            ),
        )
        if request.source_kind is SourceKind.LAYERS:
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

    async def _make_still(self, render: Render, order: FilmOrder, path: Path) -> None:
        format_ = render.request.output
        assert order.still is not None
        assert not isinstance(format_, FilmFormat)
        still = await self.film_threads.run(
            lambda browser, _: make_still(order, browser, path, format_, limits=self.limits),
            owner=render.organization_id,
        )
        output = await store_output(render, path, self.new_blobs)
        result = RenderResult(
            width_px=still.plan.size.width_px,
            height_px=still.plan.size.height_px,
            fps=still.plan.timeline.fps,
            duration_ms=order.still.at_ms,
            output_key=output.key,
            byte_size=output.byte_size,
            record=asdict(still.record),
            md5=output.md5,
        )
        if not await retry_while_database_down(
            lambda: self.worker.complete(render.id, result, plan=still.plan)
        ):
            await self.new_blobs.discard(output.key)


def still_moment(render: Render) -> StillMoment | None:
    """Return the moment of a still; None when the render is a film."""
    request = render.request
    if isinstance(request.output, FilmFormat):
        return None
    return StillMoment(
        at_ms=request.duration_ms or 0,
        is_transparent=getattr(request.output, "transparency", False),
    )
