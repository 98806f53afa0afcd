"""Job: one worker films slices of a render until none is free.

The first worker also plans the render: the page must be open for that, so it goes on filming with
it. Runs in a film thread; every step that touches the database or the store is handed to the event
loop and waited for.
"""

import asyncio
import tempfile
from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, TypeVar
from uuid import UUID

import structlog

from framekiln.capture.browser import Browser
from framekiln.capture.grab import RawPixelsDiffer
from framekiln.composition.layers.stored import read_stored_config
from framekiln.engine.order import FilmLimits, FilmOrder
from framekiln.engine.page_api import ServiceAnswers
from framekiln.engine.site import SiteAssets
from framekiln.engine.slices import cut
from framekiln.engine.sound import mix_sounds
from framekiln.engine.stages import AnyStage, open_stage_for
from framekiln.engine.studio import Alive, Studio
from framekiln.jobs.ending import patiently
from framekiln.jobs.model import JobContext
from framekiln.jobs.queue import JobQueue
from framekiln.kit.ids import OrganizationId, RenderId
from framekiln.renders.assets import RenderAssets, Sources, fetch_site
from framekiln.renders.bundle import read_index
from framekiln.renders.ending import ending_badly
from framekiln.renders.jobs import FILM_QUEUE
from framekiln.renders.model import Render, SourceKind, output_key, slice_key, sound_key
from framekiln.renders.output import Mp4Format
from framekiln.renders.plan import RenderPlan
from framekiln.renders.progress import ProgressReports
from framekiln.renders.slices.store import TakenSlice
from framekiln.renders.still import Still, stage_record, still_moment
from framekiln.renders.work import RenderWork
from framekiln.storage.blob_store import BlobStore

T = TypeVar("T")

_STEP_WITHIN_S: Final = 300.0


@dataclass(frozen=True)
class FilmRenders:
    """Handles `render.film` jobs."""

    work: RenderWork
    blobs: BlobStore
    sources: Sources
    jobs: JobQueue
    studio: Studio
    limits: FilmLimits
    service_of: Callable[[OrganizationId, asyncio.AbstractEventLoop], ServiceAnswers]
    """What answers, for an organization, the pages that expect a service behind them."""

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
            assets = RenderAssets(self.sources, render.organization_id, folder=folder, loop=loop)
            order = await self._order(render, assets, folder)
            if order.still is not None:
                await self._shoot_still(render, order, job)
                return
            async with ProgressReports(self.work) as reports:
                chain = _Chain(self, render, job, order, folder, loop, reports)
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
            service=self.service_of(render.organization_id, asyncio.get_running_loop()),
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

    async def _shoot_still(self, render: Render, order: FilmOrder, job: JobContext) -> None:
        assert not isinstance(render.output, Mp4Format)
        still = Still(order, self.limits, render.output)
        await self.studio.run(still.shoot)
        key = output_key(render, attempt=job.attempt)
        await self.blobs.put(key, still.data)
        made = still.made(output_key=key)
        await patiently(lambda: self.work.complete(render.id, made))


