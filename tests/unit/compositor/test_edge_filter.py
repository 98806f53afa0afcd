"""Edges: where brightness changes, whatever was drawn before, and never in part of a frame."""

import numpy as np
import pytest

from framekiln.compositor.filters import EdgeFilter, apply_filter, edges
from framekiln.compositor.frame_planes import unpremultiplied, write_planes
from framekiln.compositor.picture import Picture, YuvColour, picture_of_rgba, rgba_of
from framekiln.compositor.placement import PlacedPicture
from framekiln.compositor.rect import PixelRect
from framekiln.compositor.scene import FilterItem, PictureItem, Scene

WHOLE = PixelRect(0, 0, 64, 64)


def square(left: int, *, colour: tuple[int, int, int, int] = (255, 255, 255, 255)) -> PictureItem:
    pixels = np.empty((20, 20, 4), np.uint8)
    pixels[...] = colour
    picture = picture_of_rgba(pixels)
    opaque = Picture(picture.y, picture.u, picture.v) if colour[3] == 255 else picture
    return PictureItem((left, colour), PlacedPicture(opaque, left, 20))


def sketched(*things: PictureItem) -> list[PictureItem | FilterItem]:
    return [*things, FilterItem("edges", EdgeFilter(), WHOLE)]


def test_edges_are_white_and_surfaces_black() -> None:
    scene = Scene(64, 64)
    scene.show(sketched(square(20)))
    picture = rgba_of(scene.picture)
    assert picture[30, 20].tolist() == [255, 255, 255, 255]
    assert picture[30, 30, :3].max() == 0
    assert picture[5, 5, :3].max() == 0


def test_a_frame_drawn_in_steps_is_the_frame_drawn_at_once() -> None:
    moving, fresh = Scene(64, 64), Scene(64, 64)
    for left in (2, 10, 12, 30):
        moving.show(sketched(square(left), square(40, colour=(0, 90, 200, 255))))
    fresh.show(sketched(square(30), square(40, colour=(0, 90, 200, 255))))
    assert np.array_equal(moving.picture.y, fresh.picture.y)
    # And without the filter again, nothing of it is left.
    moving.show([square(30)])
    fresh = Scene(64, 64)
    fresh.show([square(30)])
    assert np.array_equal(moving.picture.y, fresh.picture.y)


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_a_partial_share_blends_edges_with_the_picture(share: float) -> None:
    rgba = np.full((16, 16, 4), 255, np.uint8)
    rgba[:, 8:, :3] = 0
    before = picture_of_rgba(rgba)
    after = apply_filter(before, EdgeFilter().scaled_by(share))
    wanted = share * edges(before).y.astype(float) + (1 - share) * before.y
    assert np.abs(after.y - wanted).max() <= 1


def test_transparent_pixels_stay_transparent() -> None:
    rgba = np.zeros((16, 16, 4), np.uint8)
    rgba[4:12, 4:12] = 255
    picture = picture_of_rgba(rgba)
    after = edges(picture)
    assert after.alpha is picture.alpha
    assert rgba_of(after)[0, 0].tolist() == [0, 0, 0, 0]
    assert rgba_of(after)[4, 8, :3].min() > 200


def test_unpremultiplied_colours_are_written() -> None:
    rgba = np.empty((4, 8, 4), np.uint8)
    rgba[:, :4] = (200, 40, 90, 128)
    rgba[:, 4:] = 0
    picture = picture_of_rgba(rgba)
    y, u, v, alpha = unpremultiplied(picture)
    wanted = YuvColour.of_rgb(200, 40, 90)
    assert np.abs(y[:, :4].astype(int) - wanted.y).max() <= 2
    assert np.abs(u[:, :2].astype(int) - wanted.u).max() <= 2
    assert np.abs(v[:, :2].astype(int) - wanted.v).max() <= 2
    assert alpha[0].tolist() == [128] * 4 + [0] * 4
    assert (y[:, 4:] == 16).all()
    buffer = np.empty((10, 8), np.uint8)
    write_planes(picture, buffer)
    assert np.array_equal(buffer.reshape(-1)[-32:].reshape(4, 8), alpha)
    assert np.array_equal(buffer.reshape(-1)[:32].reshape(4, 8), y)
