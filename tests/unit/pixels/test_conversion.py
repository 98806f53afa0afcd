"""Every conversion, for every colour there is: by the kernel, in numpy, and in exact fractions."""

import hashlib
from collections.abc import Iterator
from fractions import Fraction
from itertools import islice, product
from math import lcm

import numpy as np
import pytest
from numpy.typing import NDArray

from framekiln.pixels import conversion, native, numpy_kernel
from framekiln.pixels.colours import (
    BT709_LIMITED,
    LOW_BITS,
    Colours,
    Matrix,
    plane_shares,
    plane_weights,
    rgb_shares,
    rgb_weights,
)
from framekiln.pixels.conversion import Planes

Pixels = NDArray[np.uint8]

EVERY_COLOURS = [Colours(matrix, is_full) for matrix, is_full in product(Matrix, (False, True))]
LEVELS = np.arange(256, dtype=np.uint8)


def name_of(colours: Colours) -> str:
    return f"{colours.matrix.name}-{'full' if colours.is_full_range else 'limited'}"


# Both ends of 0 to 255 are in it.
SAMPLE_EVERY = 5
EVERYWHERE = "4b7ac7473b0ad2f450198cfec1fa7747f996b86c7b19e2bde7ea4c8d201fd408"
needs_kernel = pytest.mark.skipif(
    not conversion.is_native(),
    reason="the native kernel was not built: no C compiler when `make setup` ran",
)


def squares() -> Iterator[Pixels]:
    """Yield 256 pictures; together they have one square of four pixels for each RGB colour."""
    rgba = np.full((512, 512, 4), 255, np.uint8)
    rgba[..., 0] = LEVELS.repeat(2)[:, None]
    rgba[..., 1] = LEVELS.repeat(2)[None, :]
    for blue in LEVELS:
        rgba[..., 2] = blue
        yield rgba


class TestPixelsToPlanes:
    @needs_kernel
    def test_every_colour_gets_the_same_planes_from_the_kernel_as_in_numpy(self) -> None:
        for rgba in squares():
            colours = rgba[::2, ::2].astype(np.int64)
            red, green, blue = (colours[..., n] for n in range(3))
            luma = numpy_kernel.luma_of(red, green, blue, 255)
            sums = (4 * red, 4 * green, 4 * blue, 1020)
            out = Planes.empty(512, 512)
            conversion.rgba_to_yuv420(rgba, out)
            assert np.array_equal(out.blue, numpy_kernel.blue_of(*sums))
            assert np.array_equal(out.red, numpy_kernel.red_of(*sums))
            for corner in product((0, 1), repeat=2):
                assert np.array_equal(out.luma[corner[0] :: 2, corner[1] :: 2], luma)

    def test_numpy_conversion_equals_bt709_in_fractions(self) -> None:
        # All three are linear in red, green, blue and alpha before they are rounded, so equality
        # for one of each is equality for all.
        matrix = Matrix.BT709
        weights = np.eye(4, dtype=np.int64)
        for (red, green, blue, alpha), share in zip(
            weights.tolist(), (matrix.red, matrix.green, matrix.blue, Fraction(0)), strict=True
        ):
            luma = Fraction(219 * (1063 * red + 3576 * green + 361 * blue) + 80_000 * alpha)
            assert luma / 1_275_000 == Fraction(219, 255) * share + Fraction(16, 255) * alpha
            apart = 28 * (4639 * blue - 1063 * red - 3576 * green) + 32 * 4639 * alpha
            wanted = Fraction(224, 255) * (blue - share) / (2 * (1 - matrix.blue))
            assert Fraction(apart, 255 * 4639) == (wanted + Fraction(128, 255) * alpha) / 4
            apart = 28 * (3937 * red - 3576 * green - 361 * blue) + 32 * 3937 * alpha
            wanted = Fraction(224, 255) * (red - share) / (2 * (1 - matrix.red))
            assert Fraction(apart, 255 * 3937) == (wanted + Fraction(128, 255) * alpha) / 4

    @needs_kernel
    @pytest.mark.parametrize(
        ("width", "height"), [(64, 36), (65, 37), (1, 1), (2, 1), (1, 2), (515, 3), (1026, 2)]
    )
    def test_pictures_of_any_size_are_converted_alike_by_both(
        self, width: int, height: int
    ) -> None:
        rgba = noise((height, width, 4))
        for given in (rgba, wide(rgba)):
            out = Planes.empty(width, height)
            conversion.rgba_to_yuv420(given, out)
            assert_same(out.all, numpy_kernel.rgb_to_yuv420(rgba[..., :3]))
            conversion.bgra_to_yuv420(given, out)
            assert_same(out.all, numpy_kernel.rgb_to_yuv420(rgba[..., 2::-1]))
            half = conversion.premultiplied_to_yuv420(given, out)
            assert_same((*out.all, half), numpy_kernel.premultiplied_to_yuv420(rgba))

    @needs_kernel
    def test_every_alpha_is_blended_alike_by_both(self) -> None:
        # Luma and chroma are linear in colour and alpha; what could differ is rounding.
        for alpha in range(256):
            rgba = noise((64, 64, 4), seed=alpha)
            rgba[..., 3] = alpha
            rgba[..., :3] = np.minimum(rgba[..., :3], alpha)
            out = Planes.empty(64, 64)
            half = conversion.premultiplied_to_yuv420(rgba, out)
            assert_same((*out.all, half), numpy_kernel.premultiplied_to_yuv420(rgba))
            assert (half == alpha).all()

    def test_alpha_of_an_opaque_picture_changes_nothing(self) -> None:
        rgba = noise((32, 32, 4))
        rgba[..., 3] = 255
        out = Planes.empty(32, 32)
        half = conversion.premultiplied_to_yuv420(rgba, out)
        assert_same(out.all, numpy_kernel.rgb_to_yuv420(rgba[..., :3]))
        assert (half == 255).all()