@dataclass(frozen=True)
class _Chain:
    """Slices of one render, one after the other, on one thread."""

    parts: FilmRenders
    render: Render
    job: JobContext
    order: FilmOrder
    folder: Path
    loop: asyncio.AbstractEventLoop
    reports: ProgressReports

    def run(self, browser: Browser, alive: Alive) -> None:
        """Take slice after slice; a stage is kept as long as the next slice lies ahead of it."""
        # A browser that died under an earlier try has left its slice taken.
        self._wait(self.parts.work.take_back(self.render.id, job_id=self.job.job_id))
        stages = _Stages(self, browser)
        with stages:
            made: int | None = None
            if self.render.plan is None:
                self._plan(stages.at(0))
            while (taken := self._take(after=made)) is not None:
                self._film(taken, stages, alive)
                made = taken.slice.number
                alive()
                if self._others_wait():
                    return

    def _plan(self, stage: AnyStage) -> None:
        slices = cut(stage.shot.timeline, self.render.slice_ms)
        plan = RenderPlan.of(stage.shot)
        self._wait(self.parts.work.save_plan(self.render, plan, slices))

    def _take(self, *, after: int | None) -> TakenSlice | None:
        return self._wait(
            self.parts.work.take_slice(self.render, job_id=self.job.job_id, after=after)
        )

    def _film(self, taken: TakenSlice, stages: "_Stages", alive: Alive) -> None:
        path = self.folder / f"{taken.slice.number}-{taken.fence}.mp4"
        first = taken.slice.first_frame

        def shown(number: int) -> None:
            alive()
            self.reports.set(taken, number + 1 - first)

        try:
            stage = stages.at(first)
            stage.film(taken.slice, path, shown)
        except RawPixelsDiffer as reason:
            stage = stages.without_raw(first, str(reason))
            stage.film(taken.slice, path, shown)
        # First the sound: the last slice has the film joined.
        if stage.shot.has_page_sound and taken.slice.end_frame == stage.shot.timeline.frame_count:
            self._keep_sound(stage, fence=taken.fence)
        self._wait(self._keep(taken, path, stage_record(stage)))
        path.unlink()

    def _keep_sound(self, stage: AnyStage, *, fence: int) -> None:
        """Keep the sound that the page itself has mixed, and came with its last frame."""
        raw, path = self.folder / "page.wav", self.folder / "sound.mp4"
        page_sound = raw if stage.save_sound(raw) else None
        mix_sounds((), stage.shot.timeline, self.order.assets, path, page_sound=page_sound)
        key = sound_key(self.render, attempt=fence)
        self._wait(self.parts.blobs.put_file(key, path))
        self._wait(self.parts.work.finish_sound(self.render.id, blob_key=key))
        path.unlink()
        raw.unlink(missing_ok=True)

    async def _keep(self, taken: TakenSlice, path: Path, record: dict[str, Any]) -> None:
        key = slice_key(self.render, number=taken.slice.number, fence=taken.fence)
        await self.parts.blobs.put_file(key, path)
        if not await self.parts.work.finish_slice(taken, blob_key=key, record=record):
            await self.parts.blobs.delete(key)

    def _others_wait(self) -> bool:
        """Make room for another organization: somebody else was called in for what is left."""
        return self._wait(
            self.parts.jobs.has_waiting_of_others(
                FILM_QUEUE, argument="organization_id", value=str(self.render.organization_id)
            )
        )

    def _wait(self, step: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(step, self.loop).result(_STEP_WITHIN_S)


class _Stages:
    """The stage of a chain, replaced when a slice lies behind it or raw frames prove wrong."""

    def __init__(self, chain: _Chain, browser: Browser) -> None:
        self._chain = chain
        self._browser = browser
        self._open = ExitStack()
        self._stage: AnyStage | None = None
        self._fallback_reason: str | None = None

    def __enter__(self) -> "_Stages":
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def at(self, frame: int) -> AnyStage:
        """Return a stage that can still show the frame."""
        if self._stage is None or self._stage.next_frame > frame:
            self._open.close()
            self._stage = self._open.enter_context(
                open_stage_for(
                    self._order(),
                    self._browser,
                    self._chain.parts.limits,
                    fallback_reason=self._fallback_reason,
                )
            )
        return self._stage

    def without_raw(self, frame: int, reason: str) -> AnyStage:
        """Return a stage that takes screenshots, from now on."""
        self._fallback_reason = reason
        self._stage = None
        return self.at(frame)

    def _order(self) -> FilmOrder:
        """All workers film the same thing: what the first one planned."""
        order, plan = self._chain.order, self._chain.render.plan
        if plan is None:
            return order
        kept = RenderPlan.from_json(plan)
        return replace(
            order,
            width_px=kept.size.width_px,
            height_px=kept.size.height_px,
            fps=kept.timeline.fps,
        )
