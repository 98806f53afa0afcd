"""A run whose row is locked: as it was loaded, and as it is now.

Only values change here, and outputs are stored: later steps may read them under the same lock. The
coordinator finds out what follows and writes it. Transitions of single steps and windows are in
`unit_transitions`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from framekiln.db.pool import Connection
from framekiln.files.model import File
from framekiln.jobs.failures import Failure
from framekiln.jobs.model import NewJob
from framekiln.pipelines.definition.model import Definition
from framekiln.pipelines.definition.windows import Window
from framekiln.pipelines.errors import InputFileFailed
from framekiln.pipelines.execution.media_boundaries import MediaBoundaries
from framekiln.pipelines.model.pipeline import EndpointId, ReviewId
from framekiln.pipelines.model.run import Run, StepRun, UnitKey, WindowRun, WorkUnit
from framekiln.pipelines.outputs.model import StepOutput
from framekiln.pipelines.scheduling import scheduler
from framekiln.pipelines.scheduling.run_state import MediaState, RunState, WorkItem
from framekiln.pipelines.scheduling.status import (
    RUN_CHANGES,
    STEP_CHANGES,
    RunStatus,
    StepStatus,
)
from framekiln.pipelines.stores import output as output_store
from framekiln.pipelines.stores.output import NewOutput

PendingEvent = tuple[str, dict[str, Any]]
"""Topic and data."""


@dataclass(frozen=True)
class RunContext:
    """What does not change while a run is locked."""

    connection: Connection
    definition: Definition
    digest: str
    file: File | None
    media: MediaState
    now: datetime


class LockedRun:
    """The locked run, with its steps by key in the order of the definition."""

    def __init__(self, context: RunContext, run: Run, steps: Mapping[str, StepRun]) -> None:
        self.context = context
        self.run_before = self.run = run
        self.run_retried: Run | None = None
        """The run directly after its retry, if it was retried under this lock."""
        self.steps_before = {key: steps[key] for key in context.definition.steps}
        self.steps = dict(self.steps_before)
        self.boundaries: MediaBoundaries | None = None
        """Where windows may begin and end, if that was read for this lock."""
        self.retries: list[UnitKey] = []
        """Units that get another attempt at their `due_at`."""
        self.jobs: list[NewJob] = []
        """Jobs to be queued when the run is written."""
        self.reviews: dict[str, ReviewId] = {}
        """Review tasks opened under this lock, by step."""
        self.endpoint_ids: set[EndpointId] = set()
        """Endpoints where slots may be free or wanted: they are given when the run is written."""
        self.extra_events: list[PendingEvent] = []
        """Events beyond those that follow from status changes."""

    @property
    def connection(self) -> Connection:
        """The connection whose transaction locks the run's row."""
        return self.context.connection

    def find_unit(self, unit_key: UnitKey) -> WorkUnit | None:
        """Return a unit; windows below the watermark have ended and are not loaded."""
        step = self.steps.get(unit_key.step_key)
        if step is None or unit_key.window_number is None:
            return step
        return step.find_window(unit_key.window_number)

    def set_unit(self, unit_key: UnitKey, unit: WorkUnit) -> None:
        """Replace a unit; a new status sets the fields and times that it implies."""
        if isinstance(unit, StepRun):
            self._set_step(self._with_final_watermark(unit))
            return
        step = self.steps[unit_key.step_key]
        windows = (unit if each.window == unit.window else each for each in step.windows)
        self._set_step(replace(step, windows=tuple(windows)))

    def end_unit(
        self, unit_key: UnitKey, status: StepStatus, failure: Failure | None = None
    ) -> None:
        """End a unit as a worker, a predicate, a person or a deadline decided."""
        unit = self.find_unit(unit_key)
        assert unit is not None, "only a loaded unit can end"
        self.set_unit(unit_key, replace(unit, status=status, failure=failure))

    def unit_key(self, work: WorkItem) -> UnitKey:
        """Return the unit that the scheduler means."""
        number = work.window.index if work.window else None
        return UnitKey(self.run.id, work.step_key, number)

    def cancel(self) -> None:
        """Request that the run stops, including work that is active."""
        self.run = replace(self.run, cancel_requested_at=self.context.now)

    def retry(self) -> None:
        """Start again where the run failed or was cancelled; its batch must admit it again."""
        after = scheduler.retry(self.context.definition, self.state()).after
        self._set_steps(after)
        self.run = replace(
            self.run,
            status=after.status,
            is_admitted=self.run.batch_id is None,
            failure=None,
            failed_step_key=None,
            cancel_requested_at=None,
            completed_at=None,
        )
        self.run_retried = self.run

    def state(self) -> RunState[StepRun]:
        """Return the run for the scheduler, with these very steps."""
        return RunState(
            dict(self.steps),
            status=self.run.status,
            media=self.context.media,
            is_admitted=self.run.is_admitted,
            is_cancel_requested=self.run.cancel_requested_at is not None,
        )

    def apply(self, after: RunState[StepRun]) -> None:
        """Take over the steps and the status that the scheduler returned."""
        self._set_steps(after)
        if after.status is not self.run.status:
            self._apply_run(after.status)

    def file_failure(self) -> Failure:
        """Return why the run can no longer use its file."""
        file = self.context.file
        if file is None:
            return Failure(InputFileFailed.code, "the file was deleted")
        if file.failure is not None:
            return Failure(InputFileFailed.code, f"the file failed: {file.failure.message}")
        return Failure(InputFileFailed.code, "the file has expired")

    async def save_output(self, key: str, output: StepOutput, window: Window | None = None) -> None:
        """Store the output of a step, or of one of its windows."""
        await output_store.put(
            self.connection,
            NewOutput(
                step_run_id=self.steps[key].id,
                run_id=self.run.id,
                file_id=self.run.file_id,
                step_key=key,
                namespace=self.context.definition.steps[key].namespace,
                window=window,
                output=output,
                written_at=self.context.now,
            ),
        )

    def _with_final_watermark(self, step: StepRun) -> StepRun:
        """Set the watermark of a whole-file step that has succeeded to the end of the file."""
        file = self.context.file
        if step.status is not StepStatus.SUCCEEDED or file is None:
            return step
        return replace(step, watermark_ms=file.duration_ms)

    def _set_steps(self, after: RunState[StepRun]) -> None:
        for step in after.steps.values():
            self._set_step(step)

    def _set_step(self, after: StepRun) -> None:
        """The one place where a step or a window enters a status."""
        before = self.steps[after.key]
        if after.windows is not before.windows:
            after = replace(after, windows=_entered_windows(before, after))
        if after.status is not before.status:
            change = f"step {after.key}: {before.status} to {after.status}"
            assert after.status in STEP_CHANGES[before.status], change
            after = after.entered(self.context.now)
        self.steps[after.key] = after

    def _apply_run(self, status: RunStatus) -> None:
        assert status in RUN_CHANGES[self.run.status], f"run: {self.run.status} to {status}"
        run, now = replace(self.run, status=status), self.context.now
        if status is RunStatus.RUNNING:
            run = replace(run, started_at=run.started_at or now)
        if status.is_terminal:
            run = replace(run, completed_at=now)
        self.run = self._with_failure(run) if status is RunStatus.FAILED else run

    def _with_failure(self, run: Run) -> Run:
        failed = [step for step in self.steps.values() if step.status is StepStatus.FAILED]
        if not failed:
            return replace(run, failure=self.file_failure())
        first = min(failed, key=lambda step: step.completed_at or self.context.now)
        return replace(run, failure=first.failure, failed_step_key=first.key)


def _entered_windows(before: StepRun, after: StepRun) -> tuple[WindowRun, ...]:
    known = {each.window.index: each.status for each in before.windows}
    return tuple(
        each if known.get(each.window.index, each.status) is each.status else each.entered()
        for each in after.windows
    )
