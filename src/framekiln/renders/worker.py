"""State changes of a render by its workers.

Each method is one transaction under the lock on the render's row, so the workers of one render
never race. When a worker takes over the slice of a dead one, the render becomes `recovering`; its
next frame makes it `rendering` again.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, Final

from framekiln.db.notify import notify
from framekiln.db.pool import Connection, Database
from framekiln.engine.audio_clips import AudioClips
from framekiln.engine.film_plan import FilmPlan, FilmSlice
from framekiln.jobs.failures import Failure
from framekiln.jobs.model import JobContext
from framekiln.jobs.queue import JobQueue
from framekiln.kit.clock import Clock
from framekiln.kit.ids import RenderId
from framekiln.kit.warning_text import warnings_from_json
from framekiln.quotas.model import Quota, QuotaExceeded
from framekiln.quotas.service import Quotas
from framekiln.renders import slice_store, store
from framekiln.renders.events import RenderEvents
from framekiln.renders.jobs import film_job, join_job, sound_job, sources_job
from framekiln.renders.model import (
    CopiedParts,
    FinishedSlice,
    Render,
    RenderResult,
    RenderStatus,
    TakenRenderSlice,
    progress_topic,
    states_before,
)
from framekiln.renders.slice_choice import choose_slice
from framekiln.storage.deletions import BlobDeletions

MAX_TAKES: Final = 3
"""A slice that was taken this often, by workers that died, fails its render."""
MAX_OPEN_ATTEMPTS: Final = 5
"""So does a render that was started this often without a plan."""

NOTHING_COPIED: Final = CopiedParts()


class RenderWorker:
    """What workers do with the renders of all organizations."""

    def __init__(
        self,
        database: Database,
        *,
        jobs: JobQueue,
        clock: Clock,
        events: RenderEvents,
        quotas: Quotas,
        deletions: BlobDeletions,
    ) -> None:
        self._deletions = deletions
        self._database = database
        self._jobs = jobs
        self._clock = clock
        self._events = events
        self._quotas = quotas

    async def start(
        self, render_id: RenderId, *, job_id: int, attempt: int, was_returned: bool = False
    ) -> Render | None:
        """Start work on a render, or continue it; None when nothing is left to do.

        `was_returned`: the last attempt of the job ended in order; its take is not counted.
        """
        async with self._locked(render_id) as (connection, render):
            if render is None or render.status.is_terminal:
                return None
            if render.plan is None and attempt > MAX_OPEN_ATTEMPTS:
                await self._fail(connection, render_id, _KILLS_WORKERS)
                return None
            free_taken = slice_store.give_back if was_returned else slice_store.release
            released = await free_taken(connection, render_id, job_id=job_id)
            free = await slice_store.list_free_numbers(connection, render_id)
            if render.plan is not None and not free:
                return None
            # An attempt that died before it came here left nothing to recover.
            has_begun = render.status in states_before(RenderStatus.RECOVERING)
            if has_begun and (attempt > 1 or was_returned or released):
                await store.set_recovering(connection, render_id)
            else:
                await store.set_started(connection, render_id, now=self._clock.now())
            await self._queue_further_worker(connection, render, free=len(free))
            return render

    async def release_slice(self, render_id: RenderId, *, job_id: int) -> None:
        """Free the slice of a job whose browser died."""
        async with self._locked(render_id) as (connection, _):
            if await slice_store.release(connection, render_id, job_id=job_id):
                await store.set_recovering(connection, render_id)

    async def fetch_sources_first(
        self, render: Render, urls: Sequence[str], *, job: JobContext
    ) -> None:
        """Give back the slice of a job, and queue the downloads that it needs to go on."""
        async with self._locked(render.id) as (connection, current):
            if current is not None and not current.status.is_terminal:
                await slice_store.give_back(connection, render.id, job_id=job.job_id)
                fetched = job.args.get("fetched")
                first = sources_job(render, urls, then=job.kind, fetched=fetched)
                await self._jobs.defer(connection, first)

    async def get(self, render_id: RenderId) -> Render | None:
        """Return a render; None when it has ended."""
        async with self._database.connection() as connection:
            render = await store.find_by_id(connection, render_id)
        return None if render is None or render.status.is_terminal else render

    async def is_wanted(self, render_id: RenderId) -> bool:
        """Return whether the render exists and has not failed."""
        async with self._database.connection() as connection:
            return await store.is_wanted(connection, render_id)

    async def save_plan(
        self,
        render: Render,
        plan: FilmPlan,
        slices: Sequence[FilmSlice],
        digests: Sequence[str | None] = (),
        copied: CopiedParts = NOTHING_COPIED,
    ) -> bool:
        """Store the plan, its slices and what was copied; queue the sound and another worker.

        False when the render has ended or another worker has planned it.
        """
        async with self._locked(render.id) as (connection, current):
            if current is None or current.status.is_terminal or current.plan is not None:
                return False
            if not await self._count_minutes(connection, render, plan):
                return False
            await store.set_plan(connection, render.id, plan.as_json())
            await slice_store.insert(connection, render.id, slices, digests, copied.slices)
            if copied.sound_key is not None:
                await store.set_sound(
                    connection, render.id, copied.sound_key, digest=plan.sound_digest
                )
                await self._queue_join_if_complete(connection, render)
            elif not plan.has_page_audio:
                await self._jobs.defer(connection, sound_job(render))
            free = len(slices) - len(copied.slices)
            await self._queue_further_worker(connection, render, free=free)
            return True

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
            taken = await slice_store.take(
                connection, render.id, number, job_id=job_id, now=self._clock.now()
            )
            if taken.fence <= MAX_TAKES:
                return taken
            await self._fail(connection, render.id, _slice_kills_workers(taken.slice))
            return None

    async def report_slice(self, taken: TakenRenderSlice, *, frames_done: int) -> None:
        """Record the progress of a slice, and notify followers."""
        async with self._database.transaction() as connection:
            if await slice_store.set_frames_done(connection, taken, frames_done):
                await store.set_recovered(connection, taken.render_id)
                await notify(connection, progress_topic(taken.render_id))

    async def report_permille(self, render_id: RenderId, thousandths: int) -> None:
        """Record the progress of a render without slices, and notify followers."""
        async with self._database.transaction() as connection:
            await slice_store.set_permille(connection, render_id, thousandths)
            await store.set_recovered(connection, render_id)
            await notify(connection, progress_topic(render_id))

    async def finish_slice(
        self,
        taken: TakenRenderSlice,
        *,
        blob_key: str,
        record: dict[str, Any],
        console: Sequence[dict[str, str]] = (),
    ) -> bool:
        """Record a finished slice; after the last one, queue the join.

        False when the render has ended or another worker took the slice.
        """
        async with self._locked(taken.render_id) as (connection, render):
            if render is None or render.status.is_terminal:
                return False
            if not await slice_store.finish(
                connection,
                taken,
                blob_key=blob_key,
                record=record,
                console=console,
                now=self._clock.now(),
            ):
                return False
            await self._queue_join_if_complete(connection, render)
            return True

    async def replace_audio_clips(self, render_id: RenderId, clips: AudioClips) -> str | None:
        """Replace the planned audio clips and queue the mix again; return the old sound's key.

        Nothing changes if the clips are those of the plan.
        """
        async with self._locked(render_id) as (connection, render):
            if render is None or render.status.is_terminal or render.plan is None:
                return None
            plan = FilmPlan.from_json(render.plan)
            if plan.audio_clips == clips:
                return None
            plan = replace(plan, audio_clips=clips)
            await store.set_plan(connection, render_id, plan.as_json())
            await store.set_sound(connection, render_id, None, digest=None)
            await self._jobs.defer(connection, sound_job(render))
            return render.sound_key

    async def finish_sound(
        self,
        render_id: RenderId,
        *,
        blob_key: str,
        digest: str | None = None,
        mixed: AudioClips | None = None,
    ) -> bool:
        """Record the mixed sound; if all slices are finished, queue the join.

        False if the render has ended, or if the plan no longer has the clips that were `mixed`.
        """
        async with self._locked(render_id) as (connection, render):
            if render is None or render.status.is_terminal or render.plan is None:
                return False
            if mixed is not None and FilmPlan.from_json(render.plan).audio_clips != mixed:
                return False
            await store.set_sound(connection, render_id, blob_key, digest=digest)
            await self._queue_join_if_complete(connection, render)
            return True

    async def finished_slices(self, render_id: RenderId) -> list[FinishedSlice]:
        """Return the finished slices, in order."""
        async with self._database.connection() as connection:
            return await slice_store.list_finished(connection, render_id)

    async def find_equal_film(self, render: Render, film_digest: str) -> RenderResult | None:
        """Return a film of the same organization with the same digest."""
        async with self._database.connection() as connection:
            return await store.find_film(connection, render, film_digest)

    async def complete(
        self,
        render_id: RenderId,
        result: RenderResult,
        *,
        film_digest: str | None = None,
        plan: FilmPlan | None = None,
        unused: Sequence[str] = (),
    ) -> bool:
        """Mark a render complete; False when it has already ended.

        `plan` is stored if the render has none. `unused` blobs are recorded as to be deleted.
        """
        async with self._locked(render_id) as (connection, render):
            await self._deletions.add(connection, *unused)
            stored = None if render is None else render.result
            if stored is not None and stored.output_key == result.output_key:
                # An earlier try was committed, and its answer lost: the output is in use.
                return True
            if plan is not None and render is not None and render.plan is None:
                await store.set_plan(connection, render_id, plan.as_json())
            return await store.complete(
                connection, render_id, result, now=self._clock.now(), film_digest=film_digest
            )

    async def fail(self, render_id: RenderId, failure: Failure) -> bool:
        """Mark a render failed; False when it has already ended."""
        async with self._locked(render_id) as (connection, render):
            planned = warnings_from_json(render.plan if render else None)
            warnings = tuple(dict.fromkeys((*planned, *failure.warnings)))
            return await self._fail(connection, render_id, replace(failure, warnings=warnings))

    async def _fail(self, connection: Connection, render_id: RenderId, failure: Failure) -> bool:
        return await store.fail(connection, render_id, failure, now=self._clock.now())

    async def _count_minutes(self, connection: Connection, render: Render, plan: FilmPlan) -> bool:
        """Count the length of the film; fail the render and return False if the quota is used up.

        It is checked again here, because many renders may be created before the first is planned.
        """
        owner, minutes = render.organization_id, Quota.RENDER_MINUTES
        try:
            await self._quotas.check(connection, owner, minutes)
        except QuotaExceeded as error:
            await self._fail(connection, render.id, Failure(error.code, error.message))
            return False
        await self._quotas.record_film(connection, owner, plan.timeline.duration_ms)
        return True

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

        The worker that starts it queues the next one. A render has one such job in the queue, not
        one for each slice, so that renders take turns.
        """
        further = film_job(render.organization_id, render.id, is_further=True)
        # One that was returned in an outage waits, too: they would become more and more.
        if free > 1 and not await self._jobs.is_waiting(connection, further):
            await self._jobs.defer(connection, further)

    @asynccontextmanager
    async def _locked(self, render_id: RenderId) -> AsyncIterator[tuple[Connection, Render | None]]:
        """Lock the render's row; record events and notify followers of the changes."""
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
