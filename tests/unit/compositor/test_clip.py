"""Cutting placed pictures to whole pixels."""

import numpy as np

from framekiln.compositor.clip import clip_placed, round_placed
from framekiln.compositor.picture import picture_of_rgba
from framekiln.compositor.placement import PlacedPicture
from framekiln.compositor.rect import PixelRect
from framekiln.compositor.scene import PictureItem, Scene

WHITE = picture_of_rgba(np.full((8, 8, 4), 255, np.uint8))


def test_odd_edges_are_exact() -> None:
    clipped = clip_placed(PlacedPicture(WHITE, 4, 4), PixelRect(5, 0, 20, 7))
    assert clipped is not None
    scene = Scene(16, 16)
    scene.show([PictureItem("white", clipped)])
    expected = np.full((16, 16), 16, np.uint8)
    expected[4:7, 5:12] = 235
    assert np.array_equal(scene.picture.y, expected)


def test_a_clip_keeps_pictures_inside_and_removes_those_outside() -> None:
    placed = PlacedPicture(WHITE, 4, 4)
    assert clip_placed(placed, PixelRect(3, 3, 13, 13)) is placed
    assert clip_placed(placed, PixelRect(12, 0, 20, 20)) is None


def test_corners_are_round_also_of_a_part_of_the_box() -> None:
    box = PixelRect(4, 4, 14, 14)
    cut = clip_placed(PlacedPicture(WHITE, 4, 4), box)
    assert cut is not None
    whole = round_placed(cut, box, 5).picture.alpha
    assert whole is not None
    # The corner of the picture lies outside of the circle, its middle inside.
    assert (whole[0, 0], whole[4, 4]) == (0, 255)
    assert np.array_equal(whole, whole.T)
    assert int(whole[-1, -1]) == 255
    assert round_placed(cut, PixelRect(0, 0, 40, 40), 2) is cut
