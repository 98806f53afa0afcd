"""Slices cover a film once, in order, and depend on nothing but the film."""

from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from framekiln.engine.film_plan import FilmSlice, cut_slices
from framekiln.timeline import Timeline


def test_a_film_is_cut_every_four_seconds() -> None:
    timeline = Timeline(Fraction(30), 250)
    assert cut_slices(timeline) == (
        FilmSlice(0, 0, 120),
        FilmSlice(1, 120, 120),
        FilmSlice(2, 240, 10),
    )


@pytest.mark.parametrize("slice_ms", [1, 100])
def test_a_slice_has_at_least_a_frame(slice_ms: int) -> None:
    assert cut_slices(Timeline(Fraction(1), 2), slice_ms) == (
        FilmSlice(0, 0, 1),
        FilmSlice(1, 1, 1),
    )


@settings(deadline=None)
@given(
    st.fractions(min_value=1, max_value=120, max_denominator=1001),
    st.integers(1, 2000),
    st.integers(1, 60_000),
)
def test_every_frame_is_in_one_slice(fps: Fraction, frame_count: int, slice_ms: int) -> None:
    slices = cut_slices(Timeline(fps, frame_count), max(slice_ms, 1000))
    assert [each.number for each in slices] == list(range(len(slices)))
    assert slices[0].first_frame == 0
    assert slices[-1].end_frame == frame_count
    assert all(a.end_frame == b.first_frame for a, b in pairwise(slices))
    assert all(each.frame_count > 0 for each in slices)