class TestPlanesToPixels:
    @needs_kernel
    def test_every_colour_gets_the_same_pixels_from_the_kernel_as_in_numpy(self) -> None:
        for planes in every_plane():
            out = np.empty((256, 256, 4), np.uint8)
            conversion.yuv_to_rgba(planes, BT709_LIMITED, out)
            assert np.array_equal(out, numpy_kernel.yuv_to_rgba(planes.all, None, BT709_LIMITED))

    def test_every_colour_is_rounded_to_nearest(self) -> None:
        """In integers: 1,067 of 50 million values were off by one, within 0.501."""
        shares = rgb_shares(BT709_LIMITED)
        # Of all shares; levels of it are whole numbers.
        unit = 73 * 112_000 * 149 * 8
        luma, red_red, green_blue, green_red, blue_blue = (int(each * unit) for each in shares)
        assert all((each * unit).denominator == 1 for each in shares)
        blue, red = LEVELS.astype(np.int64)[:, None] - 128, LEVELS.astype(np.int64)[None, :] - 128
        parts = (red_red * red + 0 * blue, green_blue * blue + green_red * red, blue_blue * blue)
        for planes in every_plane():
            out = np.empty((256, 256, 4), np.uint8)
            conversion.yuv_to_rgba(planes, BT709_LIMITED, out)
            bright = luma * (int(planes.luma[0, 0]) - BT709_LIMITED.black)
            for channel, part in enumerate(parts):
                exact = np.clip(bright + part, 0, 255 * unit)
                errors = 2 * (out[..., channel].astype(np.int64) * unit - exact)
                # A tie goes up.
                assert errors.max() <= unit
                assert errors.min() > -unit

    @needs_kernel
    @pytest.mark.parametrize("colours", EVERY_COLOURS, ids=name_of)
    def test_every_matrix_and_range_and_layout_is_converted_alike_by_both(
        self, colours: Colours
    ) -> None:
        # The weights are the only difference to the test of every colour; what could differ is an
        # overflow, and sums are largest at the ends.
        for halves, size in product(((1, 1), (2, 1), (2, 2)), ((70, 34), (515, 35), (1, 1))):
            planes = mixed(size, halves)
            alpha = noise((size[1], size[0]), seed=9)
            for cover in (None, alpha):
                out = np.empty((size[1], size[0], 4), np.uint8)
                conversion.yuv_to_rgba(planes, colours, out, alpha=cover)
                wanted = numpy_kernel.yuv_to_rgba(planes.all, cover, colours)
                assert np.array_equal(out, wanted)

    @pytest.mark.parametrize("colours", EVERY_COLOURS, ids=name_of)
    def test_weights_are_exact_for_every_pair_of_chroma_samples(self, colours: Colours) -> None:
        """Luma is added in whole numbers, so this is every colour of every matrix and range."""
        shares, w = rgb_shares(colours), rgb_weights(colours)
        luma, parts = (72, 72) if colours.is_full_range else (85, 73)
        assert shares.luma == Fraction(luma, parts)
        blue, red = LEVELS.astype(np.int64)[:, None], LEVELS.astype(np.int64)[None, :]
        low = w.green_blue_low * blue + w.green_red_low * red + w.green_offset_low
        green = w.green_blue * blue + w.green_red * red + w.green_offset + (low >> LOW_BITS)
        assert 0 <= low.min() <= low.max() < 1 << 32
        nothing = Fraction(0)
        for of_blue, of_red, found in (
            (nothing, shares.red_red, w.red_red * red + w.red_offset + 0 * blue),
            (shares.green_blue, shares.green_red, green),
            (shares.blue_blue, nothing, w.blue_blue * blue + w.blue_offset + 0 * red),
        ):
            unit = 2 * lcm(of_blue.denominator, of_red.denominator)
            numerator = int(of_blue * unit) * (blue - 128) + int(of_red * unit) * (red - 128)
            half = unit // 2 * (parts - 2 * luma * colours.black)
            wanted = (parts * numerator + half) // unit + 255 * luma
            assert np.array_equal(found >> 16, wanted)
            # With luma, it fits 16 bits.
            assert 0 <= wanted.min() <= wanted.max() + 255 * luma < 1 << 16

    def test_pure_colours_survive_within_one_level(self) -> None:
        pure = np.array(list(product((0, 255), repeat=3)), np.uint8)
        for colour in pure:
            rgba = np.full((2, 2, 4), [*colour, 255], np.uint8)
            planes = Planes.empty(2, 2)
            conversion.rgba_to_yuv420(rgba, planes)
            out = np.empty_like(rgba)
            conversion.yuv_to_rgba(planes, BT709_LIMITED, out)
            assert np.abs(out.astype(int) - rgba).max() <= 1

    def test_green_matches_exact_arithmetic(self) -> None:
        planes = Planes.empty(2, 2)
        conversion.rgba_to_yuv420(np.full((2, 2, 4), [0, 255, 0, 255], np.uint8), planes)
        assert [int(plane[0, 0]) for plane in planes.all] == [173, 42, 26]
        out = np.empty((2, 2, 4), np.uint8)
        conversion.yuv_to_rgba(planes, BT709_LIMITED, out)
        assert out[0, 0].tolist() == [0, 255, 1, 255]


