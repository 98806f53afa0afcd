"""A render's way from created to complete: what its workers may do to it, and when.

Each method is one transaction under the render's row lock, so the workers of one render never
race. A slice that was taken over from a dead worker makes the render `recovering`, and its first
frame makes it `rendering` again.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from typing import Any, Final

from framekiln.db.notify import notify
from framekiln.db.pool import Connection, Database
from framekiln.engine.slices import FilmSlice
from framekiln.jobs.failures import Failure, fail_on_last_attempt
from framekiln.jobs.model import JobContext
from framekiln.jobs.progress import ProgressReporter
from framekiln.jobs.queue import JobQueue
from framekiln.kit.clock import Clock
from framekiln.kit.ids import RenderId
from framekiln.renders import slice_store, store
from framekiln.renders.events import RenderEvents
from framekiln.renders.jobs import film_job, join_job, sound_job
from framekiln.renders.model import (
    FinishedSlice,
    Render,
    RenderResult,
    RenderStatus,
    TakenRenderSlice,
    progress_topic,
    states_before,
)
from framekiln.renders.plan import RenderPlan, Sounds
from framekiln.renders.slice_choice import choose_slice

MAX_TAKES: Final = 3
"""A slice that took this many workers down with it is poison."""
MAX_OPEN_ATTEMPTS: Final = 5
"""So is a render that took this many down before it was planned."""


class RenderWorker:
    """The renders of all organizations, as their workers see them."""

    def __init__(
        self, database: Database, *, jobs: JobQueue, clock: Clock, events: RenderEvents
    ) -> None:
        self._database = database
        self._jobs = jobs
        self._clock = clock
        self._events = events

    async def start(self, render_id: RenderId, *, job_id: int, attempt: int) -> Render | None:
        """Begin, or begin again, to film a render; None when there is nothing left to do."""
        async with self._locked(render_id) as (connection, render):
            if render is None or render.status.is_terminal:
                return None
            if render.plan is None and attempt > MAX_OPEN_ATTEMPTS:
                await self._fail(connection, render_id, _KILLS_WORKERS)
                return None
            released = await slice_store.release(connection, render_id, job_id=job_id)
            free = await slice_store.list_free_numbers(connection, render_id)
            if render.plan is not None and not free:
                return None
            # An attempt that died before it came here has left nothing to recover from.
            has_begun = render.status in states_before(RenderStatus.RECOVERING)
            if has_begun and (attempt > 1 or released):
                await store.set_recovering(connection, render_id)
            else:
                await store.set_started(connection, render_id, now=self._clock.now())
            await self._queue_further_worker(connection, render, free=len(free))
            return render

    async def release_slice(self, render_id: RenderId, *, job_id: int) -> None:
        """Free the slice a job was at when its browser died."""
        async with self._locked(render_id) as (connection, _):
            if await slice_store.release(connection, render_id, job_id=job_id):
                await store.set_recovering(connection, render_id)

    async def get(self, render_id: RenderId) -> Render | None:
        """Return a render that still needs work."""
        async with self._database.connection() as connection:
            render = await store.find_by_id(connection, render_id)
        return None if render is None or render.status.is_terminal else render

    async def save_plan(
        self,
        render: Render,
        plan: RenderPlan,
        slices: Sequence[FilmSlice],
        digests: Sequence[str | None] = (),
    ) -> None:
        """Store the plan and its slices, and queue a further worker."""
        async with self._locked(render.id) as (connection, current):
            if current is None or current.status.is_terminal or current.plan is not None:
                return
            await store.set_plan(connection, render.id, plan.as_json())
            await slice_store.insert(connection, render.id, slices, digests)
            if not plan.has_page_sound:
                await self._jobs.defer(connection, sound_job(render))
            await self._queue_further_worker(connection, render, free=len(slices))

    async def take_slice(
        self, render: Render, *, job_id: int, after: int | None
    ) -> TakenRenderSlice | None:
        """Take a free slice; None when none is free or the render has ended."""
        async with self._locked(render.id) as (connection, current):
            if current is None or current.status.is_terminal:
                return None
            free = await slice_store.list_free_numbers(connection, render.id)
            number = choose_slice(free, after=after)
            if number is None:
                return None
            taken = await slice_store.take(connection, render.id, number, job_id=job_id)
            if taken.fence <= MAX_TAKES:
                return taken
            await self._fail(connection, render.id, _slice_kills_workers(taken.slice))
            return None

    async def report_slice(self, taken: TakenRenderSlice, *, frames_done: int) -> None:
        """Tell followers how far a slice is."""
        async with self._database.transaction() as connection:
            if await slice_store.set_frames_done(connection, taken, frames_done):
                await store.set_recovered(connection, taken.render_id)
                await notify(connection, progress_topic(taken.render_id))

    async def report_permille(self, render_id: RenderId, thousandths: int) -> None:
        """Tell followers how far a render is that is made in one go."""
        async with self._database.transaction() as connection:
            await slice_store.set_permille(connection, render_id, thousandths)
            await store.set_recovered(connection, render_id)
            await notify(connection, progress_topic(render_id))

    async def finish_slice(
        self, taken: TakenRenderSlice, *, blob_key: str, record: dict[str, Any]
    ) -> bool:
        """Record a finished slice; after the last one, queue the join.

        False when the render has ended or another worker took the slice.
        """
        async with self._locked(taken.render_id) as (connection, render):
            if render is None or render.status.is_terminal:
                return False
            if not await slice_store.finish(connection, taken, blob_key=blob_key, record=record):
                return False
            await self._queue_join_if_complete(connection, render)
            return True

    async def replace_sounds(self, render_id: RenderId, sounds: Sounds) -> str | None:
        """Have the sound mixed of something else than was planned; return the key of the old one.

        Done again with the same sounds it changes nothing.
        """
        async with self._locked(render_id) as (connection, render):
            if render is None or render.status.is_terminal or render.plan is None:
                return None
            plan = RenderPlan.from_json(render.plan)
            if plan.sounds == sounds:
                return None
            await store.set_plan(connection, render_id, replace(plan, sounds=sounds).as_json())
            await store.set_sound(connection, render_id, None, digest=None)
            await self._jobs.defer(connection, sound_job(render))
            return render.sound_key

    async def finish_sound(
        self,
        render_id: RenderId,
        *,
        blob_key: str,
        digest: str | None = None,
        mixed: Sounds | None = None,
    ) -> bool:
        """Record the mixed sound; if the pictures are there, the film is joined.

        False if nobody wants it, or if what was `mixed` is not what is planned any more.
        """
        async with self._locked(render_id) as (connection, render):
            if render is None or render.status.is_terminal or render.plan is None:
                return False
            if mixed is not None and RenderPlan.from_json(render.plan).sounds != mixed:
                return False
            await store.set_sound(connection, render_id, blob_key, digest=digest)
            await self._queue_join_if_complete(connection, render)
            return True

    async def finished_slices(self, render_id: RenderId) -> list[FinishedSlice]:
        """Return the finished slices, in order."""
        async with self._database.connection() as connection:
            return await slice_store.list_finished(connection, render_id)

    async def find_equal_film(self, render: Render, film_digest: str) -> RenderResult | None:
        """Return a film of the same organization that was made of the same things."""
        async with self._database.connection() as connection:
            return await store.find_film(connection, render, film_digest)

    async def complete(
        self,
        render_id: RenderId,
        made: RenderResult,
        *,
        film_digest: str | None = None,
        plan: RenderPlan | None = None,
    ) -> bool:
        """Mark a render complete; False when it has already ended. `plan` is stored with it."""
        async with self._locked(render_id) as (connection, render):
            if render is not None and render.result and render.result.output_key == made.output_key:
                # The answer to our first try was lost with the database: the output is in use.
                return True
            if plan is not None and render is not None and render.plan is None:
                await store.set_plan(connection, render_id, plan.as_json())
            return await store.complete(
                connection, render_id, made, now=self._clock.now(), film_digest=film_digest
            )

    async def fail(self, render_id: RenderId, failure: Failure) -> bool:
        """Mark a render failed; False when it has already ended."""
        async with self._locked(render_id) as (connection, render):
            planned = render.plan["warnings"] if render and render.plan else ()
            warnings = tuple(dict.fromkeys((*planned, *failure.warnings)))
            return await self._fail(connection, render_id, replace(failure, warnings=warnings))

    async def _fail(self, connection: Connection, render_id: RenderId, failure: Failure) -> bool:
        return await store.fail(connection, render_id, failure, now=self._clock.now())

    async def _queue_join_if_complete(self, connection: Connection, render: Render) -> None:
        current = await store.find_by_id(connection, render.id)
        assert current is not None
        if current.sound_key is None or current.plan is None:
            return
        if await slice_store.count_unfinished(connection, render.id) == 0:
            await self._jobs.defer(connection, join_job(render))

    async def _queue_further_worker(
        self, connection: Connection, render: Render, *, free: int
    ) -> None:
        """Queue a job for one more worker while slices are free.

        Whoever takes it calls in the next: each render has one such job waiting, not one for each
        slice, so that renders take turns.
        """
        if free > 1:
            await self._jobs.defer(connection, film_job(render, is_further=True))

    @asynccontextmanager
    async def _locked(self, render_id: RenderId) -> AsyncIterator[tuple[Connection, Render | None]]:
        """Hold the render's row; followers hear of whatever changed."""
        async with self._database.transaction() as connection:
            render = await store.lock(connection, render_id)
            yield connection, render
            await notify(connection, progress_topic(render_id))
            now = await store.find_by_id(connection, render_id)
            if render is not None and now is not None:
                await self._events.record(connection, now, before=render.status)


_KILLS_WORKERS: Final = Failure(
    "render_kills_workers", f"{MAX_OPEN_ATTEMPTS} workers died while they opened its page"
)


def _slice_kills_workers(slice_: FilmSlice) -> Failure:
    return Failure(
        "slice_kills_workers",
        f"frames {slice_.first_frame} to {slice_.end_frame - 1} took down {MAX_TAKES} workers",
    )


def fail_render_on_last_attempt(
    work: RenderWorker, render_id: RenderId, job: JobContext
) -> AbstractAsyncContextManager[None]:
    """Mark the render failed when the last attempt of its job fails."""
    return fail_on_last_attempt(job, lambda failure: work.fail(render_id, failure))


class SliceProgress(ProgressReporter[tuple[TakenRenderSlice, int]]):
    """Written by a film thread, passed on by a task of the event loop."""

    def __init__(self, work: RenderWorker) -> None:
        super().__init__(lambda now: work.report_slice(now[0], frames_done=now[1]))

    def set(self, taken: TakenRenderSlice, frames_done: int) -> None:
        """Note how far a slice is."""
        self.report((taken, frames_done))
