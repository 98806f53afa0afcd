"""Colour spaces of planes, and the weights of every conversion between them.

Weights are computed as fractions. Those to red, green and blue are exact in effect: no result
differs from the fraction rounded to nearest. Those to other planes are rounded once, to
`FRACTION_BITS` bits; the sum of all their errors is below a five-thousandth of a level.
"""

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import cache
from math import ceil, floor
from typing import Final, NamedTuple

FRACTION_BITS: Final = 21
LOW_BITS: Final = 22
_ONE: Final = 1 << FRACTION_BITS


class Matrix(Enum):
    """The shares of red and of blue in luma; that of green is the rest."""

    BT709 = (Fraction("0.2126"), Fraction("0.0722"))
    BT601 = (Fraction("0.299"), Fraction("0.114"))
    BT2020 = (Fraction("0.2627"), Fraction("0.0593"))
    SMPTE240M = (Fraction("0.212"), Fraction("0.087"))
    FCC = (Fraction("0.30"), Fraction("0.11"))

    @property
    def red(self) -> Fraction:
        """The share of red."""
        return self.value[0]

    @property
    def blue(self) -> Fraction:
        """The share of blue."""
        return self.value[1]

    @property
    def green(self) -> Fraction:
        """The share of green."""
        return 1 - self.red - self.blue


@dataclass(frozen=True)
class Colours:
    """Matrix and range of 8-bit planes."""

    matrix: Matrix
    is_full_range: bool = False

    @property
    def luma_levels(self) -> int:
        """Number of levels between black and white."""
        return 255 if self.is_full_range else 219

    @property
    def chroma_levels(self) -> int:
        """Number of levels between the ends of chroma."""
        return 255 if self.is_full_range else 224

    @property
    def black(self) -> int:
        """The level of black."""
        return 0 if self.is_full_range else 16


BT709_LIMITED: Final = Colours(Matrix.BT709)
"""The colours of our films: BT.709, limited range."""


class RgbWeights(NamedTuple):
    """From planes to red, green and blue.

    A colour is (luma * Y + n) / parts, rounded down, with a whole number n that depends on chroma
    alone: luma is a whole number of parts. n has 16 fractional bits for red and blue, and 38 for
    green, the last 22 in numbers of their own. Offsets include half a level for rounding, and 255
    levels of luma, so that nothing is below zero.
    """

    is_full_range: int
    red_red: int
    red_offset: int
    blue_blue: int
    blue_offset: int
    green_blue: int
    green_red: int
    green_offset: int
    green_blue_low: int
    green_red_low: int
    green_offset_low: int


class PlaneWeights(NamedTuple):
    """From planes of one colour space to another; offsets include half a level for rounding."""

    luma: int
    luma_blue: int
    luma_red: int
    luma_offset: int
    blue_blue: int
    blue_red: int
    blue_offset: int
    red_blue: int
    red_red: int
    red_offset: int


class RgbShares(NamedTuple):
    """The shares of luma, blue and red difference in red, green and blue; exact."""

    luma: Fraction
    red_red: Fraction
    green_blue: Fraction
    green_red: Fraction
    blue_blue: Fraction


@cache
def rgb_shares(colours: Colours) -> RgbShares:
    """Return how much one level of each plane adds to red, green and blue of 0 to 255."""
    matrix, per_chroma = colours.matrix, Fraction(255, colours.chroma_levels)
    red, blue = 2 * (1 - matrix.red) * per_chroma, 2 * (1 - matrix.blue) * per_chroma
    return RgbShares(
        luma=Fraction(255, colours.luma_levels),
        red_red=red,
        green_blue=-blue * matrix.blue / matrix.green,
        green_red=-red * matrix.red / matrix.green,
        blue_blue=blue,
    )


