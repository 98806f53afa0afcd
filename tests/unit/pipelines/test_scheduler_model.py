"""Scheduling against a model that knows no order of events: random graphs, outcomes, orders."""

import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from framekiln.pipelines.definition.graph import upstream
from framekiln.pipelines.definition.model import Definition
from framekiln.pipelines.scheduling.run_state import (
    MediaState,
    RunState,
    StepState,
    Transitions,
    WindowState,
    WorkItem,
)
from framekiln.pipelines.scheduling.scheduler import advance, retry, with_windows
from framekiln.pipelines.scheduling.status import RUN_CHANGES, STEP_CHANGES, RunStatus, StepStatus
from tests.unit.pipelines.definitions import defined, new_run, segment

BOUNDARIES_MS = [0, 1500, 2500, 4000, 6500, 7000]
OUTCOMES = ["succeeded", "succeeded", "succeeded", "skipped", "failed"]
ENDS = (StepStatus.SUCCEEDED, StepStatus.SKIPPED, StepStatus.FAILED)


@st.composite
def plans(draw: st.DrawFn, outcomes: list[str] = OUTCOMES) -> tuple[Definition, dict[str, str]]:
    """Draw a graph, and what each step would come to if it ran."""
    steps: dict[str, Any] = {}
    ends: dict[str, str] = {}
    for number in range(draw(st.integers(1, 9))):
        needs = (
            draw(st.lists(st.sampled_from(list(steps)), unique=True, max_size=3)) if steps else []
        )
        key = f"s{number}"
        windows = draw(st.booleans())
        steps[key] = (
            segment(*needs, window_ms=draw(st.sampled_from([1000, 3000]))) if windows else needs
        )
        ends[key] = draw(st.sampled_from(outcomes))
        if windows and ends[key] == "skipped":
            # Windows are done or fail; only whole steps decide.
            ends[key] = "succeeded"
    return defined(**steps), ends


class Simulation:
    """Runs whatever may run, in a random order, and checks that nothing is started twice."""

    def __init__(self, definition: Definition, ends: dict[str, str], rng: random.Random) -> None:
        self.definition, self.ends, self.rng = definition, ends, rng
        self.media_left = list(range(2, len(BOUNDARIES_MS) + 1))
        self.open: list[WorkItem] = []
        self.started: list[WorkItem] = []
        self.running: list[WorkItem] = []
        self.state = new_run(definition, media=MediaState.ARRIVING)
        self.take(advance(definition, self.state))

    def take(self, transitions: Transitions[StepState]) -> None:
        check_changes(transitions)
        self.open += transitions.work
        self.state = transitions.after
        again = advance(self.definition, self.state)
        assert not again
        assert not again.work

    def go(self) -> RunState[StepState]:
        for _ in range(1000):
            actions = self.actions()
            if not actions:
                return self.state
            self.rng.choice(actions)()
        raise AssertionError("it does not end")

    def actions(self) -> list[Any]:
        if self.state.status.is_terminal:
            return []
        self.open = [work for work in self.open if status_of(self.state, work) == "ready"]
        self.running = [work for work in self.running if status_of(self.state, work) == "running"]
        actions: list[Any] = [self.start] if self.open else []
        actions += [self.end] if self.running else []
        actions += (
            [self.receive] if self.media_left or self.state.media is MediaState.ARRIVING else []
        )
        return actions

    def start(self) -> None:
        work = self.open.pop(self.rng.randrange(len(self.open)))
        assert work not in self.started, "never two starts"
        self.check_may_start(work)
        self.started.append(work)
        self.running.append(work)
        self.put(work, StepStatus.RUNNING)

    def end(self) -> None:
        work = self.running.pop(self.rng.randrange(len(self.running)))
        self.put(work, StepStatus(self.ends[work.step_key]))

    def receive(self) -> None:
        state = self.state
        if self.media_left:
            state = self.with_media(self.media_left.pop(0))
        else:
            state = replace(state, media=MediaState.WHOLE)
        self.take(advance(self.definition, state))

    def with_media(self, count: int) -> RunState[StepState]:
        return with_windows(
            self.definition,
            self.state,
            boundaries_ms=BOUNDARIES_MS[:count],
            is_sealed=count == len(BOUNDARIES_MS),
        )

    def put(self, work: WorkItem, status: StepStatus) -> None:
        step = self.state.steps[work.step_key]
        if work.window is None:
            changed = replace(step, status=status)
        else:
            windows = tuple(
                WindowState(each.window, status) if each.window == work.window else each
                for each in step.windows
            )
            changed = replace(step, windows=windows)
        state = replace(self.state, steps={**self.state.steps, work.step_key: changed})
        self.take(advance(self.definition, state))

    def check_may_start(self, work: WorkItem) -> None:
        step = self.definition.steps[work.step_key]
        needs = [self.state.steps[need] for need in step.needs]
        if work.window is None:
            assert self.state.media is MediaState.WHOLE
            assert all(need.status is StepStatus.SUCCEEDED for need in needs)
            return
        for need in needs:
            past_ms = -1 if need.watermark_ms is None else need.watermark_ms
            assert need.status is StepStatus.SUCCEEDED or past_ms >= work.window.end_ms


def status_of(state: RunState[StepState], work: WorkItem) -> str:
    step = state.steps[work.step_key]
    if work.window is None:
        return step.status
    return next(each.status for each in step.windows if each.window == work.window)


