"""The conversions of `kernel.c` in numpy: its fallback and its reference in tests.

It states every formula directly. Written to be read, not to be fast.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import lcm
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from framekiln.pixels.colours import FRACTION_BITS, Colours, PlaneWeights, rgb_shares

Pixels = NDArray[np.uint8]
Number = TypeVar("Number", bound=np.generic)
_Numbers = NDArray[np.int64]
_Floats = NDArray[np.float32]


def luma_of(red: _Numbers, green: _Numbers, blue: _Numbers, alpha: _Numbers | int) -> Pixels:
    """Return luma in BT.709, limited range; colours are premultiplied."""
    # 16 a/255 + 219/255 (0.2126 R + 0.7152 G + 0.0722 B)
    weighted = 1063 * red + 3576 * green + 361 * blue
    return _rounded(219 * weighted + 80_000 * alpha, 1_275_000)


def blue_of(red: _Numbers, green: _Numbers, blue: _Numbers, alpha: _Numbers | int) -> Pixels:
    """Return the blue difference for sums over four pixels."""
    # 128 a/255 + 224/255 (B - luma) / 1.8556
    apart = 4639 * blue - 1063 * red - 3576 * green
    return _rounded(28 * apart + 32 * 4639 * alpha, 255 * 4639)


def red_of(red: _Numbers, green: _Numbers, blue: _Numbers, alpha: _Numbers | int) -> Pixels:
    """Return the red difference for sums over four pixels."""
    # 128 a/255 + 224/255 (R - luma) / 1.5748
    apart = 3937 * red - 3576 * green - 361 * blue
    return _rounded(28 * apart + 32 * 3937 * alpha, 255 * 3937)


def rgb_to_yuv420(rgb: Pixels) -> tuple[Pixels, Pixels, Pixels]:
    """Return the planes of opaque red, green and blue."""
    planes = _yuv420(rgb.astype(np.int64), None)
    return planes[0], planes[1], planes[2]


def premultiplied_to_yuv420(rgba: Pixels) -> tuple[Pixels, Pixels, Pixels, Pixels]:
    """Return the premultiplied planes, and the alpha of chroma."""
    numbers = rgba.astype(np.int64)
    alpha = numbers[..., 3]
    planes = _yuv420(numbers[..., :3], alpha)
    return (*planes, ((_sums(alpha) + 2) // 4).astype(np.uint8))


def _yuv420(rgb: _Numbers, alpha: _Numbers | None) -> tuple[Pixels, Pixels, Pixels]:
    colour = (rgb[..., 0], rgb[..., 1], rgb[..., 2])
    sums = (_sums(colour[0]), _sums(colour[1]), _sums(colour[2]))
    cover, four = (255, 1020) if alpha is None else (alpha, _sums(alpha))
    return luma_of(*colour, cover), blue_of(*sums, four), red_of(*sums, four)


def yuv_to_rgba(
    planes: tuple[Pixels, Pixels, Pixels], alpha: Pixels | None, colours: Colours
) -> Pixels:
    """Return red, green, blue and alpha; each chroma sample applies to all pixels of its square."""
    height, width = planes[0].shape
    luma, blue, red = (_spread(plane, height, width).astype(np.int64) for plane in planes)
    shares, nothing = rgb_shares(colours), Fraction(0)
    made = np.empty((height, width, 4), np.uint8)
    for channel, of_blue, of_red in (
        (0, nothing, shares.red_red),
        (1, shares.green_blue, shares.green_red),
        (2, shares.blue_blue, nothing),
    ):
        denominator = lcm(*(each.denominator for each in (shares.luma, of_blue, of_red)))
        numerator = (
            int(shares.luma * denominator) * (luma - colours.black)
            + int(of_blue * denominator) * (blue - 128)
            + int(of_red * denominator) * (red - 128)
        )
        made[..., channel] = np.minimum(_levels(numerator, denominator), 255)
    made[..., 3] = 255 if alpha is None else alpha
    return made


def yuv420_to_yuv420(
    planes: tuple[Pixels, Pixels, Pixels], weights: PlaneWeights
) -> tuple[Pixels, Pixels, Pixels]:
    """Return planes of another colour space. Chroma depends on chroma alone: grey stays grey."""
    luma, blue, red = (plane.astype(np.int64) for plane in planes)
    shift = weights.luma_blue * blue + weights.luma_red * red + weights.luma_offset
    return (
        _cut(weights.luma * luma + _spread(shift, *luma.shape)),
        _cut(weights.blue_blue * blue + weights.blue_red * red + weights.blue_offset),
        _cut(weights.red_blue * blue + weights.red_red * red + weights.red_offset),
    )


def _rounded(numerator: _Numbers, denominator: int) -> Pixels:
    return _levels(numerator, denominator).astype(np.uint8)


def _levels(numerator: _Numbers, denominator: int) -> _Numbers:
    """Return quotients rounded to the nearest level, ties up, never below zero."""
    quotient: _Numbers = (2 * np.maximum(numerator, 0) + denominator) // (2 * denominator)
    return quotient


def _cut(fixed: _Numbers) -> Pixels:
    whole: _Numbers = np.clip(fixed >> FRACTION_BITS, 0, 255)
    return whole.astype(np.uint8)


def _sums(values: _Numbers) -> _Numbers:
    """Return the sum of each square of four; an odd last row or column counts twice."""
    height, width = values.shape
    even = np.pad(values, ((0, height % 2), (0, width % 2)), "edge")
    return even[::2, ::2] + even[::2, 1::2] + even[1::2, ::2] + even[1::2, 1::2]


def _spread(plane: NDArray[Number], height: int, width: int) -> NDArray[Number]:
    """Return a plane of half the size at full size: each sample is repeated over its square."""
    if plane.shape[0] < height:
        plane = plane.repeat(2, axis=0)[:height]
    return plane.repeat(2, axis=1)[:, :width] if plane.shape[1] < width else plane


def premultiply(plane: Pixels, alpha: Pixels) -> Pixels:
    """Return the plane multiplied by alpha, rounded to nearest."""
    return _rounded(plane.astype(np.int64) * alpha, 255)


def over(plane: Pixels, alpha: Pixels, below: Pixels) -> Pixels:
    """Return a premultiplied plane blended over another one."""
    total: _Numbers = plane.astype(np.int64) + premultiply(below, 255 - alpha)
    return np.minimum(total, 255).astype(np.uint8)


def over_faded(plane: Pixels, alpha: Pixels, below: Pixels, opacity: int, half: int) -> Pixels:
    """Return a premultiplied plane blended over another one; opacity has 14 fractional bits.

    A `half` of 255 << 14 rounds to nearest, less of it down.
    """
    left = (255 << 14) - alpha.astype(np.int64) * opacity
    total: _Numbers = 255 * plane.astype(np.int64) * opacity + below * left
    return np.minimum(255, (total + half) // (255 << 14)).astype(np.uint8)


def weighted_sum(one: Pixels, one_weight: int, other: Pixels, other_weight: int) -> Pixels:
    """Return the sum of both; weights have 16 fractional bits."""
    total = one.astype(np.int64) * one_weight + other.astype(np.int64) * other_weight
    whole: _Numbers = np.clip((total + (1 << 15)) >> 16, 0, 255)
    return whole.astype(np.uint8)


def unpremultiply(plane: Pixels, alpha: Pixels, nothing: int) -> Pixels:
    """Return the plane divided by alpha, rounded to nearest; `nothing` where alpha is zero."""
    parts = np.maximum(alpha, 1).astype(np.int64)
    whole = (2 * 255 * plane.astype(np.int64) + parts) // (2 * parts)
    return np.where(alpha > 0, np.minimum(whole, 255), nothing).astype(np.uint8)


def recover_alpha(on_white: Pixels, on_black: Pixels) -> Pixels:
    """Return premultiplied RGBA of BGRA drawn on white and on black."""
    behind = 255 - on_white[..., 3:].astype(np.int64)
    apart = on_white[..., :3] + behind - on_black[..., :3]
    alpha = 255 - np.clip(apart, 0, 255).min(axis=2, keepdims=True)
    colours = np.minimum(on_black[..., 2::-1], alpha)
    return np.concatenate([colours, alpha], axis=2).astype(np.uint8)


def warp(
    plane: Pixels, steps: tuple[int, ...], width: int, height: int, *, extends: bool
) -> Pixels:
    """Return a plane of that size; `steps` map its pixels to the source, with 32 fractional bits.

    Positions are rounded to 1/256 of a pixel.
    """
    x, y = np.arange(width, dtype=np.int64)[None, :], np.arange(height, dtype=np.int64)[:, None]
    left, share_x = _rounded_position(steps[0] * x + steps[1] * y + steps[2])
    top, share_y = _rounded_position(steps[3] * x + steps[4] * y + steps[5])

    def at(across: _Numbers, down: _Numbers) -> _Numbers:
        inside = (across >= 0) & (across < plane.shape[1]) & (down >= 0) & (down < plane.shape[0])
        nearest = plane[
            np.clip(down, 0, plane.shape[0] - 1), np.clip(across, 0, plane.shape[1] - 1)
        ]
        shown: _Numbers = np.where(inside | extends, nearest, 0).astype(np.int64)
        return shown

    above: _Numbers = at(left, top) * (256 - share_x) + at(left + 1, top) * share_x
    below: _Numbers = at(left, top + 1) * (256 - share_x) + at(left + 1, top + 1) * share_x
    total: _Numbers = above * (256 - share_y) + below * share_y + (1 << 15)
    return (total >> 16).astype(np.uint8)


def _rounded_position(position: _Numbers) -> tuple[_Numbers, _Numbers]:
    """Return the pixel before the position, and the share of the one after it, of 256."""
    rounded = position + (1 << 23)
    return rounded >> 32, (rounded >> 24) & 255


def surface(across: _Floats, down: _Floats, edges: Sequence[_Floats], corners: _Floats) -> Pixels:
    """Return the surface between four edges; both shares grow from 0 to 1."""
    top, bottom, left, right = edges
    u, v = across[None], down[:, None]
    bent = (
        (1 - u) * (1 - v) * corners[0]
        + u * (1 - v) * corners[1]
        + (1 - u) * v * corners[2]
        + u * v * corners[3]
    )
    smooth: _Floats = (
        (1 - v) * top + v * bottom + (1 - u) * left[:, None] + u * right[:, None] - bent
    )
    rounded: Pixels = np.clip(smooth + np.float32(0.5), 0, 255).astype(np.uint8)
    return rounded


def block_sums(one: Pixels, other: Pixels, side: int) -> NDArray[np.uint32]:
    """Return both sums, the sum of all squares, and that of the products, for each block."""
    a, b = one.astype(np.int64), other.astype(np.int64)
    parts = [_in_blocks(part, side, side) for part in (a, b, a * a + b * b, a * b)]
    return np.stack(parts, axis=-1).astype(np.uint32)


def outside_sums(one: Pixels, other: Pixels, rows: int, columns: int) -> NDArray[np.uint32]:
    """Return for each block how far pixels lie outside of the range of the other's 5x5 pixels."""
    height, width = other.shape
    padded = np.pad(other, 2, "edge")
    near = [padded[at : at + height] for at in range(5)]
    low, high = np.minimum.reduce(near), np.maximum.reduce(near)
    low = np.minimum.reduce([low[:, at : at + width] for at in range(5)])
    high = np.maximum.reduce([high[:, at : at + width] for at in range(5)])
    inside = np.clip(one, low, high)
    return _in_blocks(np.abs(one.astype(np.int64) - inside), rows, columns).astype(np.uint32)


def _in_blocks(values: _Numbers, rows: int, columns: int) -> _Numbers:
    tops, lefts = np.arange(0, values.shape[0], rows), np.arange(0, values.shape[1], columns)
    sums: _Numbers = np.add.reduceat(np.add.reduceat(values, tops, axis=0), lefts, axis=1)
    return sums
