"""Short cuts of the compositor against the long way: corners, colours cut off, what is redrawn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from framekiln.compositor.adjustments import (
    INVERT,
    Adjustment,
    adjust,
    brightness,
    colour_overlay,
    contrast,
    lighten,
    saturation,
)
from framekiln.compositor.frame_planes import buffer_planes, write_planes
from framekiln.compositor.masks import rounded_mask
from framekiln.compositor.picture import YuvColour, picture_of_rgba, rgba_of
from framekiln.compositor.placement import PlacedPicture
from framekiln.compositor.rect import PixelRect
from framekiln.compositor.scene import FilterItem, PictureItem, Scene, SceneItem

SIZES = [
    (100, 60, 20.0),
    (101, 61, 20.5),
    (81, 81, 100.0),
    (80, 80, 40.0),
    (4, 4, 1.0),
    (9, 7, 0.0),
]


@pytest.mark.parametrize(("width", "height", "radius"), SIZES)
def test_round_corners_match_sixteenfold_supersampling(
    width: int, height: int, radius: float
) -> None:
    radius = min(radius, width / 2, height / 2)
    ys, xs = (np.mgrid[: height * 4, : width * 4] + 0.5) / 4
    x = np.maximum(np.abs(xs - width / 2) - (width / 2 - radius), 0)
    y = np.maximum(np.abs(ys - height / 2) - (height / 2 - radius), 0)
    inside = (x**2 + y**2 <= radius**2).reshape(height, 4, width, 4).mean(axis=(1, 3))
    mine = rounded_mask(width, height, radius).astype(float)
    assert np.abs(mine - inside * 255).max() <= 1
    assert np.array_equal(mine, rounded_mask(width, height, radius))


def colours() -> np.typing.NDArray[np.uint8]:
    """Squares of 2 x 2 pixels in colours of all kinds, opaque."""
    steps = np.array(np.meshgrid(*[(0, 64, 128, 200, 255)] * 3)).reshape(3, -1).T
    squares = np.repeat(np.repeat(steps.reshape(5, 25, 3), 2, axis=0), 2, axis=1)
    return np.dstack([squares, np.full((10, 50), 255)]).astype(np.uint8)


def in_rgb(
    pixels: np.typing.NDArray[np.uint8], change: Adjustment
) -> np.typing.NDArray[np.float64]:
    """The long way: every pixel as luma and chroma, changed, back, and cut off."""
    rgb = pixels[..., :3] / 255
    luma = rgb @ np.array([0.2126, 0.7152, 0.0722])
    blue, red = (rgb[..., 2] - luma) / 1.8556, (rgb[..., 0] - luma) / 1.5748
    luma = luma * change.gain + change.lift
    blue, red = blue * change.tint + change.blue, red * change.tint + change.red
    r, b = luma + 1.5748 * red, luma + 1.8556 * blue
    g = (luma - 0.2126 * r - 0.0722 * b) / 0.7152
    return np.clip(np.stack([r, g, b], axis=-1), 0, 1) * 255


CHANGES = {
    "darker": (brightness(0.5), True),
    "brighter": (brightness(1.8), False),
    "softer": (contrast(0.4), True),
    "harder": (contrast(2.5), False),
    "paler": (saturation(0.3), True),
    "more colourful": (saturation(2), False),
    "inverted": (INVERT, True),
    "lighter": (lighten(0.2), True),
    "covered": (colour_overlay(YuvColour.of_rgb(200, 30, 60), 0.7), True),
}


@pytest.mark.parametrize(("change", "stays_within"), CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("alpha", [255, 128])
def test_colours_are_clipped_in_rgb(change: Adjustment, stays_within: bool, alpha: int) -> None:
    assert change.stays_in_range is stays_within
    pixels = colours()
    pixels[..., 3] = alpha
    mine = rgba_of(adjust(picture_of_rgba(pixels), change))
    away = np.abs(mine[..., :3] - in_rgb(pixels, change))
    # Half transparent, a colour has half as many steps.
    assert away.max() <= (6 if alpha == 255 else 14)
    assert away.mean() < (1.2 if alpha == 255 else 3)
    assert np.abs(mine[..., 3].astype(int) - alpha).max() <= 1


WIDTH, HEIGHT = 64, 48


def _things() -> list[SceneItem]:
    """Pictures that overlap, one of them half transparent, one over all; and a tint."""
    rng = np.random.default_rng(7)
    things: list[SceneItem] = []
    for number, (wide, high, alpha) in enumerate(
        [(64, 48, 255), (20, 16, 255), (24, 12, 128), (8, 8, 255)]
    ):
        pixels = rng.integers(0, 256, (high, wide, 4), np.uint8)
        pixels[..., 3] = alpha
        picture = picture_of_rgba(pixels)
        for place in range(3):
            at = (place * 12, place * 8) if number else (0, 0)
            things.append(PictureItem((number, place), PlacedPicture(picture, *at)))
    return [*things, FilterItem("tint", brightness(0.5), PixelRect(0, 0, WIDTH, HEIGHT))]


THINGS = _things()
Frames = st.lists(
    st.lists(st.integers(0, len(THINGS) - 1), max_size=5, unique=True), min_size=1, max_size=8
)


@given(Frames)
def test_redrawn_parts_equal_a_new_scene(frames: list[list[int]]) -> None:
    scene = Scene(WIDTH, HEIGHT)
    buffers = [np.full((HEIGHT * 3 // 2, WIDTH), 77, np.uint8) for _ in range(3)]
    in_buffers = Scene(WIDTH, HEIGHT)
    last = np.empty_like(buffers[0])
    write_planes(in_buffers.picture, last)
    for number, frame in enumerate(frames):
        things = [THINGS[each] for each in frame]
        redrawn = Scene(WIDTH, HEIGHT)
        redrawn.show(things)
        expected = np.empty_like(buffers[0])
        write_planes(redrawn.picture, expected)
        scene.show(things)
        assert all(
            np.array_equal(mine, new)
            for mine, new in zip(scene.picture.planes, redrawn.picture.planes, strict=True)
        )
        buffer = buffers[number % len(buffers)]
        if in_buffers.show(things, buffer_planes(buffer, WIDTH, HEIGHT)):
            last = buffer.copy()
        assert np.array_equal(last, expected)
