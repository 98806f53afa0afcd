"""What happens next in a run. Knows no type of step, no clock and no database. Pure.

- A step starts when all steps it needs have succeeded and the whole file is there. A window of a
  segment step starts when its own media is there and all needed steps are done that far.
- A step that needs a skipped step is skipped, at once and whatever its other needs do. So a step
  that needs both branches of two complementary filters is always skipped.
- When a step fails, what is under way may end, so that its result is kept, but nothing new begins:
  steps that need the failed one are skipped, all others are cancelled, open reviews too, since
  nobody knows how long a person takes. The run has failed when nothing is under way any more.
- A file that failed is like a step that failed.
- A cancelled run stops at once: late results are refused, since their steps have ended.
- A run ends `failed` if a step failed, else `filtered` if one was skipped, else `succeeded`.

Every result, callback, decision and piece of media is written into the state, then `advance` is
asked. Asked again, it answers that nothing is to be done.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from framekiln.pipelines.definition.model import Definition, Step
from framekiln.pipelines.definition.windows import complete_windows
from framekiln.pipelines.scheduling.run_state import (
    MediaState,
    RunState,
    StepState,
    Transitions,
    WindowState,
)
from framekiln.pipelines.scheduling.status import RunStatus, StepStatus

_NOT_BEGUN = (StepStatus.PENDING, StepStatus.READY)
_WITHOUT_LIMIT = float("inf")
_NOWHERE = -1


def new_run(definition: Definition, *, media: MediaState, is_admitted: bool = True) -> RunState:
    """Return a run of which nothing has begun."""
    steps = {key: StepState() for key in definition.steps}
    return RunState(steps, media=media, is_admitted=is_admitted)


def with_windows(
    definition: Definition, state: RunState, *, boundaries_ms: Sequence[int], is_sealed: bool
) -> RunState:
    """Return the state with all windows that the media allows; see `windows.complete_windows`.

    To be called before `advance` whenever media has arrived, and when a run is created or retried.
    """
    steps = dict(state.steps)
    for key, step in definition.steps.items():
        before = steps[key]
        if step.segmentation is None or before.status.is_terminal:
            continue
        known_ms = max((each.window.end_ms for each in before.windows), default=-1)
        known_ms = max(known_ms, before.watermark_ms or -1)
        windows = complete_windows(boundaries_ms, step.segmentation, is_sealed=is_sealed)
        new = (WindowState(each) for each in windows if each.end_ms > known_ms)
        steps[key] = replace(before, windows=(*before.windows, *new), has_all_windows=is_sealed)
    return replace(state, steps=steps)


def advance(definition: Definition, state: RunState) -> Transitions:
    """Return all that follows from the state of a run."""
    if state.status.is_terminal:
        return Transitions(state, state)
    has_ended = all(step.status.is_terminal for step in state.steps.values())
    # Nothing is left to cancel in a run whose last step has just ended.
    if state.is_cancel_requested and not has_ended:
        return Transitions(state, _cancelled(state))
    this_pass = _Pass(state, is_stopping=_is_stopping(state))
    steps: dict[str, StepState] = {}
    # Needed steps come first, so that one pass sees all consequences.
    for key, step in definition.steps.items():
        steps[key] = this_pass.settle(step, [steps[need] for need in step.needs])
    return Transitions(state, replace(state, steps=steps, status=_run_status(steps.values())))


def retry(definition: Definition, state: RunState) -> Transitions:
    """Return what a retry of a failed or cancelled run resets; it keeps what succeeded.

    A step that was skipped by its own decision stays skipped, and so do those that need it. Windows
    that succeeded are kept as well. A run that cannot be retried stays as it is.
    """
    if not state.status.is_retryable:
        return Transitions(state, state)
    steps: dict[str, StepState] = {}
    for key, step in definition.steps.items():
        before = state.steps[key]
        stays = _stays(before, [steps[need].status for need in step.needs])
        steps[key] = before if stays else _reset(before)
    after = replace(state, steps=steps, status=RunStatus.PENDING, is_cancel_requested=False)
    return Transitions(state, after)


@dataclass(frozen=True)
class _Pass:
    """One pass over the steps of a run, needed steps first."""

    state: RunState
    is_stopping: bool
    """Whether nothing new may begin because something has failed."""

    def settle(self, step: Step, needs: Sequence[StepState]) -> StepState:
        """Return how a step stands, given how the steps that it needs stand now."""
        before = self.state.steps[step.key]
        if before.status.is_terminal:
            return before
        end = _end_without_work(needs, is_stopping=self.is_stopping)
        if step.segmentation is not None:
            return self._settle_windows(before, needs, end=end)
        if end is not None:
            return before if before.status.is_active else replace(before, status=end)
        if before.status is StepStatus.PENDING and self._may_begin(needs):
            return replace(before, status=StepStatus.READY)
        return before

    def _settle_windows(
        self, before: StepState, needs: Sequence[StepState], *, end: StepStatus | None
    ) -> StepState:
        if end is None:
            limit_ms = self._limit_ms(needs)
            windows = tuple(_started(each, limit_ms) for each in before.windows)
        else:
            windows = tuple(_stopped(each) for each in before.windows)
        after = replace(before, windows=windows, watermark_ms=_watermark_ms(before))
        return replace(after, status=_segment_status(after, needs, end=end))

    def _may_begin(self, needs: Sequence[StepState]) -> bool:
        return self.state.is_admitted and self.state.media is MediaState.WHOLE and _are_done(needs)

    def _limit_ms(self, needs: Sequence[StepState]) -> float:
        """Return up to where windows may start: as far as all needed steps are done.

        A needed whole-file step is done nowhere until it has succeeded, which takes the whole file.
        So windows start as media arrives only if all needed steps are segment steps (spec 4.7).
        """
        if not self.state.is_admitted:
            return _NOWHERE
        return min((_done_ms(need) for need in needs), default=_WITHOUT_LIMIT)


def _is_stopping(state: RunState) -> bool:
    return state.media is MediaState.FAILED or any(step.has_failed for step in state.steps.values())


def _are_done(needs: Iterable[StepState]) -> bool:
    return all(need.status is StepStatus.SUCCEEDED for need in needs)


def _end_without_work(needs: Sequence[StepState], *, is_stopping: bool) -> StepStatus | None:
    """Return how a step ends that must not begin any more; None if it may."""
    if any(need.has_failed or need.status is StepStatus.SKIPPED for need in needs):
        return StepStatus.SKIPPED
    return StepStatus.CANCELLED if is_stopping else None


def _started(window: WindowState, limit_ms: float) -> WindowState:
    if window.status is StepStatus.PENDING and window.window.end_ms <= limit_ms:
        return replace(window, status=StepStatus.READY)
    return window


def _stopped(window: WindowState) -> WindowState:
    if window.status in _NOT_BEGUN:
        return replace(window, status=StepStatus.CANCELLED)
    return window


def _watermark_ms(step: StepState) -> int | None:
    watermark_ms = step.watermark_ms
    for each in step.windows:
        if each.status is not StepStatus.SUCCEEDED:
            break
        watermark_ms = each.window.end_ms
    return watermark_ms


def _done_ms(need: StepState) -> float:
    if need.status is StepStatus.SUCCEEDED:
        return _WITHOUT_LIMIT
    return _NOWHERE if need.watermark_ms is None else need.watermark_ms


def _segment_status(
    step: StepState, needs: Sequence[StepState], *, end: StepStatus | None
) -> StepStatus:
    """Return how a segment step stands, from how its windows stand."""
    if step.has_window(StepStatus.RUNNING, StepStatus.WAITING_EXTERNAL):
        return StepStatus.RUNNING
    if step.has_window(StepStatus.FAILED):
        return StepStatus.FAILED
    if step.has_all_windows and _are_done(needs) and _has_succeeded(step.windows):
        return StepStatus.SUCCEEDED
    has_begun = (
        step.status is StepStatus.RUNNING
        or step.watermark_ms is not None
        or step.has_window(StepStatus.SUCCEEDED)
    )
    if has_begun:
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
    # Nobody asked to cancel, so what was cancelled was so because something failed.
    if statuses & {StepStatus.FAILED, StepStatus.CANCELLED}:
        return RunStatus.FAILED
    return RunStatus.FILTERED if StepStatus.SKIPPED in statuses else RunStatus.SUCCEEDED


def _cancelled(state: RunState) -> RunState:
    steps = {key: _cancelled_step(step) for key, step in state.steps.items()}
    return replace(state, steps=steps, status=RunStatus.CANCELLED)


def _cancelled_step(step: StepState) -> StepState:
    if step.status.is_terminal:
        return step
    windows = tuple(
        each if each.status.is_terminal else replace(each, status=StepStatus.CANCELLED)
        for each in step.windows
    )
    return replace(step, windows=windows, status=StepStatus.CANCELLED)


def _stays(step: StepState, needs: Sequence[StepStatus]) -> bool:
    if step.status is not StepStatus.SKIPPED:
        return step.status is StepStatus.SUCCEEDED
    # Needs that were not reset are succeeded or skipped: either it decided for itself, or for it.
    return StepStatus.SKIPPED in needs or all(need is StepStatus.SUCCEEDED for need in needs)


def _reset(step: StepState) -> StepState:
    windows = tuple(
        each if each.status is StepStatus.SUCCEEDED else WindowState(each.window)
        for each in step.windows
    )
    return replace(step, status=StepStatus.PENDING, windows=windows)