def check_changes(transitions: Transitions[StepState]) -> None:
    before, after = transitions.before.status, transitions.after.status
    assert after is before or after in RUN_CHANGES[before]
    for key, status in transitions.steps.items():
        assert status in STEP_CHANGES[transitions.before.steps[key].status]


def expected(definition: Definition, ends: dict[str, str]) -> dict[str, str]:
    """The model: what each step comes to if everything that can run does run."""
    result: dict[str, str] = {}
    for key, step in definition.steps.items():
        can_run = all(result[need] == "succeeded" for need in step.needs)
        result[key] = ends[key] if can_run else "skipped"
    return result


def expected_run(steps: dict[str, str]) -> RunStatus:
    if "failed" in steps.values():
        return RunStatus.FAILED
    return RunStatus.FILTERED if "skipped" in steps.values() else RunStatus.SUCCEEDED


@settings(deadline=None, max_examples=80)
@given(plans(), st.integers(0, 2**32))
@pytest.mark.spec("3.3")
def test_a_run_ends_as_the_model_says(plan: tuple[Definition, dict[str, str]], seed: int) -> None:
    definition, ends = plan
    model = expected(definition, ends)
    state = Simulation(definition, ends, random.Random(seed)).go()
    assert state.status is expected_run(model)
    for key, step in state.steps.items():
        assert step.status.is_terminal
        if step.status in (StepStatus.SUCCEEDED, StepStatus.FAILED):
            assert step.status == model[key]
        if step.status is StepStatus.CANCELLED:
            assert "failed" in model.values()
        if step.status is StepStatus.SKIPPED:
            assert model[key] == "skipped"
        if step.status is StepStatus.FAILED:
            downstream = [each for each in ends if key in upstream(definition.needs, each)]
            ended = {state.steps[each].status for each in downstream}
            assert ended <= {StepStatus.SKIPPED, StepStatus.CANCELLED}


@settings(deadline=None, max_examples=40)
@given(plans([each for each in OUTCOMES if each != "failed"]), st.integers(), st.integers())
def test_without_failures_the_order_does_not_matter(
    plan: tuple[Definition, dict[str, str]], one: int, other: int
) -> None:
    definition, ends = plan
    worlds = [Simulation(definition, ends, random.Random(seed)) for seed in (one, other)]
    one_end, other_end = (world.go() for world in worlds)
    assert (one_end.status, one_end.steps) == (other_end.status, other_end.steps)
    assert set(worlds[0].started) == set(worlds[1].started)
    statuses = {key: str(step.status) for key, step in worlds[0].state.steps.items()}
    assert statuses == expected(definition, ends)


@settings(deadline=None, max_examples=40)
@given(plans(), st.integers(0, 2**32))
@pytest.mark.spec("4.7")
def test_a_retry_ends_as_a_run_without_failures(
    plan: tuple[Definition, dict[str, str]], seed: int
) -> None:
    definition, ends = plan
    world = Simulation(definition, ends, random.Random(seed))
    failed = world.go()
    mended = {key: end.replace("failed", "succeeded") for key, end in ends.items()}
    transitions = retry(definition, failed)
    assert bool(transitions) == failed.status.is_retryable
    assert not retry(definition, transitions.after), "twice is once"
    check_changes(transitions)
    before = {key: step for key, step in failed.steps.items() if is_kept(step)}
    assert before.items() <= dict(transitions.after.steps).items()

    world.ends, world.open, world.started = mended, [], []
    world.state = transitions.after
    arrived = len(BOUNDARIES_MS) - len(world.media_left)
    world.state = world.with_media(arrived)
    world.take(advance(definition, world.state))
    world.go()
    assert not {work.step_key for work in world.started} & set(before), "what succeeded is kept"
    statuses = {key: str(step.status) for key, step in world.state.steps.items()}
    assert statuses == expected(definition, mended)


def is_kept(step: StepState) -> bool:
    return step.status is StepStatus.SUCCEEDED


@settings(deadline=None, max_examples=40)
@given(plans(), st.integers(0, 2**32), st.integers(0, 30))
def test_a_run_can_be_cancelled_at_any_moment(
    plan: tuple[Definition, dict[str, str]], seed: int, moment: int
) -> None:
    definition, ends = plan
    rng = random.Random(seed)
    world = Simulation(definition, ends, rng)
    for _ in range(moment):
        actions = world.actions()
        if actions:
            rng.choice(actions)()
    before = world.state
    world.take(advance(definition, replace(before, is_cancel_requested=True)))
    if before.status.is_terminal:
        assert world.state.steps == before.steps
        return
    assert world.state.status is RunStatus.CANCELLED
    for key, step in world.state.steps.items():
        ended = before.steps[key].status
        assert step.status is (ended if ended.is_terminal else StepStatus.CANCELLED)
        assert all(each.status.is_terminal for each in step.windows)


@settings(deadline=None, max_examples=40)
@given(plans(), st.integers(0, 2**32), st.integers(0, 30))
def test_a_run_whose_file_fails_ends(
    plan: tuple[Definition, dict[str, str]], seed: int, moment: int
) -> None:
    definition, ends = plan
    rng = random.Random(seed)
    world = Simulation(definition, ends, rng)
    for _ in range(moment):
        actions = world.actions()
        if actions:
            rng.choice(actions)()
    if world.state.status.is_terminal or world.state.media is MediaState.WHOLE:
        return
    world.media_left = []
    world.take(advance(definition, replace(world.state, media=MediaState.FAILED)))
    assert not [work for work in world.open if status_of(world.state, work) == "ready"]
    assert world.go().status.is_terminal
