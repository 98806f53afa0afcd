"""What is hidden cannot come back: no pixel inside has any part in what is put there."""

import numpy as np
import pytest

from framekiln.compositor.fill import hide
from framekiln.compositor.picture import Picture, picture_of_rgba
from framekiln.compositor.rect import PixelRect
from tests.unit.compositor.reference import rgba

PLACES = {
    "middle": PixelRect(16, 16, 48, 40),
    "corner": PixelRect(0, 0, 20, 20),
    "edge": PixelRect(40, 10, 64, 30),
    "whole width": PixelRect(0, 10, 64, 30),
    "whole height": PixelRect(10, 0, 30, 48),
    "everything": PixelRect(0, 0, 64, 48),
    "one sample": PixelRect(30, 20, 32, 22),
}


def copy_of(picture: Picture) -> Picture:
    return Picture(*(plane.copy() for plane in picture.planes))


@pytest.mark.parametrize("rect", PLACES.values(), ids=PLACES)
def test_fill_does_not_depend_on_the_pixels_inside(rect: PixelRect) -> None:
    seen = picture_of_rgba(rgba(48, 64, 1, opaque=True))
    other = copy_of(seen)
    random = np.random.default_rng(7)
    for plane, by in ((other.y, 1), (other.u, 2), (other.v, 2)):
        part = plane[rect.top // by : rect.bottom // by, rect.left // by : rect.right // by]
        part[...] = random.integers(0, 256, part.shape)
    hide(seen, rect)
    hide(other, rect)
    for mine, its in zip(seen.planes, other.planes, strict=True):
        assert (mine == its).all()


def test_fill_leaves_the_outside_and_matches_the_edges() -> None:
    before = picture_of_rgba(rgba(48, 64, 3, opaque=True))
    after = copy_of(before)
    rect = PLACES["middle"]
    hide(after, rect)
    outside = np.ones(after.y.shape, bool)
    outside[rect.top : rect.bottom, rect.left : rect.right] = False
    assert (after.y[outside] == before.y[outside]).all()
    seam = after.y[rect.top, rect.left : rect.right].astype(int)
    assert np.abs(seam - before.y[rect.top - 1, rect.left : rect.right]).mean() < 25