@cache
def rgb_weights(colours: Colours) -> RgbWeights:
    """Return the weights for red, green and blue."""
    shares = rgb_shares(colours)
    # 85/73 in limited range. In full range any number will do, if the kernel's sums fit 16 bits.
    luma, parts = shares.luma.as_integer_ratio() if shares.luma != 1 else (72, 72)
    zero = 255 * luma + parts * (Fraction(1, 2) - shares.luma * colours.black)
    red, blue = parts * shares.red_red, parts * shares.blue_blue
    green = [parts * each for each in (shares.green_blue, shares.green_red)]
    # Rounded up, so that no whole number comes out below itself.
    fixed = [
        ceil(each * (1 << (16 + LOW_BITS))) for each in (*green, zero - 128 * (green[0] + green[1]))
    ]
    return RgbWeights(
        colours.is_full_range,
        *_exact_line(red, zero - 128 * red),
        *_exact_line(blue, zero - 128 * blue),
        *(each >> LOW_BITS for each in fixed),
        *(each & ((1 << LOW_BITS) - 1) for each in fixed),
    )


def _exact_line(slope: Fraction, start: Fraction) -> tuple[int, int]:
    """Return slope and start with 16 bits that give the same whole number for all 256 samples."""
    wanted = [floor(slope * sample + start) << 16 for sample in range(256)]
    nearest = round(slope * (1 << 16))
    for weight in sorted(range(nearest - 16, nearest + 17), key=lambda each: abs(each - nearest)):
        rests = [level - weight * sample for sample, level in enumerate(wanted)]
        if max(rests) <= min(rests) + (1 << 16) - 1:
            return weight, max(rests)
    raise ValueError(f"no weight of 16 bits is exact for {slope}")


class PlaneShares(NamedTuple):
    """The share of each plane in each plane of another colour space; exact."""

    luma: Fraction
    luma_blue: Fraction
    luma_red: Fraction
    blue_blue: Fraction
    blue_red: Fraction
    red_blue: Fraction
    red_red: Fraction


@cache
def plane_shares(given: Colours, wanted: Colours) -> PlaneShares:
    """Return how much one level of each given plane adds to each wanted plane."""
    source, target = rgb_shares(given), wanted.matrix
    # Through red, green and blue of 0 to 255, without clipping.
    blue = (
        target.green * source.green_blue + target.blue * source.blue_blue,
        source.blue_blue,
        Fraction(0),
    )
    red = (
        target.red * source.red_red + target.green * source.green_red,
        Fraction(0),
        source.red_red,
    )
    per_luma = Fraction(wanted.luma_levels, 255)
    per_blue = Fraction(wanted.chroma_levels, 255) / (2 * (1 - target.blue))
    per_red = Fraction(wanted.chroma_levels, 255) / (2 * (1 - target.red))
    return PlaneShares(
        luma=source.luma * per_luma,
        luma_blue=blue[0] * per_luma,
        luma_red=red[0] * per_luma,
        blue_blue=(blue[1] - blue[0]) * per_blue,
        blue_red=(red[1] - red[0]) * per_blue,
        red_blue=(blue[2] - blue[0]) * per_red,
        red_red=(red[2] - red[0]) * per_red,
    )


@cache
def plane_weights(given: Colours, wanted: Colours) -> PlaneWeights:
    """Return the weights for planes of another colour space."""
    shares = plane_shares(given, wanted)
    half = Fraction(1, 2)
    of_blue, of_red = shares.blue_blue + shares.blue_red, shares.red_blue + shares.red_red
    of_luma = shares.luma * given.black + 128 * (shares.luma_blue + shares.luma_red)
    return PlaneWeights(
        luma=_fixed(shares.luma),
        luma_blue=_fixed(shares.luma_blue),
        luma_red=_fixed(shares.luma_red),
        luma_offset=_fixed(half + wanted.black - of_luma),
        blue_blue=_fixed(shares.blue_blue),
        blue_red=_fixed(shares.blue_red),
        blue_offset=_fixed(half + 128 - 128 * of_blue),
        red_blue=_fixed(shares.red_blue),
        red_red=_fixed(shares.red_red),
        red_offset=_fixed(half + 128 - 128 * of_red),
    )


def _fixed(value: Fraction) -> int:
    return round(value * _ONE)
