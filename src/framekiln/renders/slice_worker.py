"""One worker's loop over the slices of a render: take a slice, render it, store it.

The first worker also plans the film, because that needs the open page.
"""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Final, TypeVar

import structlog

from framekiln.capture.browser import Browser
from framekiln.capture.grabber import RawPixelsDiffer, StillFrameChanged
from framekiln.capture.page_session import ConsoleEntry
from framekiln.engine.audio_clips import AudioClips
from framekiln.engine.audio_mix import mix_audio
from framekiln.engine.film import FilmRenderer, open_renderer
from framekiln.engine.film_order import FilmLimits, FilmOrder
from framekiln.engine.film_plan import FilmPlan, FilmSlice, cut_slices
from framekiln.engine.film_threads import CheckAlive
from framekiln.engine.page.renderer import OnFrame
from framekiln.jobs.model import JobContext
from framekiln.jobs.progress import ProgressReporter
from framekiln.jobs.queue import JobQueue
from framekiln.kit.cancellation import wait_for_result
from framekiln.media.encode.skipped_frames import UnexpectedPacket
from framekiln.renders.cache import RenderCache, film_digest
from framekiln.renders.jobs import FILM_QUEUE
from framekiln.renders.model import Render, TakenRenderSlice, slice_key, sound_key
from framekiln.renders.slice_state import new_console_lines
from framekiln.renders.worker import RenderWorker
from framekiln.storage.blob_store import BlobStore
from framekiln.storage.new_blobs import NewBlobs


class ReopenableRenderer:
    """One renderer at a time, reopened for an earlier slice or when raw frames prove wrong."""

    def __init__(
        self, order: FilmOrder, browser: Browser, limits: FilmLimits, *, plan: FilmPlan | None
    ) -> None:
        self._order = order if plan is None else _as_planned(order, plan)
        self._browser = browser
        self._limits = limits
        self._open = ExitStack()
        self._renderer: FilmRenderer | None = None
        self._fallback_reason: str | None = None
        self._console: tuple[ConsoleEntry, ...] = ()

    def __enter__(self) -> "ReopenableRenderer":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # The renderer sees the error, because it may know the cause.
        self._open.__exit__(kind, error, traceback)

    def at(self, frame: int) -> FilmRenderer:
        """Return a renderer that can still show the frame."""
        if self._renderer is None or self._renderer.next_frame > frame:
            self._open.close()
            self._renderer = self._open.enter_context(
                open_renderer(
                    self._order,
                    self._browser,
                    self._limits,
                    fallback_reason=self._fallback_reason,
                )
            )
        return self._renderer

    def take_console_lines(self) -> list[dict[str, str]]:
        """Return what scripts wrote to their console since the last call."""
        before, self._console = self._console, self._renderer.console() if self._renderer else ()
        return new_console_lines(before, self._console)

    def render_slice(self, slice_: FilmSlice, path: Path, shown: OnFrame) -> FilmRenderer:
        """Render a slice, in a slower way if frames prove wrong; so will all later ones be."""
        while True:
            renderer = self.at(slice_.first_frame)
            try:
                renderer.render_slice(slice_, path, shown)
            except RawPixelsDiffer as reason:
                if self._fallback_reason is not None:
                    # Screenshots failed, too.
                    raise
                self._fallback_reason = str(reason)
            except StillFrameChanged as reason:
                log.info("film.still_frame_changed", reason=str(reason))
                self._order = replace(self._order, draws_all_frames=True)
            except UnexpectedPacket as reason:
                log.warning("film.unexpected_packet", reason=str(reason))
            else:
                return renderer
            self._renderer = None


def _as_planned(order: FilmOrder, plan: FilmPlan) -> FilmOrder:
    """Have all workers render what the first one planned."""
    return replace(
        order,
        width_px=plan.size.width_px,
        height_px=plan.size.height_px,
        fps=plan.timeline.fps,
    )


T = TypeVar("T")

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)

_STEP_WITHIN_S: Final = 300.0


class SliceProgress(ProgressReporter[tuple[TakenRenderSlice, int]]):
    """Progress that a film thread sets and a task of the event loop records."""

    def __init__(self, worker: RenderWorker) -> None:
        super().__init__(lambda now: worker.report_slice(now[0], frames_done=now[1]))

    def set(self, taken: TakenRenderSlice, frames_done: int) -> None:
        """Set the progress of a slice."""
        self.report((taken, frames_done))


@dataclass(frozen=True)
class SliceWorkerServices:
    """Shared by all slice workers of a process."""

    worker: RenderWorker
    blobs: BlobStore
    new_blobs: NewBlobs
    jobs: JobQueue
    limits: FilmLimits
    cache: RenderCache


