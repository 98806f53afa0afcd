"""The strip below the picture proves the frame's number, once it was seen to be one."""

import numpy as np
import pytest
from numpy.typing import NDArray

from framekiln.capture.errors import PageOutOfStep
from framekiln.capture.grabber import FrameStrip, read_strip

NOTHING = np.empty((0, 8, 4), np.uint8)


def row(number: int) -> NDArray[np.uint8]:
    bgra = (number & 255, number >> 8 & 255, number >> 16, 255)
    return np.full((1, 8, 4), bgra, np.uint8)


@pytest.mark.parametrize("number", [0, 1, 119, 255, 256, 70_000, (1 << 24) - 1])
def test_a_number_is_encoded_as_a_colour(number: int) -> None:
    assert read_strip(row(number)[0]) == number


def test_a_strip_of_two_colours_has_no_number() -> None:
    strip = row(5)
    strip[0, 3] = 9
    assert read_strip(strip[0]) is None


def test_a_correct_strip_is_accepted() -> None:
    strip = FrameStrip()
    for number in range(300):
        strip.check(number, row(number))


def test_a_strip_must_stay_correct_once_it_was() -> None:
    strip = FrameStrip()
    for number in (0, 1, 2):
        strip.check(number, row(number))
    with pytest.raises(PageOutOfStep, match="frame 3 was ready, but shows frame 2"):
        strip.check(3, row(2))
    torn = row(3)
    torn[0, 0] = 77
    with pytest.raises(PageOutOfStep, match="frame 3 was ready, but shows no frame's strip"):
        strip.check(3, torn)


def test_a_page_without_a_strip_is_accepted() -> None:
    strip = FrameStrip()
    for number in range(300):
        strip.check(number, row(0))
        strip.check(number, row(1))
        strip.check(number, NOTHING)
