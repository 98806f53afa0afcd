"""Who gets a slot, and which frames are sent along."""

import itertools
from uuid import UUID

import pytest

from framekiln.pipelines.model.ids import AttemptId, PipelineId, RunId
from framekiln.pipelines.sending.gate import Room
from framekiln.pipelines.sending.media_urls import MAX_FRAMES, spread
from framekiln.pipelines.sending.store import StepPlace, WaitingAttempt

pytestmark = pytest.mark.spec("4.7")

SOMETHING = UUID(int=1)


def waiting(key: str, limit: int) -> WaitingAttempt:
    place = StepPlace(PipelineId(SOMETHING), 1, key)
    return WaitingAttempt(AttemptId(SOMETHING), RunId(SOMETHING), place, limit)


def test_the_endpoint_has_so_much_room_over_all_steps() -> None:
    room = Room(3, {waiting("a", 9).place: 1})
    assert [room.admit(waiting(key, 9)) for key in "abc"] == [True, True, False]


def test_a_full_step_leaves_room_for_others() -> None:
    room = Room(10, {waiting("a", 2).place: 1})
    assert [room.admit(waiting("a", 2)) for _ in range(3)] == [True, False, False]
    assert room.admit(waiting("b", 1))
    assert room.free == 7


def test_a_limit_that_is_exceeded_already_admits_nobody() -> None:
    room = Room(1, {waiting("a", 9).place: 3})
    assert not room.admit(waiting("b", 9))


def test_frames_are_chosen_evenly() -> None:
    assert spread(range(0, 5000, 1000)) == [0, 1000, 2000, 3000, 4000]
    assert spread(range(MAX_FRAMES)) == list(range(MAX_FRAMES))
    chosen = spread(range(0, 2500))
    assert len(chosen) == len(set(chosen)) == MAX_FRAMES
    assert chosen[0] == 0
    assert max(b - a for a, b in itertools.pairwise(chosen)) == 3
    assert chosen[-1] >= 2497