@dataclass(frozen=True)
class SliceWorker:
    """Works for one job; `run` is its film task."""

    services: SliceWorkerServices
    render: Render
    job: JobContext
    order: FilmOrder
    folder: Path
    loop: asyncio.AbstractEventLoop
    progress: SliceProgress

    def run(self, browser: Browser, alive: CheckAlive) -> None:
        """Render slice after slice, until none is free or another organization waits."""
        # If the browser died during an earlier try, its slice is still taken.
        self._wait(self.services.worker.release_slice(self.render.id, job_id=self.job.job_id))
        json = self.render.plan
        stored = None if json is None else FilmPlan.from_json(json)
        limits = self.services.limits
        with ReopenableRenderer(self.order, browser, limits, plan=stored) as renderers:
            plan = stored or self._plan(renderers.at(0))
            last: int | None = None
            while plan is not None and (taken := self._take(after=last)) is not None:
                if not self._wait(
                    self.services.cache.finish_slice_from_cache(self.render, taken, plan)
                ):
                    self._render(taken, renderers, alive)
                last = taken.slice.number
                alive()
                if self._others_are_waiting():
                    return

    def _plan(self, renderer: FilmRenderer) -> FilmPlan | None:
        """Store and return the plan; None when the whole film came from the cache."""
        request = self.render.request
        slices = cut_slices(renderer.plan.timeline, request.slice_ms)
        digests = renderer.digests(slices)
        plan = replace(
            renderer.plan,
            warnings=renderer.warnings(),
            sound_digest=digests.sound,
            sound_sources=digests.sound_sources,
        )
        whole = film_digest(digests.slices, digests.sound, request.output)
        cache = self.services.cache
        if self._wait(cache.complete_from_cache(self.render, plan, digest=whole)):
            return None
        self._wait(cache.save_plan(self.render, plan, slices, digests.slices))
        return plan

    def _take(self, *, after: int | None) -> TakenRenderSlice | None:
        return self._wait(
            self.services.worker.take_slice(self.render, job_id=self.job.job_id, after=after)
        )

    def _render(
        self, taken: TakenRenderSlice, renderers: ReopenableRenderer, alive: CheckAlive
    ) -> None:
        path = self.folder / f"{taken.slice.number}-{taken.fence}.mp4"
        first = taken.slice.first_frame

        def shown(number: int) -> None:
            alive()
            self.progress.set(taken, number + 1 - first)

        renderer = renderers.render_slice(taken.slice, path, shown)
        # The sound comes first: finishing the last slice queues the join.
        if taken.slice.end_frame == renderer.plan.timeline.frame_count:
            self._finish_sound(renderer)
        digest = _digest_if_cacheable(renderer, taken.slice)
        record = {**asdict(renderer.take_record()), "digest": digest}
        console = renderers.take_console_lines()
        self._wait_for_storage(self._store_slice(taken, path, record, console))
        path.unlink()

    def _finish_sound(self, renderer: FilmRenderer) -> None:
        if renderer.plan.has_page_audio:
            self._store_sound(renderer)
        elif not renderer.is_declarative:
            self._wait(self._replace_audio_clips(renderer.audio_clips()))

    async def _replace_audio_clips(self, clips: AudioClips) -> None:
        """Queue the mix again if scripts changed the planned audio clips."""
        replaced = await self.services.worker.replace_audio_clips(self.render.id, clips)
        if replaced is not None:
            await self.services.blobs.delete(replaced)

    def _store_sound(self, renderer: FilmRenderer) -> None:
        """Mix the audio clips with the sound that the page itself produced."""
        path = self.folder / "sound.mp4"
        own, timeline = renderer.save_page_audio(self.folder), renderer.plan.timeline
        mix_audio(renderer.audio_clips(), timeline, self.order.assets, path, page_sounds=own)
        key = sound_key(self.render)
        self._wait_for_storage(self.services.new_blobs.put_file(key, path))
        if not self._wait(self.services.worker.finish_sound(self.render.id, blob_key=key)):
            self._wait(self.services.new_blobs.discard(key))
        for file in (path, *(sound.path for sound in own)):
            file.unlink()

    async def _store_slice(
        self,
        taken: TakenRenderSlice,
        path: Path,
        record: dict[str, Any],
        console: list[dict[str, str]],
    ) -> None:
        key = slice_key(self.render, taken.slice.number)
        await self.services.new_blobs.put_file(key, path)
        # Cache the slice before finishing it: after the last one, the join deletes all slices.
        await self.services.cache.add(self.render, record["digest"], key=key, record=record)
        if not await self.services.worker.finish_slice(
            taken, blob_key=key, record=record, console=console
        ):
            await self.services.new_blobs.discard(key)

    def _others_are_waiting(self) -> bool:
        """Return whether it is the turn of another organization."""
        jobs = self.services.jobs
        return self._wait(jobs.should_yield(FILM_QUEUE, self.render.organization_id))

    def _wait(self, step: Coroutine[Any, Any, T]) -> T:
        """Return the result of a step; it is cancelled with this film."""
        return wait_for_result(self._begin(step), _STEP_WITHIN_S)

    def _wait_for_storage(self, step: Coroutine[Any, Any, T]) -> T:
        """Return the result of a step that reads a file of this film.

        It is never cancelled: a store may keep parts of a blob. It has limits of its own.
        """
        return self._begin(step).result()

    def _begin(self, step: Coroutine[Any, Any, T]) -> "Future[T]":
        return asyncio.run_coroutine_threadsafe(step, self.loop)


def _digest_if_cacheable(renderer: FilmRenderer, slice_: FilmSlice) -> str | None:
    """Return the digest of what was rendered; sources may have changed since the plan."""
    return renderer.digests([slice_]).slices[0] if renderer.is_cacheable else None
