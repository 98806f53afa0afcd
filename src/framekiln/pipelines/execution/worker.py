"""Units for workers: take one, record its result, queue what is due.

Each is one transaction with everything that follows from it. Endpoint steps are not done here:
`endpoints` uses `RunCoordinator.lock_run` and `unit_transitions` itself.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any, Final

from framekiln.db.pool import Database
from framekiln.jobs.failures import Failure
from framekiln.kit.clock import Clock
from framekiln.pipelines.definition.step_rules import TypedGraph
from framekiln.pipelines.errors import UnitLost
from framekiln.pipelines.execution import unit_transitions
from framekiln.pipelines.execution.coordinator import RunCoordinator
from framekiln.pipelines.execution.locked_run import LockedRun
from framekiln.pipelines.execution.step_inputs import read_inputs
from framekiln.pipelines.execution.step_type import StepWork
from framekiln.pipelines.jobs import step_job
from framekiln.pipelines.model.run import TakenUnit, UnitKey
from framekiln.pipelines.outputs.model import StepOutput
from framekiln.pipelines.stores import unit as unit_store

ATTEMPT_TIMEOUT: Final = timedelta(hours=12)
"""Limit of one attempt: long enough to transcribe hours of speech on a small machine."""
_MAX_DUE: Final = 500


class RunWorker:
    """The runs of all organizations, for workers."""

    def __init__(self, database: Database, *, coordinator: RunCoordinator, clock: Clock) -> None:
        self._database = database
        self._coordinator = coordinator
        self._step_types = coordinator.step_types
        self._clock = clock

    async def take(self, unit_key: UnitKey, *, job_id: int) -> StepWork | None:
        """Take a unit; None if there is nothing to do for this job."""
        async with self._coordinator.lock_run(unit_key.run_id) as locked:
            if locked is None:
                return None
            deadline_at = locked.context.now + ATTEMPT_TIMEOUT
            taken = unit_transitions.take(locked, unit_key, job_id=job_id, deadline_at=deadline_at)
            run, file, definition = locked.run, locked.context.file, locked.context.definition
            if taken is not None and file is None:
                # No other job would end a unit that began before its file was deleted.
                unit_transitions.fail(locked, taken, locked.file_failure(), is_retryable=False)
        if taken is None or file is None:
            return None
        async with self._database.connection() as connection:
            inputs = await read_inputs(
                connection, run.id, definition, key=unit_key.step_key, window=taken.window
            )
        types = {key: self._step_types[step.type] for key, step in definition.steps.items()}
        return StepWork(
            taken=taken,
            run=run,
            file=file,
            definition=definition,
            graph=TypedGraph(definition.needs, types),
            inputs=inputs,
            remember=partial(self.save_note, taken),
        )

    async def succeed(self, taken: TakenUnit, output: StepOutput) -> bool:
        """Record the output of a unit; False if it was lost."""
        async with self._coordinator.lock_run(taken.key.run_id) as locked:
            return locked is not None and await unit_transitions.succeed(locked, taken, output)

    async def fail(self, taken: TakenUnit, failure: Failure, *, is_retryable: bool) -> bool:
        """Record why an attempt failed; False if the unit was lost."""
        async with self._coordinator.lock_run(taken.key.run_id) as locked:
            if locked is None:
                return False
            if locked.context.file is None:
                # What failed may speak of something that went with the file.
                failure = locked.file_failure()
            return unit_transitions.fail(locked, taken, failure, is_retryable=is_retryable)

    async def postpone(
        self, taken: TakenUnit, *, after_s: float, done_ms: int | None = None
    ) -> bool:
        """Queue a unit again later, and record its progress; False if it was lost."""
        async with self._coordinator.lock_run(taken.key.run_id) as locked:
            if locked is None or not unit_transitions.postpone(locked, taken, after_s=after_s):
                return False
            if done_ms is not None and taken.window is None:
                _set_watermark(locked, taken, done_ms)
            return True

    async def save_note(self, taken: TakenUnit, note: Mapping[str, Any]) -> None:
        """Store a note with a unit, or raise `UnitLost`."""
        async with self._coordinator.lock_run(taken.key.run_id) as locked:
            if locked is None or not unit_transitions.save_note(locked, taken, note):
                raise UnitLost(f"step {taken.key.step_key} was taken over or has ended")

    async def report_progress(self, taken: TakenUnit, *, done_ms: int) -> None:
        """Record the progress of a whole-file step; for windows it follows from those done."""
        async with self._coordinator.lock_run(taken.key.run_id) as locked:
            if (
                locked is None
                or taken.window is not None
                or not unit_transitions.is_current(locked, taken)
            ):
                return
            _set_watermark(locked, taken, done_ms)

    async def queue_due(self) -> int:
        """Queue the units that are due; return how many."""
        async with self._database.connection() as connection:
            due = await unit_store.list_due(connection, now=self._clock.now(), limit=_MAX_DUE)
        queued = 0
        for unit_key in due:
            async with self._coordinator.lock_run(unit_key.run_id) as locked:
                # Another worker may have queued it.
                if locked is not None and unit_transitions.mark_queued(locked, unit_key):
                    kind = locked.context.definition.steps[unit_key.step_key].type
                    queue = self._step_types[kind].queue(locked.context.media)
                    locked.jobs.append(step_job(unit_key, locked.run.organization_id, queue))
                    queued += 1
        return queued


def _set_watermark(locked: LockedRun, taken: TakenUnit, done_ms: int) -> None:
    step = locked.steps[taken.key.step_key]
    locked.steps[step.key] = replace(step, watermark_ms=done_ms)
