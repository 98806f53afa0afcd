"""Brings runs on: one transaction under the run's row lock, in which everything happens.

Whoever has a result, a decision, a callback or news of the file calls `hold`, changes the run
(`units`, `held`), and leaves: what follows from it is found out and written, jobs are queued and
events recorded, all or nothing. `advance` is the same without a change. So each run is done by one
at a time, and doing it again does no harm.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from framekiln.db.pool import Connection, Database
from framekiln.files import store as file_store
from framekiln.files.model import File
from framekiln.jobs.queue import JobQueue
from framekiln.kit.clock import Clock
from framekiln.pipelines.definitions.steps import endpoint
from framekiln.pipelines.model.ids import EndpointId, RunId
from framekiln.pipelines.model.run import Run, StepRun
from framekiln.pipelines.running import events
from framekiln.pipelines.running.arrivals import Arrivals, Arrived
from framekiln.pipelines.running.gate import Gate
from framekiln.pipelines.running.held import Frame, HeldRun
from framekiln.pipelines.running.known_versions import KnownVersions
from framekiln.pipelines.running.starting import Starting, fail_archived
from framekiln.pipelines.states import scheduling
from framekiln.pipelines.states.run_state import Media
from framekiln.pipelines.states.statuses import StepStatus
from framekiln.pipelines.tables.attempt import store as attempt_store
from framekiln.pipelines.tables.change import store as change_store
from framekiln.pipelines.tables.review import store as review_store
from framekiln.pipelines.tables.run import store as run_store
from framekiln.pipelines.tables.unit import store as unit_store
from framekiln.webhooks.outbox import Outbox


class Advance:
    """Holds runs, and writes what follows from whatever was done to them."""

    def __init__(
        self,
        database: Database,
        *,
        jobs: JobQueue,
        arrivals: Arrivals,
        gate: Gate,
        outbox: Outbox,
        clock: Clock,
    ) -> None:
        self._database = database
        self._jobs = jobs
        self._starting = Starting(jobs)
        self._arrivals = arrivals
        self._gate = gate
        self._outbox = outbox
        self._clock = clock
        self.versions = KnownVersions()

    async def advance(self, run_id: RunId) -> None:
        """See whether anything follows from how a run and its file stand."""
        async with self.hold(run_id, arrived=await self.arrived(run_id)):
            pass

    @asynccontextmanager
    async def hold(
        self, run_id: RunId, *, arrived: Arrived | None = None
    ) -> AsyncIterator[HeldRun | None]:
        """Give a run to the caller alone, and write all that follows; None if there is none."""
        async with (
            self._database.transaction() as connection,
            self.hold_in(connection, run_id, arrived=arrived) as held,
        ):
            yield held

    @asynccontextmanager
    async def hold_in(
        self,
        connection: Connection,
        run_id: RunId,
        *,
        arrived: Arrived | None = None,
    ) -> AsyncIterator[HeldRun | None]:
        """Do the same in a transaction of the caller's."""
        run = await run_store.lock(connection, run_id)
        if run is None:
            yield None
            return
        held = await self._load(connection, run)
        yield held
        endpoint_ids = await self._settle(held, arrived)
        await self._write(held, endpoint_ids)

    async def arrived(self, run_id: RunId) -> Arrived | None:
        """Return what windows of a run are cut at, before it is held: files are read for it."""
        async with self._database.connection() as connection:
            run = await run_store.find_any(connection, run_id)
            if run is None or run.status.is_terminal:
                return None
            version = await self.versions.get(connection, run.pipeline_id, run.pipeline_version)
            if not version.definition.has_segments:
                return None
            file = await file_store.find(connection, run.organization_id, run.file_id)
        return None if file is None else await self._arrivals.look(file)

    async def _load(self, connection: Connection, run: Run) -> HeldRun:
        version = await self.versions.get(connection, run.pipeline_id, run.pipeline_version)
        file = await file_store.find(connection, run.organization_id, run.file_id)
        now = self._clock.now()
        frame = Frame(
            connection=connection,
            definition=version.definition,
            digest=version.digest,
            file=file,
            media=Media.FAILED if _is_gone(file, self._clock) else Media.of_file(_status(file)),
            now=now,
        )
        steps = await unit_store.load(
            connection, run.id, has_windows=version.definition.has_segments
        )
        return HeldRun(frame, run, steps)

    async def _settle(self, held: HeldRun, arrived: Arrived | None) -> set[EndpointId]:
        """Let everything follow that does; return the endpoints at which something new waits."""
        endpoint_ids: set[EndpointId] = set()
        await fail_archived(held)
        for work in held.again:
            endpoint_ids |= await self._starting.start_again(held, work)
        definition, state = held.frame.definition, held.state()
        if arrived is not None and not state.status.is_terminal:
            state = scheduling.with_windows(
                definition,
                state,
                boundaries_ms=arrived.boundaries_ms,
                is_sealed=arrived.is_sealed,
            )
        while True:
            transitions = scheduling.advance(definition, state)
            held.apply(transitions.after)
            for work in transitions.work:
                endpoint_ids |= await self._starting.start(held, work)
            state = held.state()
            # What was started may have ended at once: a filter, or an endpoint that is gone.
            if state == transitions.after:
                return endpoint_ids

    async def _write(self, held: HeldRun, endpoint_ids: set[EndpointId]) -> None:
        self._note_progress(held)
        connection, changed = held.connection, _changed_steps(held)
        await unit_store.save_steps(connection, changed)
        windows = [
            (step.id, step.windows[each]) for step in changed for each in _changed(held, step)
        ]
        if windows:
            await unit_store.save_windows(connection, windows)
        endpoint_ids |= await self._end_what_is_over(held, changed)
        if endpoint_ids:
            await self._gate.open(connection, endpoint_ids)
        sequence = await events.record_events(self._outbox, held)
        held.run = replace(held.run, sequence=sequence)
        if held.run == held.run_before and not changed:
            return
        await run_store.save(connection, held.run)
        await self._tell_batch(held)

    def _note_progress(self, held: HeldRun) -> None:
        """Decide which steps tell webhooks how far they are."""
        now = held.frame.now
        for key, step in held.steps.items():
            has_moved = step.watermark_ms != held.steps_before[key].watermark_ms
            is_running = step.status is StepStatus.RUNNING and step.watermark_ms is not None
            if has_moved and is_running and events.is_progress_due(step, now):
                held.steps[key] = replace(step, told_at=now)

    async def _end_what_is_over(self, held: HeldRun, changed: list[StepRun]) -> set[EndpointId]:
        """Take back what nobody needs any more: requests, tasks, running jobs."""
        freed: set[EndpointId] = set()
        cancelled = [step for step in changed if step.status is StepStatus.CANCELLED]
        reviewed = [key for key in (step.key for step in cancelled) if _was_reviewed(held, key)]
        if reviewed:
            await review_store.cancel(held.connection, held.run.id, keys=reviewed)
        for step in changed:
            if held.frame.definition.steps[step.key].type == endpoint.STEP.name:
                freed |= await attempt_store.end_all_but(
                    held.connection, step.id, live=_live(step), now=held.frame.now
                )
        for step in cancelled:
            for job_id in _jobs_of(held.steps_before[step.key]):
                await self._jobs.cancel(job_id, connection=held.connection)
        return freed

    async def _tell_batch(self, held: HeldRun) -> None:
        before, after = held.run_before, held.run
        if after.batch_id is not None and before.status.is_terminal != after.status.is_terminal:
            await change_store.record(held.connection, "batch", [after.batch_id])


def _is_gone(file: File | None, clock: Clock) -> bool:
    if file is None:
        return True
    return file.has_expired(clock.now()) or file.content_removed_at is not None


def _status(file: File | None) -> str:
    return str(file.status) if file else ""


def _changed_steps(held: HeldRun) -> list[StepRun]:
    return [step for key, step in held.steps.items() if step != held.steps_before[key]]


def _changed(held: HeldRun, step: StepRun) -> list[int]:
    before = held.steps_before[step.key].windows
    return [number for number, each in step.windows.items() if each != before.get(number)]


def _was_reviewed(held: HeldRun, key: str) -> bool:
    return held.steps_before[key].status is StepStatus.WAITING_REVIEW


def _live(step: StepRun) -> list[int]:
    """Return the windows whose attempts go on; -1 for a whole-file step that does."""
    if step.windows:
        return [n for n, each in step.windows.items() if not each.unit.status.is_terminal]
    return [] if step.status.is_terminal else [-1]


def _jobs_of(step: StepRun) -> list[int]:
    units = [step.unit, *(each.unit for each in step.windows.values())]
    return [unit.taken_by for unit in units if unit.taken_by is not None]
