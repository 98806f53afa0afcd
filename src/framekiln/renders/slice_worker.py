"""One worker's loop over the slices of a render: take a slice, film it, store it.

The first worker also plans the render: the page must be open for that.
"""

import asyncio
from collections.abc import Coroutine
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Final, TypeVar

from framekiln.capture.browser import Browser
from framekiln.capture.grabber import RawPixelsDiffer
from framekiln.engine.audio_mix import mix_audio
from framekiln.engine.digests import film_digest
from framekiln.engine.film_order import FilmLimits, FilmOrder
from framekiln.engine.film_threads import CheckAlive
from framekiln.engine.renderer import FilmRenderer, open_renderer
from framekiln.engine.slices import FilmSlice, cut_slices
from framekiln.jobs.model import JobContext
from framekiln.jobs.queue import JobQueue
from framekiln.renders.cache import RenderCache
from framekiln.renders.jobs import FILM_QUEUE
from framekiln.renders.model import Render, TakenRenderSlice, slice_key, sound_key
from framekiln.renders.output import output_as_json
from framekiln.renders.plan import RenderPlan, Sounds
from framekiln.renders.still import capture_record
from framekiln.renders.worker import RenderWorker, SliceProgress
from framekiln.storage.blob_store import BlobStore


class ReopenableRenderer:
    """One stage at a time, replaced when a slice lies behind it or raw frames prove wrong."""

    def __init__(
        self, order: FilmOrder, browser: Browser, limits: FilmLimits, *, plan: RenderPlan | None
    ) -> None:
        self._order = order if plan is None else _as_planned(order, plan)
        self._browser = browser
        self._limits = limits
        self._open = ExitStack()
        self._stage: FilmRenderer | None = None
        self._fallback_reason: str | None = None

    def __enter__(self) -> "ReopenableRenderer":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # The stage hears of the error: it may know the cause.
        self._open.__exit__(kind, error, traceback)

    def at(self, frame: int) -> FilmRenderer:
        """Return a stage that can still show the frame."""
        if self._stage is None or self._stage.next_frame > frame:
            self._open.close()
            self._stage = self._open.enter_context(
                open_renderer(
                    self._order,
                    self._browser,
                    self._limits,
                    fallback_reason=self._fallback_reason,
                )
            )
        return self._stage

    def reopen_for_screenshots(self, frame: int, reason: str) -> FilmRenderer:
        """Return a stage that takes screenshots, from now on."""
        self._fallback_reason = reason
        self._stage = None
        return self.at(frame)


def _as_planned(order: FilmOrder, plan: RenderPlan) -> FilmOrder:
    """All workers film the same thing: what the first one planned."""
    return replace(
        order,
        width_px=plan.size.width_px,
        height_px=plan.size.height_px,
        fps=plan.timeline.fps,
    )


T = TypeVar("T")

_STEP_WITHIN_S: Final = 300.0


@dataclass(frozen=True)
class SliceWorkers:
    """What all chains work with."""

    worker: RenderWorker
    blobs: BlobStore
    jobs: JobQueue
    limits: FilmLimits
    cache: RenderCache


