"""What happens next in a run: the rules of spec 3.3, one by one."""

from dataclasses import replace
from typing import Any

import pytest

from framekiln.pipelines.definition.model import Definition
from framekiln.pipelines.scheduling.run_state import MediaState, RunState, WindowState, WorkItem
from framekiln.pipelines.scheduling.scheduler import advance, retry, with_windows
from framekiln.pipelines.scheduling.status import RunStatus, StepStatus
from tests.unit.pipelines.definitions import defined, filter_on, new_run, segment

REVIEW = {"type": "review"}


class SimulatedRun:
    """A run as the service drives it: results are written into the state, then it advances."""

    def __init__(self, definition: Definition, **state: Any) -> None:
        self.definition = definition
        self.state = replace(new_run(definition, media=MediaState.WHOLE), **state)
        self.started: list[WorkItem] = []
        self.advance()

    def advance(self, **changes: Any) -> None:
        transitions = advance(self.definition, replace(self.state, **changes))
        self.started += transitions.work
        self.state = transitions.after
        assert not advance(self.definition, self.state), "asked again, nothing is to be done"

    def put(self, **statuses: str) -> None:
        """Write how steps stand now."""
        steps = dict(self.state.steps)
        for key, status in statuses.items():
            steps[key] = replace(steps[key], status=StepStatus(status))
        self.advance(steps=steps)

    def put_windows(self, key: str, *statuses: str) -> None:
        """Write how the first windows of a segment step stand now."""
        step = self.state.steps[key]
        head = [
            WindowState(each.window, StepStatus(status))
            for each, status in zip(step.windows, statuses, strict=False)
        ]
        windows = (*head, *step.windows[len(head) :])
        self.advance(steps={**self.state.steps, key: replace(step, windows=windows)})

    def receive(self, *boundaries_ms: int, is_sealed: bool = False) -> None:
        self.state = with_windows(
            self.definition, self.state, boundaries_ms=boundaries_ms, is_sealed=is_sealed
        )
        self.advance()

    def retry(self) -> None:
        self.state = retry(self.definition, self.state).after

    @property
    def steps(self) -> dict[str, str]:
        return {key: str(step.status) for key, step in self.state.steps.items()}

    def windows(self, key: str) -> list[str]:
        return [str(each.status) for each in self.state.steps[key].windows]


@pytest.mark.spec("3.3")
def test_independent_steps_start_together_and_others_wait_for_their_needs() -> None:
    run = SimulatedRun(defined(a=[], b=[], c=["a", "b"]))
    assert run.steps == {"a": "ready", "b": "ready", "c": "pending"}
    assert run.state.status is RunStatus.RUNNING
    run.put(a="succeeded")
    assert run.steps["c"] == "pending"
    run.put(b="succeeded")
    assert run.steps["c"] == "ready"
    run.put(c="succeeded")
    assert run.state.status is RunStatus.SUCCEEDED
    assert run.started == [WorkItem("a"), WorkItem("b"), WorkItem("c")]


@pytest.mark.spec("4.7")
def test_a_run_waits_for_the_whole_file() -> None:
    run = SimulatedRun(defined(a=[]), media=MediaState.ARRIVING)
    assert (run.steps, run.state.status) == ({"a": "pending"}, RunStatus.PENDING)
    run.advance(media=MediaState.WHOLE)
    assert (run.steps, run.state.status) == ({"a": "ready"}, RunStatus.RUNNING)


@pytest.mark.spec("4.7")
def test_a_run_waits_for_its_batch() -> None:
    run = SimulatedRun(defined(a=[]), is_admitted=False)
    assert (run.steps, run.state.status) == ({"a": "pending"}, RunStatus.PENDING)
    run.advance(is_admitted=True)
    assert run.steps == {"a": "ready"}


@pytest.mark.spec("3.3")
def test_a_false_filter_skips_all_that_needs_it() -> None:
    run = SimulatedRun(defined(p=[], f=filter_on("p"), a=["f"], b=["a"], c=["p"]))
    run.put(p="succeeded")
    run.put(f="skipped")
    assert run.steps == {
        "p": "succeeded",
        "f": "skipped",
        "a": "skipped",
        "b": "skipped",
        "c": "ready",
    }
    assert run.state.status is RunStatus.RUNNING
    run.put(c="succeeded")
    assert run.state.status is RunStatus.FILTERED


@pytest.mark.spec("3.3")
def test_complementary_filters_run_one_branch() -> None:
    definition = defined(
        p=[], yes=filter_on("p"), no=filter_on("p"), a=["yes"], b=["no"], both=["a", "b"]
    )
    run = SimulatedRun(definition)
    run.put(p="succeeded")
    run.put(yes="succeeded")
    run.put(no="skipped")
    # At once: nothing that its other need does can help it.
    assert run.steps["both"] == "skipped"
    assert (run.steps["a"], run.steps["b"]) == ("ready", "skipped")
    run.put(a="succeeded")
    assert run.state.status is RunStatus.FILTERED


