"""A run whose row is locked: as it was loaded, and as it is now.

Only values change here; `advance` says what follows from them, and writes it. What can be done to
single steps and windows is in `units`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from framekiln.db.pool import Connection
from framekiln.files.model import File
from framekiln.jobs.failures import Failure
from framekiln.pipelines.definition.model import Definition
from framekiln.pipelines.definition.windows import Window
from framekiln.pipelines.errors import InputFileFailed
from framekiln.pipelines.model.ids import EndpointId, ReviewId
from framekiln.pipelines.model.run import Run, StepRun, UnitKey, WindowRun, WorkUnit
from framekiln.pipelines.outputs.model import StepOutput
from framekiln.pipelines.scheduling import scheduler
from framekiln.pipelines.scheduling.run_state import (
    MediaState,
    RunState,
    StepState,
    WindowState,
    WorkItem,
)
from framekiln.pipelines.scheduling.status import RunStatus, StepStatus
from framekiln.pipelines.stores import output as output_store
from framekiln.pipelines.stores.output import NewOutput


@dataclass(frozen=True)
class RunContext:
    """What does not change while a run is held."""

    connection: Connection
    definition: Definition
    digest: str
    file: File | None
    media: MediaState
    now: datetime


class LockedRun:
    """The run that is held, with its steps by key."""

    def __init__(self, frame: RunContext, run: Run, steps: Mapping[str, StepRun]) -> None:
        self.context = frame
        self.run_before = self.run = run
        self.run_retried: Run | None = None
        """As it was when it had just been retried, if it was."""
        self.steps_before = dict(steps)
        self.steps = dict(steps)
        self.retries: list[WorkItem] = []
        """Units that have another attempt, due at the time in them."""
        self.reviews: dict[str, ReviewId] = {}
        """Tasks opened just now, by step."""
        self.endpoint_ids: set[EndpointId] = set()
        """Endpoints at which attempts were added or have ended: others may be let through."""
        self.extra_events: list[tuple[str, dict[str, Any]]] = []
        """Events beyond those that follow from the states: topic and data."""

    @property
    def connection(self) -> Connection:
        """The transaction that holds the row."""
        return self.context.connection

    def find_unit(self, name: UnitKey) -> WorkUnit | None:
        """Return a unit; windows below the watermark have ended and are not there."""
        step = self.steps.get(name.step_key)
        if step is None or name.window_number is None:
            return step.unit if step else None
        found = step.windows.get(name.window_number)
        return found.unit if found else None

    def set_unit(self, name: UnitKey, unit: WorkUnit) -> None:
        """Let a unit be as given; a step that changes its status notes when."""
        step = self.steps[name.step_key]
        if name.window_number is None:
            entered = step.with_status(unit.status, self.context.now)
            self.steps[step.key] = self._with_final_watermark(replace(entered, unit=unit))
            return
        windows = dict(step.windows)
        windows[name.window_number] = replace(windows[name.window_number], unit=unit)
        self.steps[step.key] = replace(step, windows=windows)

    def end_unit(self, name: UnitKey, status: StepStatus, failure: Failure | None = None) -> None:
        """Let a unit end like this: what a worker, a predicate, a person or the clock decided."""
        unit = self.find_unit(name)
        assert unit is not None, "only units that are there can end"
        ended = replace(unit, status=status, failure=failure)
        self.set_unit(name, replace(ended, due_at=None, taken_by=None, note=None))

    def unit_key(self, work: WorkItem) -> UnitKey:
        """Return which unit is meant."""
        number = work.window.index if work.window else None
        return UnitKey(self.run.id, work.step_key, number)

    def cancel(self) -> None:
        """Have the run stopped, whatever is under way."""
        self.run = replace(self.run, cancel_requested_at=self.context.now)

    def retry(self) -> None:
        """Begin again where the run failed or was stopped; a batch lets it in anew."""
        after = scheduler.retry(self.context.definition, self.state()).after
        for key, state in after.steps.items():
            self._apply_step(key, state)
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

    def state(self) -> RunState:
        """Return the run as scheduling sees it."""
        return RunState(
            {key: self._step_state(key) for key in self.context.definition.steps},
            status=self.run.status,
            media=self.context.media,
            is_admitted=self.run.is_admitted,
            is_cancel_requested=self.run.cancel_requested_at is not None,
        )

    def apply(self, after: RunState) -> None:
        """Let the run and its steps stand as scheduling says."""
        for key, state in after.steps.items():
            self._apply_step(key, state)
        if after.status is not self.run.status:
            self._apply_run(after.status)

    async def save_output(self, key: str, output: StepOutput, window: Window | None = None) -> None:
        """Keep the output of a step, or of one of its windows."""
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
        """Return a step that has succeeded as done up to the end of the file."""
        file = self.context.file
        if step.status is not StepStatus.SUCCEEDED or file is None:
            return step
        return replace(step, watermark_ms=file.duration_ms)

    def _is_segmented(self, key: str) -> bool:
        return self.context.definition.steps[key].segmentation is not None

    def _step_state(self, key: str) -> StepState:
        step = self.steps[key]
        return StepState(
            status=step.status,
            windows=tuple(
                WindowState(each.window, each.unit.status) for each in _sorted_windows(step)
            ),
            has_all_windows=step.has_all_windows,
            # That of a whole-file step says how far it is, not that windows may begin.
            watermark_ms=step.watermark_ms if self._is_segmented(key) else None,
        )

    def _apply_step(self, key: str, state: StepState) -> None:
        step = self.steps[key]
        if state.status is StepStatus.PENDING and step.status.is_terminal:
            unit = replace(step.unit, attempts=step.unit.attempts.after_retry())
            watermark_ms = step.watermark_ms if self._is_segmented(key) else None
            step = replace(step, unit=unit, watermark_ms=watermark_ms)
        windows = {each.window.index: _window(step, each) for each in state.windows}
        step = replace(step.with_status(state.status, self.context.now), windows=windows)
        if self._is_segmented(key):
            step = replace(
                step, has_all_windows=state.has_all_windows, watermark_ms=state.watermark_ms
            )
            if state.status is StepStatus.FAILED and step.unit.failure is None:
                step = replace(step, unit=replace(step.unit, failure=_first_failure(step)))
        self.steps[key] = step

    def _apply_run(self, status: RunStatus) -> None:
        run, now = replace(self.run, status=status), self.context.now
        if status is RunStatus.RUNNING:
            run = replace(run, started_at=run.started_at or now)
        if status.is_terminal:
            run = replace(run, completed_at=now)
        self.run = self._with_failure(run) if status is RunStatus.FAILED else run

    def _with_failure(self, run: Run) -> Run:
        steps = (self.steps[key] for key in self.context.definition.steps)
        failed = [step for step in steps if step.status is StepStatus.FAILED]
        if not failed:
            return replace(run, failure=_file_failure(self.context.file))
        first = min(failed, key=lambda step: step.completed_at or self.context.now)
        return replace(run, failure=first.unit.failure, failed_step_key=first.key)


def _sorted_windows(step: StepRun) -> list[WindowRun]:
    return [step.windows[number] for number in sorted(step.windows)]


def _window(step: StepRun, state: WindowState) -> WindowRun:
    known = step.windows.get(state.window.index)
    if known is None:
        return WindowRun(state.window, WorkUnit(status=state.status))
    unit = known.unit
    if state.status is unit.status:
        return known
    if state.status is StepStatus.PENDING:
        return WindowRun(
            known.window, WorkUnit(attempts=unit.attempts.after_retry(), fence=unit.fence)
        )
    unit = replace(unit, status=state.status)
    if state.status.is_terminal:
        unit = replace(unit, due_at=None, taken_by=None, note=None)
    return WindowRun(known.window, unit)


def _first_failure(step: StepRun) -> Failure | None:
    return next((each.unit.failure for each in _sorted_windows(step) if each.unit.failure), None)


def _file_failure(file: File | None) -> Failure:
    if file is None:
        return Failure(InputFileFailed.code, "the file was deleted")
    if file.failure is not None:
        return Failure(InputFileFailed.code, f"the file failed: {file.failure.message}")
    return Failure(InputFileFailed.code, "the file has expired")
