"""Decides what happens next in a run. Knows no step type, no clock and no database. Pure.

- A step starts when all steps it needs have succeeded and the whole file is there. A window of a
  segment step starts when its own media is there and all needed steps are done that far.
- A step that needs a skipped step is skipped at once, whatever its other needs do. So a step that
  needs both branches of two complementary filters is always skipped.
- When a step fails, active work may end, so that its result is kept, but nothing new starts: steps
  that need the failed one are skipped, all others are cancelled, including open reviews, which
  could take any time. The run has failed when no work is active any more.
- A failed file counts as a failed step.
- A cancelled run stops at once: late results are refused, since their steps have ended.
- A run ends `failed` if a step failed, else `filtered` if one was skipped, else `succeeded`.

Callers write each result, callback, decision and piece of media into the state, then call
`advance`. It is idempotent: called on its own result, it changes nothing.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Generic

from framekiln.pipelines.definition.model import Definition, Step
from framekiln.pipelines.definition.windows import complete_windows
from framekiln.pipelines.scheduling.run_state import (
    MediaState,
    RunState,
    StepState,
    StepT,
    Transitions,
    WindowState,
)
from framekiln.pipelines.scheduling.status import RunStatus, StepStatus

_NOT_STARTED = (StepStatus.PENDING, StepStatus.READY)
_WITHOUT_LIMIT = float("inf")
_NOWHERE = -1


def with_windows(
    definition: Definition, state: RunState[StepT], *, boundaries_ms: Sequence[int], is_sealed: bool
) -> RunState[StepT]:
    """Return the state with all windows that the media allows; see `windows.complete_windows`.

    Call it before `advance` when media has arrived, and when a run is created or retried.
    """
    steps = dict(state.steps)
    for key, step in definition.steps.items():
        before = steps[key]
        if step.segmentation is None or before.status.is_terminal:
            continue
        known_ms = max((each.window.end_ms for each in before.windows), default=-1)
        known_ms = max(known_ms, before.watermark_ms or -1)
        windows = complete_windows(boundaries_ms, step.segmentation, is_sealed=is_sealed)
        new = (before.window_type(each) for each in windows if each.end_ms > known_ms)
        steps[key] = replace(before, windows=(*before.windows, *new), has_all_windows=is_sealed)
    return replace(state, steps=steps)


def advance(definition: Definition, state: RunState[StepT]) -> Transitions[StepT]:
    """Return all that follows from the state of a run."""
    if state.status.is_terminal:
        return Transitions(state, state)
    has_ended = all(step.status.is_terminal for step in state.steps.values())
    # Nothing is left to cancel in a run whose last step has just ended.
    if state.is_cancel_requested and not has_ended:
        return Transitions(state, _cancelled(state))
    this_pass = _Pass(definition, state, is_stopping=_is_stopping(state))
    steps: dict[str, StepT] = {}
    # Needed steps come first, so that one pass sees all consequences.
    for key, step in definition.steps.items():
        steps[key] = this_pass.settle(step, [steps[need] for need in step.needs])
    return Transitions(state, replace(state, steps=steps, status=_run_status(steps.values())))


def retry(definition: Definition, state: RunState[StepT]) -> Transitions[StepT]:
    """Reset the steps and windows of a failed or cancelled run that have not succeeded.

    A step that was skipped by its own decision stays skipped, and so do those that need it. A run
    that cannot be retried stays unchanged.
    """
    if not state.status.is_retryable:
        return Transitions(state, state)
    steps: dict[str, StepT] = {}
    for key, step in definition.steps.items():
        before = state.steps[key]
        is_kept = _is_kept(before, [steps[need].status for need in step.needs])
        steps[key] = before if is_kept else _reset(step, before)
    after = replace(state, steps=steps, status=RunStatus.PENDING, is_cancel_requested=False)
    return Transitions(state, after)


@dataclass(frozen=True)
class _Pass(Generic[StepT]):
    """One pass over the steps of a run, needed steps first."""

    definition: Definition
    state: RunState[StepT]
    is_stopping: bool
    """Whether nothing new may start because something has failed."""

    def settle(self, step: Step, needs: Sequence[StepT]) -> StepT:
        """Return the new state of a step, given the new states of the steps that it needs."""
        before = self.state.steps[step.key]
        if before.status.is_terminal:
            return before
        end = _end_without_work(needs, is_stopping=self.is_stopping)
        if step.segmentation is not None:
            return self._settle_windows(step, needs, end=end)
        if end is not None:
            return before if before.status.is_active else replace(before, status=end)
        if before.status is StepStatus.PENDING and self._may_start(needs):
            return replace(before, status=StepStatus.READY)
        return before

    def _settle_windows(
        self, step: Step, needs: Sequence[StepT], *, end: StepStatus | None
    ) -> StepT:
        before = self.state.steps[step.key]
        if end is None:
            limit_ms = self._limit_ms(step, needs)
            windows = tuple(_started(each, limit_ms) for each in before.windows)
        else:
            windows = tuple(_stopped(each) for each in before.windows)
        after = replace(before, windows=windows, watermark_ms=_watermark_ms(before))
        return replace(after, status=_segment_status(after, needs, end=end))

    def _may_start(self, needs: Sequence[StepState]) -> bool:
        return self.state.is_admitted and self.state.media is MediaState.WHOLE and _are_done(needs)

    def _limit_ms(self, step: Step, needs: Sequence[StepState]) -> float:
        """Return up to where windows may start: as far as all needed steps are done.

        A needed whole-file step counts only when it has succeeded, which takes the whole file. So
        windows start as media arrives only if all needed steps are segment steps (spec 4.7).
        """
        if not self.state.is_admitted:
            return _NOWHERE
        defined = (self.definition.steps[key] for key in step.needs)
        return min(map(_done_ms, defined, needs), default=_WITHOUT_LIMIT)


def _is_stopping(state: RunState[StepT]) -> bool:
    return state.media is MediaState.FAILED or any(step.has_failed for step in state.steps.values())


def _are_done(needs: Iterable[StepState]) -> bool:
    return all(need.status is StepStatus.SUCCEEDED for need in needs)


def _end_without_work(needs: Sequence[StepState], *, is_stopping: bool) -> StepStatus | None:
    """Return the final status of a step that may not start any more; None if it may."""
    if any(need.has_failed or need.status is StepStatus.SKIPPED for need in needs):
        return StepStatus.SKIPPED
    return StepStatus.CANCELLED if is_stopping else None


def _started(window: WindowState, limit_ms: float) -> WindowState:
    if window.status is StepStatus.PENDING and window.window.end_ms <= limit_ms:
        return replace(window, status=StepStatus.READY)
    return window


def _stopped(window: WindowState) -> WindowState:
    if window.status in _NOT_STARTED:
        return replace(window, status=StepStatus.CANCELLED)
    return window


def _watermark_ms(step: StepState) -> int | None:
    watermark_ms = step.watermark_ms
    for each in step.windows:
        if each.status is not StepStatus.SUCCEEDED:
            break
        watermark_ms = each.window.end_ms
    return watermark_ms


def _done_ms(defined: Step, need: StepState) -> float:
    if need.status is StepStatus.SUCCEEDED:
        return _WITHOUT_LIMIT
    # The watermark of a whole-file step only shows its progress: its output comes at the end.
    if defined.segmentation is None or need.watermark_ms is None:
        return _NOWHERE
    return need.watermark_ms


def _segment_status(
    step: StepState, needs: Sequence[StepState], *, end: StepStatus | None
) -> StepStatus:
    """Return the status of a segment step, which follows from those of its windows."""
    if step.has_window(StepStatus.RUNNING, StepStatus.WAITING_EXTERNAL):
        return StepStatus.RUNNING
    if step.has_window(StepStatus.FAILED):
        return StepStatus.FAILED
    if step.has_all_windows and _are_done(needs) and _has_succeeded(step.windows):
        return StepStatus.SUCCEEDED
    has_started = (
        step.status is StepStatus.RUNNING
        or step.watermark_ms is not None
        or step.has_window(StepStatus.SUCCEEDED)
    )
    if has_started:
        return StepStatus.RUNNING if end is None else StepStatus.CANCELLED
    if end is not None:
        return end
    return StepStatus.READY if step.has_window(StepStatus.READY) else StepStatus.PENDING


def _has_succeeded(windows: Iterable[WindowState]) -> bool:
    return all(each.status is StepStatus.SUCCEEDED for each in windows)


def _run_status(steps: Iterable[StepState]) -> RunStatus:
    statuses = {step.status for step in steps}
    if statuses == {StepStatus.PENDING}:
        return RunStatus.PENDING
    if not all(status.is_terminal for status in statuses):
        return RunStatus.RUNNING
    # The run was not cancelled, so a step was cancelled because another failed.
    if statuses & {StepStatus.FAILED, StepStatus.CANCELLED}:
        return RunStatus.FAILED
    return RunStatus.FILTERED if StepStatus.SKIPPED in statuses else RunStatus.SUCCEEDED


def _cancelled(state: RunState[StepT]) -> RunState[StepT]:
    steps = {key: _cancelled_step(step) for key, step in state.steps.items()}
    return replace(state, steps=steps, status=RunStatus.CANCELLED)


def _cancelled_step(step: StepT) -> StepT:
    if step.status.is_terminal:
        return step
    windows = tuple(
        each if each.status.is_terminal else replace(each, status=StepStatus.CANCELLED)
        for each in step.windows
    )
    return replace(step, windows=windows, status=StepStatus.CANCELLED)


def _is_kept(step: StepState, needs: Sequence[StepStatus]) -> bool:
    if step.status is not StepStatus.SKIPPED:
        return step.status is StepStatus.SUCCEEDED
    # Needs that were not reset have succeeded or were skipped: the step decided itself, or a need
    # decided for it.
    return StepStatus.SKIPPED in needs or all(need is StepStatus.SUCCEEDED for need in needs)


def _reset(defined: Step, step: StepT) -> StepT:
    windows = tuple(
        each if each.status is StepStatus.SUCCEEDED else replace(each, status=StepStatus.PENDING)
        for each in step.windows
    )
    watermark_ms = None if defined.segmentation is None else step.watermark_ms
    return replace(step, status=StepStatus.PENDING, windows=windows, watermark_ms=watermark_ms)