class TestPlanesToPlanes:
    @needs_kernel
    @pytest.mark.parametrize(
        "given", [Colours(Matrix.BT601), Colours(Matrix.BT601, True)], ids=name_of
    )
    def test_every_colour_gets_the_same_planes_from_the_kernel_as_in_numpy(
        self, given: Colours
    ) -> None:
        weights, out = plane_weights(given, BT709_LIMITED), Planes.empty(512, 512)
        for planes in every_plane():
            doubled = Planes(np.full((512, 512), planes.luma[0, 0]), planes.blue, planes.red)
            conversion.convert_planes(doubled, given, BT709_LIMITED, out)
            luma, *chroma = numpy_kernel.yuv420_to_yuv420(planes.all, weights)
            assert_same((out.blue, out.red), tuple(chroma))
            for corner in product((0, 1), repeat=2):
                assert np.array_equal(out.luma[corner[0] :: 2, corner[1] :: 2], luma)

    @needs_kernel
    @pytest.mark.parametrize("given", EVERY_COLOURS, ids=name_of)
    def test_every_matrix_and_range_is_converted_alike_by_both(self, given: Colours) -> None:
        for size in ((70, 34), (515, 35), (1, 1)):
            planes, out = mixed(size, (2, 2)), Planes.empty(*size)
            conversion.convert_planes(planes, given, BT709_LIMITED, out)
            assert_same(
                out.all,
                numpy_kernel.yuv420_to_yuv420(planes.all, plane_weights(given, BT709_LIMITED)),
            )

    @pytest.mark.parametrize("given", EVERY_COLOURS, ids=name_of)
    def test_grey_stays_grey_and_equally_bright(self, given: Colours) -> None:
        grey = np.repeat(LEVELS[None, :], 2, axis=0).repeat(2, axis=1)
        chroma = np.full((1, 256), 128, np.uint8)
        out = Planes.empty(512, 2)
        conversion.convert_planes(Planes(grey, chroma, chroma), given, BT709_LIMITED, out)
        assert (out.blue == 128).all()
        assert (out.red == 128).all()
        share = Fraction(219, given.luma_levels)
        wanted = [16 + share * (level - given.black) for level in range(256)]
        shown = out.luma[0, ::2].tolist()
        assert all(
            abs(a - min(max(b, 0), 255)) <= Fraction(1, 2)
            for a, b in zip(shown, wanted, strict=True)
        )

    @pytest.mark.parametrize("given", EVERY_COLOURS, ids=name_of)
    def test_conversion_between_planes_equals_conversion_through_rgb(self, given: Colours) -> None:
        there, back = plane_shares(given, BT709_LIMITED), rgb_shares(BT709_LIMITED)
        through = rgb_shares(given)
        # One level of blue difference, as red, green and blue: directly, and through BT.709.
        assert back.luma * there.luma_blue + back.red_red * there.red_blue == 0
        assert back.luma * there.luma_blue + back.blue_blue * there.blue_blue == through.blue_blue
        assert (
            back.luma * there.luma_red
            + back.green_blue * there.blue_red
            + back.green_red * there.red_red
            == through.green_red
        )


