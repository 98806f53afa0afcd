"""Advances runs: each change is one transaction under the run's row lock.

A caller with a result, a decision, a callback or a changed file enters `lock_run` and changes the
run (`LockedRun`, `unit_transitions`). On exit the scheduler decides what follows; it is written,
jobs are queued and events recorded, all or nothing. `advance` does the same without a change. Both
are idempotent.

Definitions of versions are read once (`VersionCache`): a version never changes.
"""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from framekiln.db.pool import Connection, Database
from framekiln.files.lookup import find_file
from framekiln.files.model import File, FileStatus
from framekiln.jobs.queue import JobQueue
from framekiln.kit.clock import Clock
from framekiln.pipelines.definition import normal_form
from framekiln.pipelines.definition.model import Definition
from framekiln.pipelines.execution import events
from framekiln.pipelines.execution.endpoint_slots import admit_attempts
from framekiln.pipelines.execution.locked_run import LockedRun, RunContext
from framekiln.pipelines.execution.media_boundaries import (
    MediaBoundaries,
    boundaries_of_index,
    boundaries_of_stream,
)
from framekiln.pipelines.execution.step_type import StepType, StepTypes, named_endpoints
from framekiln.pipelines.model.endpoint import archived_failure
from framekiln.pipelines.model.pipeline import PipelineId, RunId
from framekiln.pipelines.model.run import Run, StepRun, UnitKey, WindowRun
from framekiln.pipelines.scheduling import scheduler
from framekiln.pipelines.scheduling.run_state import MediaState
from framekiln.pipelines.scheduling.status import RunStatus, StepStatus
from framekiln.pipelines.stores import change as change_store
from framekiln.pipelines.stores import endpoint as endpoint_store
from framekiln.pipelines.stores import pipeline as pipeline_store
from framekiln.pipelines.stores import run as run_store
from framekiln.pipelines.stores import unit as unit_store
from framekiln.storage.blob_store import BlobStore
from framekiln.webhooks.outbox import Outbox

_MAX_CACHED: Final = 256


@dataclass(frozen=True)
class CachedVersion:
    """A version as runs need it."""

    definition: Definition
    digest: str


class VersionCache:
    """Caches the versions that were used last."""

    def __init__(self, step_types: StepTypes) -> None:
        self._step_types = step_types
        self._cached: OrderedDict[tuple[PipelineId, int], CachedVersion] = OrderedDict()

    async def get(
        self, connection: Connection, pipeline_id: PipelineId, number: int
    ) -> CachedVersion:
        """Return a version, which must exist."""
        key = (pipeline_id, number)
        if key in self._cached:
            self._cached.move_to_end(key)
            return self._cached[key]
        version = await pipeline_store.find_version(connection, pipeline_id, number)
        assert version is not None, "a version is deleted only with all its runs"
        known = CachedVersion(
            normal_form.load(dict(version.definition), self._step_types), version.digest
        )
        self._cached[key] = known
        if len(self._cached) > _MAX_CACHED:
            self._cached.popitem(last=False)
        return known


