"""Blending for every pair of bytes: by the kernel, in numpy, and as it is meant."""

from fractions import Fraction

import numpy as np
import pytest

from framekiln.pixels import blend, numpy_kernel
from tests.unit.pixels.test_conversion import needs_kernel, noise

ONE, OTHER = (part.astype(np.uint8) for part in np.mgrid[:256, :256])


def nearest(numerator: int, denominator: int) -> int:
    return int(Fraction(numerator, denominator) + Fraction(1, 2))


def test_premultiply_rounds_to_nearest() -> None:
    wanted = [[nearest(a * b, 255) for b in range(256)] for a in range(256)]
    assert np.array_equal(blend.premultiply(ONE, OTHER), wanted)


def test_unpremultiply_rounds_to_nearest_and_saturates() -> None:
    made = blend.unpremultiply(ONE, OTHER, nothing=77)
    assert (made[:, 0] == 77).all()
    wanted = [[min(255, nearest(a * 255, b)) for b in range(1, 256)] for a in range(256)]
    assert np.array_equal(made[:, 1:], wanted)


def test_unpremultiply_inverts_premultiply_where_opaque() -> None:
    full = np.full_like(ONE, 255)
    assert np.array_equal(blend.unpremultiply(blend.premultiply(ONE, full), full, nothing=0), ONE)


@needs_kernel
@pytest.mark.parametrize("width", [1, 7, 64, 257])
def test_the_kernel_blends_planes_as_numpy_does(width: int) -> None:
    plane, alpha, below = (noise((19, width + 3), seed=n)[:, :width] for n in range(3))
    assert np.array_equal(blend.premultiply(plane, alpha), numpy_kernel.premultiply(plane, alpha))
    assert np.array_equal(
        blend.unpremultiply(plane, alpha, nothing=16), numpy_kernel.unpremultiply(plane, alpha, 16)
    )
    wanted = numpy_kernel.over(plane, alpha, below)
    blend.over(plane, alpha, below)
    assert np.array_equal(below, wanted)


@pytest.mark.parametrize("opacity", [0.0, 1 / 300, 0.25, 0.5, 0.999])
def test_a_fade_is_rounded_once(opacity: float) -> None:
    faded = Fraction(round(opacity * (1 << 14)), 1 << 14)
    below = np.broadcast_to(np.arange(0, 256, 5, dtype=np.uint8), (256, 52)).copy()
    for alpha in (0, 1, 77, 254, 255):
        plane = np.minimum(alpha, np.arange(256)).astype(np.uint8)[:, None].repeat(52, axis=1)
        made = below.copy()
        blend.over(plane, np.full_like(plane, alpha), made, opacity)
        rest = 1 - faded * alpha / 255
        wanted = [
            [int(int(plane[row, 0]) * faded + 5 * at * rest + Fraction(1, 2)) for at in range(52)]
            for row in range(0, 256, 17)
        ]
        assert np.array_equal(made[::17], np.minimum(wanted, 255))


@needs_kernel
@pytest.mark.parametrize("opacity", [0.0, 1e-5, 0.3, 0.77, 0.99995])
@pytest.mark.parametrize("lower", [0.0, 0.43, 0.5])
def test_the_kernel_fades_as_numpy_does(opacity: float, lower: float) -> None:
    for plane, alpha, below in (
        (ONE, OTHER, ONE.T.copy()),
        (OTHER, ONE, noise((256, 256), seed=3)),
    ):
        half = round(255 * (1 << 14) * (0.5 - lower))
        wanted = numpy_kernel.over_faded(plane, alpha, below, round(opacity * (1 << 14)), half)
        blend.over(plane, alpha, below, opacity, lower=lower)
        assert np.array_equal(below, wanted)


@needs_kernel
@pytest.mark.parametrize("weights", [(0.25, 0.75), (1.0, 1.0), (3.5, -0.4), (-60, 60), (1e9, -1e9)])
def test_the_kernel_weighs_as_numpy_does(weights: tuple[float, float]) -> None:
    fixed = [round(min(max(weight, -60), 60) * 65536) for weight in weights]
    made = blend.weighted_sum(ONE, weights[0], OTHER, weights[1])
    assert np.array_equal(made, numpy_kernel.weighted_sum(ONE, fixed[0], OTHER, fixed[1]))


def test_weights_that_sum_to_one_keep_equal_values() -> None:
    for share in np.linspace(0, 1, 97):
        assert np.array_equal(blend.weighted_sum(ONE, share, ONE.copy(), 1 - share), ONE)


def test_a_plane_may_be_mixed_in_place() -> None:
    view = OTHER.copy()
    blend.weighted_sum(ONE, 0.3, view, 0.7, view)
    assert np.array_equal(view, blend.weighted_sum(ONE, 0.3, OTHER, 0.7))


@needs_kernel
@pytest.mark.parametrize("width", [1, 7, 64, 257])
def test_the_kernel_recovers_alpha_as_numpy_does(width: int) -> None:
    on_white, on_black = (noise((19, width + 3, 4), seed=n)[:, :width] for n in range(2))
    made = blend.recover_alpha(on_white, on_black)
    assert np.array_equal(made, numpy_kernel.recover_alpha(on_white, on_black))


def test_alpha_is_recovered_from_what_shows_through() -> None:
    value, alpha = ONE, OTHER
    colour = np.minimum(value, alpha)
    full = np.full_like(value, 255)
    on_black = np.dstack([colour, colour, alpha, full])
    on_white = np.dstack([*(each + (255 - alpha) for each in (colour, colour, alpha)), full])
    made = blend.recover_alpha(on_white, on_black)
    assert np.array_equal(made, np.dstack([alpha, colour, colour, alpha]))


def test_translucent_pixels_have_their_own_alpha() -> None:
    # At an edge between pixels, Chromium leaves out what is behind.
    alpha = np.arange(256, dtype=np.uint8)[None]
    pixels = np.dstack([alpha // 2, alpha // 3, alpha, alpha])
    made = blend.recover_alpha(pixels, pixels)
    assert np.array_equal(made, np.dstack([alpha, alpha // 3, alpha // 2, alpha]))
