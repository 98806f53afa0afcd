"""Which slice a worker takes: the next one, or the middle of where nobody is."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from framekiln.renders.slice_choice import choose_slice


@pytest.mark.parametrize(
    ("free", "after", "chosen"),
    [
        ([], None, None),
        ([], 3, None),
        ([0, 1, 2], None, 0),
        ([3, 4, 5], 2, 3),
        ([5], 2, 5),
        ([2, 3, 4, 5], 9, 4),
        ([1, 4, 5, 6], 1, 5),
        ([0, 1, 2, 6, 7], 4, 0),
    ],
)
def test_a_worker_chooses_the_expected_slice(
    free: list[int], after: int | None, chosen: int | None
) -> None:
    assert choose_slice(free, after=after) == chosen


@settings(deadline=None)
@given(st.sets(st.integers(0, 50)), st.none() | st.integers(0, 50))
def test_a_free_slice_is_always_found(free: set[int], after: int | None) -> None:
    chosen = choose_slice(sorted(free), after=after)
    assert (chosen in free) if free else (chosen is None)


@settings(deadline=None)
@given(st.integers(1, 60), st.integers(1, 8))
def test_workers_together_take_every_slice_once(count: int, workers: int) -> None:
    free, taken = list(range(count)), []
    last: list[int | None] = [None] * workers
    while free:
        for worker in range(workers):
            chosen = choose_slice(free, after=last[worker])
            if chosen is not None:
                free.remove(chosen)
                taken.append(chosen)
            last[worker] = chosen
    assert sorted(taken) == list(range(count))
