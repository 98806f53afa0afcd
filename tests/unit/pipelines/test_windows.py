"""Windows cover the file once, on fragment boundaries, and never change once they are there."""

from itertools import accumulate, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from framekiln.pipelines.definition.model import Segmentation
from framekiln.pipelines.definition.windows import Window, complete_windows

TWO_SECONDS = list(range(0, 20_001, 2000))


@pytest.mark.spec("4.7")
def test_windows_start_on_boundaries_and_may_be_longer() -> None:
    assert complete_windows(TWO_SECONDS, Segmentation(5000, 1000), is_sealed=True) == (
        Window(0, 0, 6000, 0),
        Window(1, 6000, 12_000, 2000),
        Window(2, 12_000, 18_000, 2000),
        Window(3, 18_000, 20_000, 2000),
    )


def test_a_window_that_fits_is_not_longer() -> None:
    windows = complete_windows(TWO_SECONDS, Segmentation(10_000, 4000), is_sealed=True)
    assert windows == (Window(0, 0, 10_000, 0), Window(1, 10_000, 20_000, 4000))
    assert windows[1].media_start_ms == 6000


@pytest.mark.spec("4.7")
def test_the_last_window_waits_for_the_seal() -> None:
    segments = Segmentation(5000, 0)
    assert complete_windows(TWO_SECONDS[:3], segments, is_sealed=False) == ()
    assert complete_windows(TWO_SECONDS[:4], segments, is_sealed=False) == (Window(0, 0, 6000, 0),)
    assert complete_windows(TWO_SECONDS[:3], segments, is_sealed=True) == (Window(0, 0, 4000, 0),)


def test_a_file_that_ends_with_a_window_has_no_empty_one() -> None:
    assert len(complete_windows([0, 5000, 10_000], Segmentation(5000, 0), is_sealed=True)) == 2


@pytest.mark.parametrize("boundaries_ms", [[], [0]])
def test_without_media_there_are_no_windows(boundaries_ms: list[int]) -> None:
    assert complete_windows(boundaries_ms, Segmentation(1000, 0), is_sealed=True) == ()


def test_one_long_fragment_is_one_window() -> None:
    windows = complete_windows([40, 600_040, 600_080], Segmentation(1000, 500), is_sealed=True)
    assert windows == (Window(0, 40, 600_040, 0), Window(1, 600_040, 600_080, 600_000))


@pytest.mark.parametrize(
    ("start_ms", "end_ms", "inside", "touching"),
    [
        (1000, 2000, True, True),
        (1200, 1300, True, True),
        (900, 1000, False, False),
        (900, 1001, False, True),
        (2000, 2100, False, False),
        (0, 9000, False, True),
        (1000, 1000, True, True),
        (2000, 2000, True, True),
        (2001, 2001, False, False),
    ],
)
def test_spans_are_limited_to_the_window(
    start_ms: int, end_ms: int, inside: bool, touching: bool
) -> None:
    window = Window(1, 1000, 2000, 0)
    assert window.contains(start_ms, end_ms) is inside
    assert window.overlaps(start_ms, end_ms) is touching


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.integers(1, 4000), min_size=1, max_size=60),
    st.integers(0, 500),
    st.integers(1000, 9000),
    st.data(),
)
@pytest.mark.spec("4.7")
def test_windows_are_valid_and_never_change(
    lengths_ms: list[int], first_ms: int, window_ms: int, data: st.DataObject
) -> None:
    boundaries_ms = list(accumulate(lengths_ms, initial=first_ms))
    segments = Segmentation(window_ms, data.draw(st.integers(0, window_ms // 2)))
    windows = complete_windows(boundaries_ms, segments, is_sealed=True)

    assert [window.index for window in windows] == list(range(len(windows)))
    assert (windows[0].start_ms, windows[-1].end_ms) == (first_ms, boundaries_ms[-1])
    assert all(one.end_ms == other.start_ms for one, other in pairwise(windows))
    for window in windows:
        assert {window.start_ms, window.end_ms, window.media_start_ms} <= set(boundaries_ms)
        inner = [each for each in boundaries_ms if window.start_ms < each < window.end_ms]
        # Not longer than it must be.
        assert all(each - window.start_ms < window_ms for each in inner)
        assert window.overlap_ms >= min(segments.overlap_ms, window.start_ms - first_ms)
    assert all(each.end_ms - each.start_ms >= window_ms for each in windows[:-1])

    arrived = data.draw(st.integers(0, len(boundaries_ms)))
    so_far = complete_windows(boundaries_ms[:arrived], segments, is_sealed=False)
    assert so_far == windows[: len(so_far)]
    media_ms = boundaries_ms[arrived - 1] if arrived else -1
    certain = [w for w in windows if w.end_ms <= media_ms and w.end_ms - w.start_ms >= window_ms]
    assert list(so_far) == certain