class RunCoordinator:
    """Locks runs, and writes what follows from the changes of callers."""

    def __init__(
        self,
        database: Database,
        *,
        step_types: StepTypes,
        jobs: JobQueue,
        blobs: BlobStore,
        outbox: Outbox,
        clock: Clock,
    ) -> None:
        self._database = database
        self._jobs = jobs
        self._blobs = blobs
        self._outbox = outbox
        self._clock = clock
        self.step_types = step_types
        self.versions = VersionCache(step_types)

    async def advance(self, run_id: RunId) -> None:
        """Apply what follows from the current state of a run and its file."""
        # This reads files, so it comes before the lock.
        boundaries = await self._media_boundaries(run_id)
        async with self.lock_run(run_id) as locked:
            if locked is not None:
                locked.boundaries = boundaries

    @asynccontextmanager
    async def lock_run(self, run_id: RunId) -> AsyncIterator[LockedRun | None]:
        """Lock a run; on exit, write all that follows. Yields None if there is no such run."""
        async with (
            self._database.transaction() as connection,
            self.lock_run_in(connection, run_id) as locked,
        ):
            yield locked

    @asynccontextmanager
    async def lock_run_in(
        self, connection: Connection, run_id: RunId
    ) -> AsyncIterator[LockedRun | None]:
        """Lock a run in the caller's transaction; see `lock_run`."""
        run = await run_store.lock(connection, run_id)
        if run is None:
            yield None
            return
        locked = await self._load(connection, run)
        yield locked
        await self._apply_transitions(locked)
        await self._write(locked)

    async def _media_boundaries(self, run_id: RunId) -> MediaBoundaries | None:
        """Return the boundaries of a run's windows; None if it has no windows or none is known."""
        async with self._database.connection() as connection:
            run = await run_store.find_by_id(connection, run_id)
            if run is None or run.status.is_terminal:
                return None
            version = await self.versions.get(connection, run.pipeline_id, run.pipeline_version)
            if not version.definition.has_segments:
                return None
            file = await find_file(connection, run.organization_id, run.file_id)
            if file is None:
                return None
            boundaries = await boundaries_of_stream(connection, file)
        if boundaries is not None or file.status is not FileStatus.READY:
            return boundaries
        index = await self._blobs.get(file.index_key)
        return await asyncio.to_thread(boundaries_of_index, index)

    async def _load(self, connection: Connection, run: Run) -> LockedRun:
        version = await self.versions.get(connection, run.pipeline_id, run.pipeline_version)
        file = await find_file(connection, run.organization_id, run.file_id)
        now = self._clock.now()
        context = RunContext(
            connection=connection,
            definition=version.definition,
            digest=version.digest,
            file=file,
            media=_media_state(file, now),
            now=now,
        )
        steps = await unit_store.load(
            connection, run.id, has_windows=version.definition.has_segments
        )
        return LockedRun(context, run, steps)

    async def _apply_transitions(self, locked: LockedRun) -> None:
        """Apply transitions and start their work."""
        await self._fail_archived_endpoints(locked)
        for unit_key in locked.retries:
            await self._type_of(locked, unit_key.step_key).retry(locked, unit_key)
        definition, boundaries = locked.context.definition, locked.boundaries
        if boundaries is not None and not locked.run.status.is_terminal:
            state = scheduler.with_windows(
                definition,
                locked.state(),
                boundaries_ms=boundaries.boundaries_ms,
                is_sealed=boundaries.is_sealed,
            )
            locked.apply(state)
        # Work may end as soon as it starts: a filter, or an endpoint that was archived.
        while transitions := scheduler.advance(definition, locked.state()):
            locked.apply(transitions.after)
            for work in transitions.work:
                await self._type_of(locked, work.step_key).start(locked, locked.unit_key(work))

    async def _write(self, locked: LockedRun) -> None:
        self._mark_progress(locked)
        connection, changed = locked.connection, _changed_steps(locked)
        await unit_store.save_steps(connection, changed)
        windows = [(step.id, each) for step in changed for each in _changed_windows(locked, step)]
        if windows:
            await unit_store.save_windows(connection, windows)
        await self._cancel_obsolete(locked, changed)
        await self._jobs.defer_many(connection, locked.jobs)
        await admit_attempts(
            connection, locked.endpoint_ids, jobs=self._jobs, now=self._clock.now()
        )
        sequence = await events.record_events(self._outbox, locked)
        locked.run = replace(locked.run, sequence=sequence)
        if locked.run == locked.run_before and not changed:
            return
        await run_store.save(connection, locked.run)
        await self._record_batch_change(locked)

    def _mark_progress(self, locked: LockedRun) -> None:
        """Decide which steps report their progress to webhooks."""
        now = locked.context.now
        for key, step in locked.steps.items():
            has_moved = step.watermark_ms != locked.steps_before[key].watermark_ms
            is_running = step.status is StepStatus.RUNNING and step.watermark_ms is not None
            if has_moved and is_running and events.is_progress_due(step, now):
                locked.steps[key] = replace(step, progress_reported_at=now)

    async def _cancel_obsolete(self, locked: LockedRun, changed: Collection[StepRun]) -> None:
        """Cancel the active work of changed steps that is no longer needed."""
        for step in changed:
            await self._type_of(locked, step.key).cancel_obsolete(locked, step)
        for step in (each for each in changed if each.status is StepStatus.CANCELLED):
            for job_id in _jobs_of(locked.steps_before[step.key]):
                await self._jobs.cancel(job_id, connection=locked.connection)

    async def _fail_archived_endpoints(self, locked: LockedRun) -> None:
        """Fail steps whose endpoints were archived before the run started (spec 3.3)."""
        run = locked.run
        if run.status is not RunStatus.PENDING or not run.is_admitted or run.cancel_requested_at:
            return
        named = named_endpoints(locked.context.definition, self.step_types)
        waiting = {
            key: endpoint_id
            for key, endpoint_id in named.items()
            if locked.steps[key].status is StepStatus.PENDING
        }
        if not waiting:
            return
        found = await endpoint_store.find_all(
            locked.connection, run.organization_id, set(waiting.values())
        )
        for key, endpoint_id in waiting.items():
            if endpoint_id not in found or found[endpoint_id].archived_at is not None:
                failure = archived_failure(endpoint_id)
                locked.end_unit(UnitKey(run.id, key), StepStatus.FAILED, failure)

    def _type_of(self, locked: LockedRun, key: str) -> StepType:
        return self.step_types[locked.context.definition.steps[key].type]

    async def _record_batch_change(self, locked: LockedRun) -> None:
        before, after = locked.run_before, locked.run
        if after.batch_id is not None and before.status.is_terminal != after.status.is_terminal:
            await change_store.record(locked.connection, "batch", [after.batch_id])


def _media_state(file: File | None, now: datetime) -> MediaState:
    if file is None or file.has_expired(now) or file.content_removed_at is not None:
        return MediaState.FAILED
    return MediaState.of_file(file.status)


def _jobs_of(step: StepRun) -> list[int]:
    return [unit.taken_by for unit in (step, *step.windows) if unit.taken_by is not None]


def _changed_steps(locked: LockedRun) -> list[StepRun]:
    return [step for key, step in locked.steps.items() if step != locked.steps_before[key]]


def _changed_windows(locked: LockedRun, step: StepRun) -> list[WindowRun]:
    before = {each.window.index: each for each in locked.steps_before[step.key].windows}
    return [each for each in step.windows if each != before.get(each.window.index)]