@pytest.mark.spec("3.3")
def test_a_rejected_review_filters_the_run() -> None:
    run = SimulatedRun(defined(p=[], r={**REVIEW, "needs": ["p"]}, a=["r"]))
    run.put(p="succeeded")
    run.put(r="waiting_review")
    assert run.state.status is RunStatus.RUNNING
    run.put(r="skipped")
    assert (run.steps["a"], run.state.status) == ("skipped", RunStatus.FILTERED)


@pytest.mark.spec("3.3")
def test_after_a_failure_running_steps_finish_and_no_others_start() -> None:
    definition = defined(
        x=[], running=[], outside=[], waiting=[], r=REVIEW, after_x=["x"], later=["running"]
    )
    run = SimulatedRun(definition)
    run.put(running="running", outside="waiting_external", r="waiting_review", x="running")
    run.put(x="failed")
    assert run.steps == {
        "x": "failed",
        "running": "running",
        "outside": "waiting_external",
        "waiting": "cancelled",
        "r": "cancelled",
        "after_x": "skipped",
        "later": "cancelled",
    }
    assert run.state.status is RunStatus.RUNNING
    run.put(running="succeeded", outside="failed")
    assert run.state.status is RunStatus.FAILED
    assert WorkItem("later") not in run.started


@pytest.mark.spec("3.3")
def test_a_run_that_failed_is_not_filtered() -> None:
    run = SimulatedRun(defined(p=[], q=[], f=filter_on("p"), a=["f"]))
    run.put(p="succeeded")
    run.put(f="skipped", q="running")
    run.put(q="failed")
    assert run.state.status is RunStatus.FAILED


def test_a_file_that_failed_fails_the_run() -> None:
    run = SimulatedRun(defined(a=[], b=["a"]), media=MediaState.ARRIVING)
    run.advance(media=MediaState.FAILED)
    assert run.steps == {"a": "cancelled", "b": "cancelled"}
    assert run.state.status is RunStatus.FAILED


@pytest.mark.spec("4.7")
def test_a_cancelled_run_stops_at_once() -> None:
    run = SimulatedRun(defined(p=[], a=[], b=[], r=REVIEW, c=["p"], d=["c"]))
    run.put(p="succeeded", a="running", b="waiting_external", r="waiting_review")
    run.advance(is_cancel_requested=True)
    assert run.steps == {
        "p": "succeeded",
        "a": "cancelled",
        "b": "cancelled",
        "r": "cancelled",
        "c": "cancelled",
        "d": "cancelled",
    }
    assert run.state.status is RunStatus.CANCELLED


def test_a_run_whose_last_step_has_ended_is_not_cancelled() -> None:
    definition = defined(a=[])
    run = SimulatedRun(definition)
    run.state = replace(run.state, is_cancel_requested=True)
    run.put(a="succeeded")
    assert run.state.status is RunStatus.SUCCEEDED


@pytest.mark.parametrize("status", ["succeeded", "failed", "filtered", "cancelled"])
def test_nothing_happens_in_a_run_that_has_ended(status: str) -> None:
    definition = defined(a=[])
    state = RunState(
        new_run(definition, media=MediaState.WHOLE).steps, RunStatus(status), MediaState.WHOLE
    )
    assert not advance(definition, state)
    assert not advance(definition, replace(state, is_cancel_requested=True))


@pytest.mark.spec("4.7")
def test_a_retry_keeps_what_succeeded() -> None:
    definition = defined(
        p=[], x=[], f=filter_on("p"), off=["f"], mixed=["f", "x"], after_x=["x"], r=REVIEW
    )
    run = SimulatedRun(definition)
    run.put(p="succeeded")
    run.put(f="skipped", r="waiting_review", x="running")
    run.put(x="failed")
    assert run.state.status is RunStatus.FAILED
    started = len(run.started)
    run.retry()
    assert run.state.status is RunStatus.PENDING
    assert run.steps == {
        "p": "succeeded",
        "f": "skipped",
        "off": "skipped",
        "mixed": "skipped",
        "x": "pending",
        "after_x": "pending",
        "r": "pending",
    }
    run.advance()
    assert run.started[started:] == [WorkItem("r"), WorkItem("x")]
    run.put(x="succeeded", r="succeeded")
    run.put(after_x="succeeded")
    assert run.state.status is RunStatus.FILTERED


def test_a_cancelled_run_can_be_retried_and_an_ended_one_not() -> None:
    run = SimulatedRun(defined(a=[], b=["a"]))
    run.put(a="succeeded")
    run.advance(is_cancel_requested=True)
    run.retry()
    assert not run.state.is_cancel_requested
    run.advance()
    assert run.steps == {"a": "succeeded", "b": "ready"}
    run.put(b="succeeded")
    assert not retry(run.definition, run.state)


