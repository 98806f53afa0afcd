"""Short cuts of the compositor against the long way: round corners, colours that are cut off."""

import numpy as np
import pytest

from framekiln.compositor.adjusting import (
    INVERT,
    Adjustment,
    adjust,
    brightness,
    contrast,
    covered,
    lighten,
    saturation,
)
from framekiln.compositor.masking import rounded_mask
from framekiln.compositor.picture import Colour, picture_of_rgba, rgba_of

SIZES = [
    (100, 60, 20.0),
    (101, 61, 20.5),
    (81, 81, 100.0),
    (80, 80, 40.0),
    (4, 4, 1.0),
    (9, 7, 0.0),
]


@pytest.mark.parametrize(("width", "height", "radius"), SIZES)
def test_round_corners_are_those_of_a_drawing_sixteen_times_as_fine(
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
    "covered": (covered(Colour.of_rgb(200, 30, 60), 0.7), True),
}


@pytest.mark.parametrize(("change", "stays_within"), CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("alpha", [255, 128])
def test_colours_are_cut_off_as_red_green_and_blue(
    change: Adjustment, stays_within: bool, alpha: int
) -> None:
    assert change.stays_within is stays_within
    pixels = colours()
    pixels[..., 3] = alpha
    mine = rgba_of(adjust(picture_of_rgba(pixels), change))
    away = np.abs(mine[..., :3] - in_rgb(pixels, change))
    # Half transparent, a colour has half as many steps.
    assert away.max() <= (6 if alpha == 255 else 14)
    assert away.mean() < (1.2 if alpha == 255 else 3)
    assert np.abs(mine[..., 3].astype(int) - alpha).max() <= 1
