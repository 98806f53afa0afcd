"""Who gets a slot, and which frames are sent along."""

import itertools
from uuid import UUID

import pytest

from framekiln.pipelines.endpoints.request_body import MAX_FRAMES, sample_evenly
from framekiln.pipelines.execution.endpoint_slots import FreeSlots
from framekiln.pipelines.model.pipeline import AttemptId, PipelineId, RunId
from framekiln.pipelines.stores.attempt import VersionStep, WaitingAttempt

pytestmark = pytest.mark.spec("4.7")

SOMETHING = UUID(int=1)


def waiting(key: str, limit: int) -> WaitingAttempt:
    place = VersionStep(PipelineId(SOMETHING), 1, key)
    return WaitingAttempt(AttemptId(SOMETHING), RunId(SOMETHING), place, limit)


def test_the_endpoint_limit_covers_all_steps() -> None:
    room = FreeSlots(3, {waiting("a", 9).step: 1})
    assert [room.take(waiting(key, 9)) for key in "abc"] == [True, True, False]


def test_a_full_step_leaves_room_for_others() -> None:
    room = FreeSlots(10, {waiting("a", 2).step: 1})
    assert [room.take(waiting("a", 2)) for _ in range(3)] == [True, False, False]
    assert room.take(waiting("b", 1))
    assert room.count == 7


def test_an_exceeded_limit_admits_no_attempt() -> None:
    room = FreeSlots(1, {waiting("a", 9).step: 3})
    assert not room.take(waiting("b", 9))


def test_frames_are_chosen_evenly() -> None:
    assert sample_evenly(range(0, 5000, 1000)) == [0, 1000, 2000, 3000, 4000]
    assert sample_evenly(range(MAX_FRAMES)) == list(range(MAX_FRAMES))
    chosen = sample_evenly(range(0, 2500))
    assert len(chosen) == len(set(chosen)) == MAX_FRAMES
    assert chosen[0] == 0
    assert max(b - a for a, b in itertools.pairwise(chosen)) == 3
    assert chosen[-1] >= 2497