@pytest.mark.spec("4.7")
def test_windows_start_as_their_media_arrives() -> None:
    run = SimulatedRun(defined(s=segment(), whole=["s"]), media=MediaState.ARRIVING)
    assert run.steps["s"] == "pending"
    run.receive(0, 2500, 5000)
    assert (run.windows("s"), run.steps["s"]) == (["ready"], "ready")
    run.put_windows("s", "running")
    run.receive(0, 2500, 5000, 7500, 10_000)
    assert (run.windows("s"), run.steps["s"]) == (["running", "ready"], "running")
    run.put_windows("s", "succeeded", "succeeded")
    # All there is so far is done; there may be more.
    assert (run.steps["s"], run.state.steps["s"].watermark_ms) == ("running", 10_000)
    run.receive(0, 2500, 5000, 7500, 10_000, 11_000, is_sealed=True)
    run.put_windows("s", "succeeded", "succeeded", "succeeded")
    assert run.steps == {"s": "succeeded", "whole": "pending"}
    assert run.state.steps["s"].watermark_ms == 11_000
    run.advance(media=MediaState.WHOLE)
    assert run.steps["whole"] == "ready"
    assert [work.window.index for work in run.started if work.window] == [0, 1, 2]
    assert run.started[-1] == WorkItem("whole")


def test_the_watermark_waits_for_the_slowest_window() -> None:
    run = SimulatedRun(defined(s=segment()), media=MediaState.ARRIVING)
    run.receive(0, 5000, 10_000, 15_000)
    run.put_windows("s", "running", "succeeded")
    assert run.state.steps["s"].watermark_ms is None
    run.put_windows("s", "succeeded", "succeeded")
    assert run.state.steps["s"].watermark_ms == 10_000


@pytest.mark.spec("4.7")
def test_a_segment_step_follows_the_segment_steps_it_needs() -> None:
    definition = defined(fast=segment(window_ms=4000), slow=segment("fast", window_ms=10_000))
    run = SimulatedRun(definition, media=MediaState.ARRIVING)
    run.receive(*range(0, 20_001, 2000))
    assert (run.windows("fast"), run.windows("slow")) == (["ready"] * 5, ["pending"] * 2)
    run.put_windows("fast", "succeeded", "succeeded")
    assert run.windows("slow") == ["pending"] * 2
    run.put_windows("fast", "succeeded", "succeeded", "succeeded")
    assert run.windows("slow") == ["ready", "pending"]
    run.put_windows("fast", *["succeeded"] * 5)
    assert run.windows("slow") == ["ready", "ready"]


@pytest.mark.spec("4.7")
def test_a_segment_step_that_needs_a_whole_file_step_waits_for_it() -> None:
    run = SimulatedRun(defined(p=[], s=segment("p")), media=MediaState.ARRIVING)
    run.receive(0, 5000, 10_000, is_sealed=True)
    assert run.windows("s") == ["pending"] * 2
    run.advance(media=MediaState.WHOLE)
    assert (run.steps["p"], run.windows("s")) == ("ready", ["pending"] * 2)
    run.put(p="succeeded")
    assert run.windows("s") == ["ready"] * 2


@pytest.mark.spec("4.7")
def test_the_progress_of_a_whole_file_step_starts_no_window() -> None:
    run = SimulatedRun(defined(p=[], s=segment("p")))
    run.receive(0, 5000, 10_000, is_sealed=True)
    run.put(p="running")
    half = replace(run.state.steps["p"], watermark_ms=5000)
    run.advance(steps={**run.state.steps, "p": half})
    assert run.windows("s") == ["pending"] * 2
    run.put(p="failed")
    run.retry()
    assert run.state.steps["p"].watermark_ms is None


def test_a_segment_step_that_needs_a_skipped_one_is_skipped() -> None:
    run = SimulatedRun(defined(p=[], f=filter_on("p"), s=segment("f"), t=segment("s")))
    run.receive(0, 5000, is_sealed=True)
    run.put(p="succeeded")
    run.put(f="skipped")
    assert (run.steps["s"], run.steps["t"]) == ("skipped", "skipped")
    assert run.windows("t") == ["cancelled"]
    assert run.state.status is RunStatus.FILTERED


def test_an_empty_file_has_no_windows_to_wait_for() -> None:
    run = SimulatedRun(defined(s=segment(), t=segment("s")))
    run.receive(is_sealed=True)
    assert run.state.status is RunStatus.SUCCEEDED


