"""Cutting placed pictures to whole pixels."""

import numpy as np

from framekiln.compositor.clip import clip_placed
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


def test_a_picture_inside_is_not_changed_and_one_outside_is_gone() -> None:
    placed = PlacedPicture(WHITE, 4, 4)
    assert clip_placed(placed, PixelRect(3, 3, 13, 13)) is placed
    assert clip_placed(placed, PixelRect(12, 0, 20, 20)) is None
