"""Cutting placed pictures to whole pixels."""

import numpy as np

from framekiln.compositor.clip import clip_placed, round_placed, soften_placed
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


def test_edges_between_pixels_cover_these_in_part() -> None:
    placed = PlacedPicture(WHITE, 4, 4)
    alpha = soften_placed(placed, (5.25, 0, 20, 10.5)).picture.alpha
    assert alpha is not None
    assert alpha[0].tolist() == [0, 191, *[255] * 6]
    assert alpha[:, 7].tolist() == [*[255] * 6, 128, 0]
    assert soften_placed(placed, (4, 3.5, 12.1, 20)) is placed