def test_an_empty_step_waits_for_its_needs_all_the_same() -> None:
    run = SimulatedRun(defined(p=[], s=segment("p")))
    run.receive(is_sealed=True)
    assert run.steps == {"p": "ready", "s": "pending"}
    run.put(p="failed")
    assert run.steps["s"] == "skipped"


@pytest.mark.spec("4.7")
def test_windows_wait_for_the_batch_too() -> None:
    run = SimulatedRun(defined(s=segment()), is_admitted=False)
    run.receive(0, 5000, is_sealed=True)
    assert (run.windows("s"), run.state.status) == (["pending"], RunStatus.PENDING)
    run.advance(is_admitted=True)
    assert run.windows("s") == ["ready"]


def test_a_step_that_has_ended_gets_no_more_windows() -> None:
    run = SimulatedRun(defined(s=segment(), x=[]))
    run.receive(0, 5000)
    run.put(x="running")
    run.put(s="running", x="failed")
    assert run.steps["s"] == "cancelled"
    run.receive(0, 5000, 10_000, is_sealed=True)
    assert run.windows("s") == ["cancelled"]


@pytest.mark.parametrize("left_out", [0, 1])
def test_a_step_with_finished_windows_is_running(left_out: int) -> None:
    run = SimulatedRun(defined(s=segment(), x=[]))
    run.receive(0, 5000, 10_000)
    run.put(x="running")
    # The first window is done, or only the second: there is a watermark, or none.
    run.put_windows("s", *(("succeeded", "ready") if left_out else ("ready", "succeeded")))
    run.put(x="failed")
    assert run.steps["s"] == "cancelled"
    run.retry()
    step = run.state.steps["s"]
    short = replace(step, windows=step.windows[left_out:])
    run.advance(steps={**run.state.steps, "s": short}, is_admitted=False)
    assert run.steps["s"] == "running"


@pytest.mark.spec("4.7")
def test_a_failed_window_fails_its_step_when_the_others_have_ended() -> None:
    run = SimulatedRun(defined(s=segment(), t=segment("s"), after=["s"]), media=MediaState.ARRIVING)
    run.receive(0, 5000, 10_000, 15_000)
    run.put_windows("s", "succeeded", "running", "running")
    run.put_windows("t", "succeeded")
    run.put_windows("s", "succeeded", "failed", "running")
    assert run.steps == {"s": "running", "t": "cancelled", "after": "skipped"}
    assert run.windows("t") == ["succeeded", "cancelled", "cancelled"]
    run.put_windows("s", "succeeded", "failed", "succeeded")
    assert (run.steps["s"], run.state.status) == ("failed", RunStatus.FAILED)

    run.retry()
    run.receive(0, 5000, 10_000, 15_000, 20_000, is_sealed=True)
    assert run.windows("s") == ["succeeded", "ready", "succeeded", "ready"]
    assert run.windows("t") == ["succeeded", "pending", "pending", "pending"]
    assert run.steps == {"s": "running", "t": "running", "after": "pending"}


def test_windows_below_the_watermark_may_be_left_out() -> None:
    definition = defined(s=segment())
    full = SimulatedRun(definition, media=MediaState.ARRIVING)
    full.receive(0, 5000, 10_000)
    full.put_windows("s", "succeeded", "running")
    short = SimulatedRun(definition, media=MediaState.ARRIVING)
    step = full.state.steps["s"]
    short.state = replace(full.state, steps={"s": replace(step, windows=step.windows[1:])})
    for run in (full, short):
        run.receive(0, 5000, 10_000, 15_000, is_sealed=True)
    assert short.windows("s") == full.windows("s")[1:] == ["running", "ready"]
    short.put_windows("s", "succeeded", "succeeded")
    assert (short.steps["s"], short.state.steps["s"].watermark_ms) == ("succeeded", 15_000)


def test_transitions_name_what_has_changed_and_nothing_else() -> None:
    definition = defined(a=[], s=segment(), b=["a"])
    before = new_run(definition, media=MediaState.WHOLE)
    state = with_windows(definition, before, boundaries_ms=[0, 5000, 10_000], is_sealed=True)
    first = advance(definition, state)
    assert first.after.status is RunStatus.RUNNING
    assert first.steps == {"a": StepStatus.READY, "s": StepStatus.READY}
    assert [each.window.index for each in first.windows["s"]] == [0, 1]
    assert len(first.work) == 3
    done = replace(
        first.after,
        steps={
            **first.after.steps,
            "s": replace(
                first.after.steps["s"],
                windows=tuple(
                    replace(each, status=StepStatus.SUCCEEDED)
                    for each in first.after.steps["s"].windows
                ),
            ),
        },
    )
    second = advance(definition, done)
    assert (second.after.status, second.windows, second.work) == (RunStatus.RUNNING, {}, [])
    assert second.steps == {"s": StepStatus.SUCCEEDED}
    assert second.after.steps["s"].watermark_ms == 10_000
