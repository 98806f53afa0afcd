"""What layers need of pixels: dissolves, tints under alpha, groups, pictures that fill, planes."""

import numpy as np
import pytest

from framekiln.compositor.adjustments import (
    INVERT,
    UNCHANGED,
    adjust,
    brightness,
    colour_overlay,
    saturation,
)
from framekiln.compositor.canvas import Canvas
from framekiln.compositor.dissolve import dissolve_pictures, lower_part
from framekiln.compositor.picture import (
    Picture,
    YuvColour,
    picture_of_planes,
    picture_of_rgba,
    rgba_of,
)
from framekiln.compositor.placement import PlacedPicture, place, scale_matrix, translation_matrix
from framekiln.compositor.rect import PixelRect
from framekiln.compositor.scene import FilterItem, PictureItem, Scene
from tests.unit.compositor.reference import rgb_of, rgba

WHOLE = PixelRect(0, 0, 64, 48)


def solid(red: int, green: int, blue: int, alpha: int = 255, side: int = 16) -> Picture:
    pixels = np.empty((side, side, 4), np.uint8)
    pixels[...] = (red, green, blue, alpha)
    return picture_of_rgba(pixels)


def test_rgba_round_trip_keeps_the_picture() -> None:
    pixels = rgba(48, 64, 3)
    back = rgba_of(picture_of_rgba(pixels))
    seen = pixels[..., 3] > 40
    assert np.abs(back.astype(int) - pixels)[seen].mean() < 4
    assert (back[..., 3] == pixels[..., 3]).all()


def test_decoded_planes_are_premultiplied() -> None:
    luma, chroma = np.full((8, 8), 200, np.uint8), np.full((4, 4), 100, np.uint8)
    alpha = np.full((8, 8), 51, np.uint8)
    picture = picture_of_planes(luma, chroma, chroma, alpha)
    assert (picture.y[0, 0], picture.u[0, 0]) == (40, 20)
    assert picture.chroma_alpha is not None
    assert picture.chroma_alpha[0, 0] == 51


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
@pytest.mark.parametrize("is_aside", [True, False])
def test_a_dissolve_is_the_weighted_sum(share: float, is_aside: bool) -> None:
    one, other = solid(200, 100, 50), solid(20, 60, 220)
    left = 8 if is_aside else 0
    mixed = dissolve_pictures(
        PlacedPicture(one, 0, 0),
        PlacedPicture(other, left, 0),
        shares=(1 - share, share),
        within=WHOLE,
    )
    canvas = Canvas(64, 48)
    canvas.draw(mixed.picture, at=(mixed.left, mixed.top))
    wanted = np.array([200, 100, 50]) * (1 - share) + np.array([20, 60, 220]) * share
    assert np.abs(rgb_of(canvas.picture)[8, 12] - wanted).max() < 5
    assert mixed.picture.has_alpha is is_aside


@pytest.mark.parametrize("share", [0.0, 0.2, 0.9])
@pytest.mark.parametrize(("old", "new"), [(255, 255), (255, 90), (90, 255), (90, 90)])
def test_parts_of_a_dissolve_drawn_apart_are_the_same_sum(share: float, old: int, new: int) -> None:
    one = PlacedPicture(solid(200, 100, 50, old), 0, 0)
    other = PlacedPicture(solid(20, 60, 220, new), 8, 0)
    mixed = dissolve_pictures(one, other, shares=(1 - share, share), within=WHOLE)
    whole, apart = Canvas(64, 48), Canvas(64, 48)
    whole.draw(mixed.picture, at=(mixed.left, mixed.top))
    lower = lower_part(one, other, shares=(1 - share, share))
    apart.draw(lower.picture, at=(lower.left, lower.top))
    apart.draw(other.picture, at=(8, 0), opacity=share)
    for mine, wanted in zip(apart.picture.planes, whole.picture.planes, strict=True):
        assert np.abs(mine.astype(int) - wanted).max() <= 2


@pytest.mark.parametrize("adjustment", [brightness(0.5), saturation(0.2), INVERT])
def test_a_tint_is_applied_to_the_unpremultiplied_colour(adjustment: object) -> None:
    opaque = adjust(solid(200, 100, 50), adjustment)  # type: ignore[arg-type]
    glass = adjust(solid(200, 100, 50, 128), adjustment)  # type: ignore[arg-type]
    mine = rgba_of(glass)[8, 8]
    assert mine[3] == 128
    assert np.abs(mine[:3].astype(int) - rgba_of(opaque)[8, 8, :3]).max() < 8


def test_a_colour_overlay_keeps_the_alpha() -> None:
    red = YuvColour.of_rgb(255, 0, 0)
    mine = rgba_of(adjust(solid(10, 200, 90, 128), colour_overlay(red, 1.0)))[8, 8]
    assert np.abs(mine.astype(int) - (255, 0, 0, 128)).max() < 8
    assert colour_overlay(red, 0.5).scaled_by(0) == UNCHANGED
    assert colour_overlay(red, 0.4).then(colour_overlay(red, 1.0)).gain == 0


def test_a_picture_that_fills_the_canvas_stays_opaque_when_warped() -> None:
    turn = np.radians(20)
    matrix = np.array(
        [[np.cos(turn), -np.sin(turn), 32], [np.sin(turn), np.cos(turn), 24], [0, 0, 1]]
    )
    placed = place(
        solid(9, 99, 199, side=128),
        matrix @ translation_matrix(-64, -64) @ scale_matrix(1, 1),
        within=WHOLE,
    )
    assert placed is not None
    assert placed.rect == WHOLE
    assert not placed.picture.has_alpha
    edge = place(solid(9, 99, 199, side=32), translation_matrix(3.5, 3.5), within=WHOLE)
    assert edge is not None
    assert edge.picture.has_alpha


def test_a_group_tints_only_what_is_in_it() -> None:
    nothing = YuvColour(0, 0, 0, alpha=0)
    scene = Scene(64, 48, background=nothing, has_alpha=True)
    laid = PictureItem("a", PlacedPicture(solid(200, 100, 50), 8, 8))
    scene.show([laid, FilterItem("t", colour_overlay(YuvColour.of_rgb(0, 0, 255), 1.0), WHOLE)])
    seen = rgba_of(scene.picture)
    assert np.abs(seen[12, 12].astype(int) - (0, 0, 255, 255)).max() < 5
    assert seen[40, 40].tolist() == [0, 0, 0, 0]
    assert scene.covered == PixelRect(8, 8, 24, 24)
    scene.show([])
    assert not rgba_of(scene.picture).any()
