"""The rows of a run: the scheduler works on them, and a new status sets what it implies."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from framekiln.jobs.failures import Failure
from framekiln.kit.ids import new_uuid
from framekiln.pipelines.definition.model import Definition
from framekiln.pipelines.definition.windows import Window
from framekiln.pipelines.model.pipeline import StepRunId
from framekiln.pipelines.model.run import AttemptCount, StepRun, WindowRun, backoff_s
from framekiln.pipelines.scheduling.run_state import MediaState, RunState
from framekiln.pipelines.scheduling.scheduler import advance, retry, with_windows
from framekiln.pipelines.scheduling.status import RunStatus, StepStatus
from tests.unit.pipelines.definitions import defined, segment

NOW = datetime(2025, 1, 1, tzinfo=UTC)
LATER = NOW + timedelta(minutes=1)
WINDOW = Window(0, 0, 5000, 0)
FAILURE = Failure("endpoint_failed", "answered 500")


def new_step(key: str) -> StepRun:
    return StepRun(id=StepRunId(new_uuid()), key=key)


def state_of(definition: Definition, *steps: StepRun) -> RunState[StepRun]:
    assert {step.key for step in steps} == set(definition.steps)
    return RunState({step.key: step for step in steps}, media=MediaState.WHOLE)


def test_the_scheduler_changes_rows_and_keeps_their_other_fields() -> None:
    definition = defined(a=[], b=["a"])
    a, b = new_step("a"), replace(new_step("b"), fence=7, note={"seen": 1})
    a = replace(a, status=StepStatus.SUCCEEDED, completed_at=NOW)
    after = advance(definition, state_of(definition, a, b)).after
    assert after.steps == {"a": a, "b": replace(b, status=StepStatus.READY)}


def test_new_windows_of_a_row_are_rows() -> None:
    definition = defined(s=segment())
    state = state_of(definition, new_step("s"))
    state = with_windows(definition, state, boundaries_ms=[0, 5000], is_sealed=True)
    assert state.steps["s"].windows == (WindowRun(WINDOW),)


def test_windows_with_notes_are_compared() -> None:
    definition = defined(s=segment())
    window = WindowRun(WINDOW, StepStatus.RUNNING, note={"job": 1})
    step = replace(new_step("s"), windows=(window,), status=StepStatus.RUNNING)
    state = replace(state_of(definition, step), status=RunStatus.RUNNING)
    assert not advance(definition, state)
    ended = replace(step, windows=(replace(window, status=StepStatus.SUCCEEDED),))
    transitions = advance(definition, replace(state, steps={"s": ended}))
    assert transitions.after.steps["s"].watermark_ms == 5000
    assert transitions.windows == {}


def test_a_retry_keeps_the_fence_of_a_window() -> None:
    definition = defined(s=segment())
    window = WindowRun(WINDOW, StepStatus.FAILED, fence=3, attempts=AttemptCount(3), takes=2)
    step = replace(new_step("s"), windows=(window,), status=StepStatus.FAILED)
    state = replace(state_of(definition, step), status=RunStatus.FAILED)
    (pending,) = retry(definition, state).after.steps["s"].windows
    assert pending.entered() == WindowRun(WINDOW, fence=3, attempts=AttemptCount(3, 3))


def test_a_step_records_when_it_entered_a_status() -> None:
    ready = replace(new_step("a"), status=StepStatus.READY).entered(NOW)
    assert (ready.ready_at, ready.started_at) == (NOW, None)
    running = replace(ready, status=StepStatus.RUNNING, taken_by=5).entered(LATER)
    assert (running.ready_at, running.started_at, running.taken_by) == (NOW, LATER, 5)
    ended = replace(running, status=StepStatus.SUCCEEDED).entered(LATER)
    assert (ended.started_at, ended.completed_at, ended.taken_by) == (LATER, LATER, None)


def test_a_step_that_is_retried_forgets_its_times_and_failure() -> None:
    failed = replace(new_step("a"), status=StepStatus.FAILED, attempts=AttemptCount(3))
    failed = replace(failed, failure=FAILURE, started_at=NOW).entered(NOW)
    pending = replace(failed, status=StepStatus.PENDING).entered(LATER)
    assert pending == replace(new_step("a"), id=failed.id, attempts=AttemptCount(3, 3))


def test_a_segment_step_fails_with_the_failure_of_its_first_failed_window() -> None:
    windows = (
        WindowRun(WINDOW, StepStatus.SUCCEEDED),
        WindowRun(Window(1, 5000, 10_000, 0), StepStatus.FAILED, failure=FAILURE),
    )
    step = replace(new_step("s"), windows=windows, status=StepStatus.FAILED)
    assert step.entered(NOW).failure == FAILURE


def test_three_attempts_with_growing_pauses() -> None:
    attempts = AttemptCount()
    delays: list[int | None] = []
    while len(delays) < 5 and None not in delays:
        attempts = attempts.incremented()
        delays.append(attempts.delay_s(is_retryable=True))
    assert delays == [10, 20, None]


def test_errors_that_are_not_retryable_end_the_step() -> None:
    assert AttemptCount(made=1).delay_s(is_retryable=False) is None


@pytest.mark.parametrize(("asked_s", "waited_s"), [(0, 10), (5, 10), (60, 60), (99_999, 3600)])
def test_retry_after_may_prolong_the_pause(asked_s: int, waited_s: int) -> None:
    assert AttemptCount(made=1).delay_s(is_retryable=True, retry_after_s=asked_s) == waited_s


def test_a_pause_is_at_most_ten_minutes() -> None:
    assert [backoff_s(failures) for failures in range(1, 10)] == [
        *(10, 20, 40, 80, 160, 320),
        *(600, 600, 600),
    ]


def test_a_retried_run_continues_the_attempt_count() -> None:
    attempts = AttemptCount(made=3).after_retry().incremented()
    assert attempts == AttemptCount(made=4, made_before=3)
    assert attempts.delay_s(is_retryable=True) == 10
    assert attempts.incremented().incremented().delay_s(is_retryable=True) is None