@needs_kernel
def test_the_kernel_gives_the_same_bytes_on_every_processor() -> None:
    """The sum was the same with AVX2 and without; on any other processor it must be, too.

    A sample: that the kernel and numpy agree on every colour is tested above.
    """
    sums = hashlib.sha256()
    out, pixels = Planes.empty(512, 512), np.empty((256, 256, 4), np.uint8)
    pictures = zip(squares(), every_plane(), strict=True)
    for rgba, planes in islice(pictures, 0, None, SAMPLE_EVERY):
        doubled = Planes(np.full((512, 512), planes.luma[0, 0]), planes.blue, planes.red)
        conversion.rgba_to_yuv420(rgba, out)
        sums.update(b"".join(plane.tobytes() for plane in out.all))
        conversion.bgra_to_yuv420(rgba, out)
        sums.update(b"".join(plane.tobytes() for plane in out.all))
        for colours in (BT709_LIMITED, Colours(Matrix.BT601, True), Colours(Matrix.BT2020)):
            conversion.yuv_to_rgba(planes, colours, pixels)
            sums.update(pixels.tobytes())
        conversion.convert_planes(doubled, Colours(Matrix.BT601), BT709_LIMITED, out)
        sums.update(b"".join(plane.tobytes() for plane in out.all))
    assert sums.hexdigest() == EVERYWHERE


def test_the_setting_selects_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(native.SWITCH, "0")
    native.library.cache_clear()
    try:
        assert not conversion.is_native()
        rgba, out = noise((6, 8, 4)), Planes.empty(8, 6)
        conversion.bgra_to_yuv420(rgba, out)
        assert_same(out.all, numpy_kernel.rgb_to_yuv420(rgba[..., 2::-1]))
        back = np.empty_like(rgba)
        conversion.yuv_to_rgba(out, BT709_LIMITED, back)
        assert np.array_equal(back, numpy_kernel.yuv_to_rgba(out.all, None, BT709_LIMITED))
    finally:
        native.library.cache_clear()


def every_plane() -> Iterator[Planes]:
    """Yield 256 pictures; together they have every level of luma with every chroma."""
    blue, red = np.meshgrid(LEVELS, LEVELS, indexing="ij")
    for level in LEVELS:
        yield Planes(np.full((256, 256), level), blue.copy(), red.copy())


def mixed(size: tuple[int, int], halves: tuple[int, int]) -> Planes:
    """Return planes of noise whose first rows are the ends of what a byte can be."""
    width, height = size
    across, down = -(-width // halves[0]), -(-height // halves[1])
    planes = [noise((height, width)), noise((down, across), seed=1), noise((down, across), seed=2)]
    for number, plane in enumerate(planes):
        ends = np.array([0, 255], np.uint8)
        plane[:8] = ends[(np.arange(plane.shape[1]) >> number) % 2]
    return Planes(*planes)


def noise(shape: tuple[int, ...], *, seed: int = 0) -> Pixels:
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


def wide(pixels: Pixels) -> Pixels:
    """Return the same picture where rows lie further apart."""
    height, width, channels = pixels.shape
    room = np.zeros((height, width + 5, channels), np.uint8)
    room[:, :width] = pixels
    return room[:, :width]


def assert_same(made: tuple[Pixels, ...], wanted: tuple[Pixels, ...]) -> None:
    for a, b in zip(made, wanted, strict=True):
        assert np.array_equal(a, b)
