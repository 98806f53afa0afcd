"""Warps by the kernel, in numpy, and as they are meant."""

from fractions import Fraction
from math import cos, floor, sin

import numpy as np
import pytest

from framekiln.pixels import native, warp
from tests.unit.pixels.test_conversion import needs_kernel, noise

UPRIGHT = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
MAPS = {
    "as it is": UPRIGHT,
    "moved": ((1.0, 0.0, 3.3), (0.0, 1.0, -7.25)),
    "enlarged": ((0.83, 0.0, 2.2), (0.0, 0.61, 1.4)),
    "reduced": ((1.4, 0.0, -20.0), (0.0, 1.9, -9.0)),
    "mirrored": ((-1.1, 0.0, 40.0), (0.0, -0.9, 25.5)),
    "turned": ((cos(0.4), sin(0.4), -9.0), (-sin(0.4), cos(0.4), 12.0)),
    "turned by 90 degrees": ((0.0, 1.0, 0.0), (-1.0, 0.0, 30.0)),
    "sheared": ((1.0, 0.7, -11.0), (0.0, 1.0, 0.5)),
    "squeezed into a line": ((0.001, 0.0, 5.0), (90.0, 45.0, -700.0)),
    "far outside": ((1.0, 0.0, 1e15), (0.0, 1.0, -1e15)),
    "stretched without bounds": ((1e18, -1e18, 0.0), (1e18, 1e18, -1e18)),
}


@needs_kernel
@pytest.mark.parametrize("extends", [True, False])
@pytest.mark.parametrize("name", MAPS)
def test_the_kernel_warps_as_numpy_does(
    name: str, monkeypatch: pytest.MonkeyPatch, *, extends: bool
) -> None:
    indexes = warp.index_map(*MAPS[name])
    for width, height, made_width in ((1, 1, 5), (2, 3, 64), (41, 27, 60), (700, 20, 1030)):
        source = noise((height, width + 5), seed=width)[:, :width]
        made = []
        for library in (native.library(), None):
            monkeypatch.setattr(native, "library", lambda found=library: found)
            made.append(
                warp.warp(source, indexes, width_px=made_width, height_px=33, extends=extends)
            )
            monkeypatch.undo()
        assert np.array_equal(made[0], made[1])


def test_a_map_to_itself_returns_every_byte() -> None:
    source = noise((31, 44), seed=1)
    made = warp.warp(source, warp.index_map(*UPRIGHT), width_px=44, height_px=31, extends=False)
    assert np.array_equal(made, source)


def test_a_turn_by_90_degrees_returns_every_byte() -> None:
    source = noise((31, 44), seed=1)
    turned = warp.index_map((0.0, 1.0, 0.0), (-1.0, 0.0, 31.0))
    made = warp.warp(source, turned, width_px=31, height_px=44, extends=False)
    assert np.array_equal(made, np.rot90(source, -1))


def test_pixels_are_interpolated_exactly() -> None:
    """Between four pixels, at positions of 1/256, rounded to nearest."""
    source = np.array([[10, 255], [0, 131]], np.uint8)
    for step in range(0, 256, 5):
        x, y = Fraction(step, 256), Fraction(255 - step, 256)
        moved = warp.index_map((1.0, 0.0, float(x)), (0.0, 1.0, float(y)))
        (made,) = warp.warp(source, moved, width_px=1, height_px=1, extends=False)[0]
        above, below = 10 * (1 - x) + 255 * x, 131 * x
        assert made == floor(above * (1 - y) + below * y + Fraction(1, 2))


def test_an_edge_between_pixels_fades_unless_it_extends() -> None:
    white = np.full((4, 4), 255, np.uint8)
    shifted = warp.index_map((1.0, 0.0, -0.25), (0.0, 1.0, 0.0))
    faded = warp.warp(white, shifted, width_px=6, height_px=4, extends=False)
    assert faded.tolist() == [[191, 255, 255, 255, 64, 0]] * 4
    extended = warp.warp(white, shifted, width_px=6, height_px=4, extends=True)
    assert (extended == 255).all()


def test_centres_of_pixels_are_mapped_in_planes_of_any_share() -> None:
    """Twice as large, and 3 pixels to the right: chroma has half of the pixels."""
    x_of, y_of = (0.5, 0.0, -1.5), (0.0, 0.5, 0.0)
    row = np.arange(0, 160, 10, dtype=np.uint8)[None].repeat(4, axis=0)
    luma = warp.warp(row, warp.index_map(x_of, y_of), width_px=12, height_px=1, extends=True)
    # Pixel 7 begins at 7 / 2 - 1.5 = 2 and has its centre at 2.25: between those of 1 and 2.
    assert luma[0, 7] == round(0.25 * 10 + 0.75 * 20)
    chroma = warp.index_map(x_of, y_of, share=0.5)
    halved = warp.warp(row, chroma, width_px=12, height_px=1, extends=True)
    # In its own pixels it is moved by half as many: the centre of 7 is at 3.75 - 0.75 = 3.
    assert halved[0, 7] == round(0.5 * 20 + 0.5 * 30)
