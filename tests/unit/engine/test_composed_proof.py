"""What the comparison of composed frames with Chromium's notices, and what it lets pass."""

import numpy as np
import pytest

from framekiln.capture.framebuffer import Pixels
from framekiln.compositor.picture import Picture, picture_of_rgba
from framekiln.engine.composed.page_layers import MotionStates, PageLayers
from framekiln.engine.composed.proof import checked_frames, compare
from framekiln.engine.film_plan import FilmSlice

HEIGHT, WIDTH = 180, 320


def frame(*lines: tuple[int, int]) -> Pixels:
    """A dark frame with thin grey marks, as small as letters, at these corners."""
    pixels = np.full((HEIGHT, WIDTH, 4), (60, 40, 20, 255), np.uint8)
    for left, top in lines:
        for at in range(0, 16, 4):
            pixels[top : top + 10, left + at : left + at + 2, :3] = 160
    return pixels


def composed(pixels: Pixels) -> Picture:
    return picture_of_rgba(pixels[..., [2, 1, 0, 3]])


def test_equal_frames_are_equal() -> None:
    likeness = compare(composed(frame((40, 40))), frame((40, 40)))
    assert (likeness.ssim, likeness.block, likeness.line) == (1.0, 0.0, 0.0)


def test_text_may_lie_one_pixel_apart() -> None:
    assert compare(composed(frame((40, 41))), frame((40, 40))).is_close


def test_colours_that_no_screen_shows_count_as_the_nearest_that_it_shows() -> None:
    # A green that is brighter and more saturated than that of RGB.
    green, half = np.full((HEIGHT, WIDTH), 190, np.uint8), np.full((90, 160), 20, np.uint8)
    pixels = np.full((HEIGHT, WIDTH, 4), (0, 255, 0, 255), np.uint8)
    assert compare(Picture(green, half, half), pixels).is_close
    assert not compare(Picture(green - 40, half, half), pixels).is_close


def test_a_missing_or_added_word_is_detected() -> None:
    both, one = frame((40, 40), (100, 90)), frame((40, 40))
    assert not compare(composed(one), both).is_close
    assert not compare(composed(both), one).is_close


@pytest.mark.parametrize(
    "place",
    [
        pytest.param((slice(80, 81), slice(10, 310)), id="row"),
        pytest.param((slice(10, 170), slice(150, 151)), id="column"),
        pytest.param((slice(80, 82), slice(150, 182)), id="short, two pixels"),
    ],
)
def test_a_missing_or_added_thin_pale_line_is_detected(place: tuple[slice, slice]) -> None:
    plain, lined = (np.full((HEIGHT, WIDTH, 4), 255, np.uint8) for _ in range(2))
    lined[*place, :3] = 221
    assert not compare(composed(plain), lined).is_close
    assert not compare(composed(lined), plain).is_close


def test_a_missing_small_mark_is_detected() -> None:
    plain, marked = (np.full((HEIGHT, WIDTH, 4), 255, np.uint8) for _ in range(2))
    marked[82:87, 98:103, :3] = 150
    assert not compare(composed(plain), marked).is_close


def test_a_moved_word_is_detected() -> None:
    assert not compare(composed(frame((40, 48))), frame((40, 40))).is_close


@pytest.mark.parametrize(("left", "top"), [(0, 0), (32, 96), (160, 64), (352, 192)])
def test_equal_surroundings_change_no_difference(left: int, top: int) -> None:
    noise = np.random.default_rng(left)
    parts = [frame((16, 20)), frame((17, 28))]
    for part in parts:
        part[60:80, 30:100, :3] = noise.integers(0, 256, (20, 70, 3))
    alone = compare(composed(parts[0][:128, :128]), parts[1][:128, :128])
    wholes = [np.full((320, 480, 4), (60, 40, 20, 255), np.uint8) for _ in parts]
    for whole, part in zip(wholes, parts, strict=True):
        whole[top : top + 128, left : left + 128] = part[:128, :128]
    surrounded = compare(composed(wholes[0]), wholes[1])
    assert (surrounded.block, surrounded.line) == (alone.block, alone.line)
    assert 320 * 480 * (1 - surrounded.ssim) == pytest.approx(128 * 128 * (1 - alone.ssim))


def test_the_first_frame_and_both_sides_of_each_change_are_checked_in_every_run() -> None:
    slice_ = FilmSlice(3, 120, 60)
    chosen = checked_frames(slice_, [120, 150], frame_count=240)
    assert {120, 149, 150} <= chosen
    assert chosen == checked_frames(slice_, [120, 150], frame_count=240)
    assert 3 < len(chosen) < 8
    assert all(120 <= number < 180 for number in chosen)


def test_the_last_frame_of_the_film_is_checked() -> None:
    slice_ = FilmSlice(3, 120, 60)
    last_alone = checked_frames(slice_, [], frame_count=180) - checked_frames(
        slice_, [], frame_count=240
    )
    assert last_alone == {179}


def test_changes_are_instants_where_something_appears_or_disappears() -> None:
    rest = (1, 0, 0, 1, 0, 0, *(0, 0, 0, 0, -1))
    seen = [(1, 0), (1, 0.5), (1, 1), (0, 0)]
    movers = [value for each in seen for value in (*each, *rest)]
    states = MotionStates(10, PageLayers((), 1), {"movers": movers, "footage": [], "contents": []})
    assert states.changes() == [11, 13]
    assert states.of(11)[0].opacity == 0.5