@dataclass(frozen=True)
class SliceWorker:
    """Made for one job; `run` is its film work."""

    services: SliceWorkers
    render: Render
    job: JobContext
    order: FilmOrder
    folder: Path
    loop: asyncio.AbstractEventLoop
    progress: SliceProgress

    def run(self, browser: Browser, alive: CheckAlive) -> None:
        """Take slice after slice; a stage is kept as long as the next slice lies ahead of it."""
        # A browser that died under an earlier try has left its slice taken.
        self._wait(self.services.worker.release_slice(self.render.id, job_id=self.job.job_id))
        stored = self.render.plan
        kept = None if stored is None else RenderPlan.from_json(stored)
        with ReopenableRenderer(self.order, browser, self.services.limits, plan=kept) as renderers:
            plan = kept or self._plan(renderers.at(0))
            made: int | None = None
            while plan is not None and (taken := self._take(after=made)) is not None:
                if not self._wait(
                    self.services.cache.finish_slice_from_cache(self.render, taken, plan)
                ):
                    self._film(taken, renderers, alive)
                made = taken.slice.number
                alive()
                if self._others_are_waiting():
                    return

    def _plan(self, renderer: FilmRenderer) -> RenderPlan | None:
        """Return the plan; None when the whole film was found, and there is nothing to do."""
        slices = cut_slices(renderer.settings.timeline, self.render.slice_ms)
        digests = renderer.digests(slices)
        plan = RenderPlan.of(renderer.settings, digests, warnings=renderer.warnings())
        whole = film_digest(digests.slices, digests.sound, output_as_json(self.render.output))
        reuse, attempt = self.services.cache, self.job.attempt
        if self._wait(reuse.complete_from_cache(self.render, plan, digest=whole, attempt=attempt)):
            return None
        self._wait(self.services.worker.save_plan(self.render, plan, slices, digests.slices))
        return plan

    def _take(self, *, after: int | None) -> TakenRenderSlice | None:
        return self._wait(
            self.services.worker.take_slice(self.render, job_id=self.job.job_id, after=after)
        )

    def _film(
        self, taken: TakenRenderSlice, renderers: ReopenableRenderer, alive: CheckAlive
    ) -> None:
        path = self.folder / f"{taken.slice.number}-{taken.fence}.mp4"
        first = taken.slice.first_frame

        def shown(number: int) -> None:
            alive()
            self.progress.set(taken, number + 1 - first)

        try:
            renderer = renderers.at(first)
            renderer.render_slice(taken.slice, path, shown)
        except RawPixelsDiffer as reason:
            renderer = renderers.reopen_for_screenshots(first, str(reason))
            renderer.render_slice(taken.slice, path, shown)
        # First the sound: the last slice has the film joined.
        if taken.slice.end_frame == renderer.settings.timeline.frame_count:
            self._finish_sound(renderer, fence=taken.fence)
        record = {**capture_record(renderer), "digest": _digest_if_cacheable(renderer, taken.slice)}
        self._wait(self._store_slice(taken, path, record))
        path.unlink()

    def _finish_sound(self, renderer: FilmRenderer, *, fence: int) -> None:
        if renderer.settings.has_page_audio:
            self._store_sound(renderer, fence=fence)
        elif not renderer.settings.is_declarative:
            self._wait(self._replace_sounds(renderer.audio_clips()))

    async def _replace_sounds(self, sounds: Sounds) -> None:
        """Queue the mix again if scripts changed the planned sounds."""
        replaced = await self.services.worker.replace_sounds(self.render.id, sounds)
        if replaced is not None:
            await self.services.blobs.delete(replaced)

    def _store_sound(self, renderer: FilmRenderer, *, fence: int) -> None:
        """Mix what is heard with what the page itself has made heard until its last frame."""
        path = self.folder / "sound.mp4"
        own, timeline = renderer.save_page_audio(self.folder), renderer.settings.timeline
        mix_audio(renderer.audio_clips(), timeline, self.order.assets, path, page_sounds=own)
        key = sound_key(self.render, job_id=self.job.job_id, attempt=fence)
        self._wait(self.services.blobs.put_file(key, path))
        self._wait(self.services.worker.finish_sound(self.render.id, blob_key=key))
        for file in (path, *(sound.path for sound in own)):
            file.unlink()

    async def _store_slice(
        self, taken: TakenRenderSlice, path: Path, record: dict[str, Any]
    ) -> None:
        key = slice_key(self.render, number=taken.slice.number, fence=taken.fence)
        await self.services.blobs.put_file(key, path)
        # Before it is finished: the last slice has the film joined, and all slices removed.
        await self.services.cache.add(self.render, record["digest"], key=key, record=record)
        if not await self.services.worker.finish_slice(taken, blob_key=key, record=record):
            await self.services.blobs.delete(key)

    def _others_are_waiting(self) -> bool:
        """Whether another organization waits for a film worker."""
        return self._wait(
            self.services.jobs.has_waiting_of_others(
                FILM_QUEUE, argument="organization_id", value=str(self.render.organization_id)
            )
        )

    def _wait(self, step: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(step, self.loop).result(_STEP_WITHIN_S)


def _digest_if_cacheable(renderer: FilmRenderer, slice_: FilmSlice) -> str | None:
    """Return what a slice was made of, by the sources of this stage: they may be newer ones."""
    return renderer.digests([slice_]).slices[0] if renderer.is_cacheable else None
