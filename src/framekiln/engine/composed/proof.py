"""Compares composed frames with Chromium's own, and chooses the frames to compare."""

from dataclasses import dataclass
from random import Random
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from framekiln.capture.framebuffer import Pixels
from framekiln.compositor.picture import Picture, Plane
from framekiln.compositor.rect import NOWHERE, PixelRect
from framekiln.engine.composed.errors import ComposedFramesDiffer
from framekiln.engine.film_plan import FilmSlice
from framekiln.pixels.colours import BT709_LIMITED
from framekiln.pixels.comparison import block_sizes, block_sums, outside_sums
from framekiln.pixels.conversion import Planes, bgra_to_yuv420, rgba_to_yuv420, yuv_to_rgba

MIN_SSIM: Final = 0.98
MAX_BLOCK: Final = 8.0
"""The mean difference in any block of 8x8 pixels of a plane, beyond the range of the neighbours:
Chromium moves glyphs to whole rows of pixels, so text may lie one pixel apart.
"""
MAX_LINE: Final = 16.0
"""The same along 32 pixels of luma in a row or column. A thin pale line, such as a border of a
table, is little in a block.
"""

_VERY_CLOSE: Final = 0.995
_SEED: Final = 15
# What is wrong in a later slice is most often wrong in the first one, too.
_RANDOM_FRAMES: Final = 3
_LATER_RANDOM_FRAMES: Final = 2
_MAX_BOUNDARIES: Final = 12
_BLOCK: Final = 8
_LINE: Final = 32
# Blocks and lines of all planes begin at its multiples, in pixels of luma.
_STEP: Final = 64
# Two pixels of chroma: so far neighbours count.
_AROUND: Final = 4
_C1: Final = (0.01 * 255) ** 2
_C2: Final = (0.03 * 255) ** 2


@dataclass(frozen=True)
class Likeness:
    """How alike two frames are: as a whole, and where blocks and lines differ most."""

    ssim: float
    block: float
    line: float

    @property
    def is_close(self) -> bool:
        """Whether nobody would see a difference."""
        return self.ssim >= MIN_SSIM and self.block <= MAX_BLOCK and self.line <= MAX_LINE


def checked_frames(slice_: FilmSlice, changes: list[int], *, frame_count: int) -> frozenset[int]:
    """Return the frames to compare: the first, the film's last, both sides of changes, others.

    The last frame of a slice looks much like the first one of the next.
    """
    frames = range(slice_.first_frame, slice_.end_frame)
    choose = Random(_SEED + slice_.number)  # noqa: S311 -- the same frames in every run
    sides = [side for at in changes for side in (at - 1, at)]
    if len(sides) > _MAX_BOUNDARIES:
        sides = choose.sample(sides, _MAX_BOUNDARIES)
    random_count = _LATER_RANDOM_FRAMES if slice_.number else _RANDOM_FRAMES
    some = choose.sample(frames, min(random_count, len(frames)))
    ends = {frames[0]} | ({frames[-1]} if slice_.end_frame == frame_count else set())
    return frozenset({*ends, *some, *(side for side in sides if side in frames)})


def compare(composed: Picture, filmed: Pixels) -> Likeness:
    """Compare a composed frame with Chromium's, in the planes that are encoded.

    Planes of a video may hold colours that screens, and so Chromium, cannot show: frames that are
    not very close are compared once more with these brought to the nearest that can be seen.
    """
    height, width = filmed.shape[:2]
    theirs = Planes.empty(width, height)
    bgra_to_yuv420(filmed, theirs)
    ours = Planes(composed.y, composed.u, composed.v)
    likeness = _likeness(ours, theirs)
    if likeness.ssim >= _VERY_CLOSE and likeness.is_close:
        return likeness
    return _likeness(_seen(ours), _seen(theirs))


def _likeness(ours: Planes, theirs: Planes) -> Likeness:
    part = _differing_part(ours, theirs)
    if part.is_empty:
        return Likeness(1.0, 0.0, 0.0)
    pairs = [*zip(_cut(ours, part), _cut(theirs, part), strict=True)]
    places, likeness = [_worst_places(*pair) for pair in pairs], _block_likeness(*pairs[0])
    # Equal blocks have a likeness of 1.
    apart = float((1 - likeness).sum()) / block_sizes(ours.luma, _BLOCK).size
    return Likeness(1 - apart, max(block for block, _ in places), places[0][1])


def _differing_part(ours: Planes, theirs: Planes) -> PixelRect:
    """Return whole blocks and lines that have all differing pixels, with those around them."""
    part = NOWHERE
    for scale, one, other in zip((1, 2, 2), ours.all, theirs.all, strict=True):
        left, top, width, height = (
            scale * edge for edge in cv2.boundingRect(cv2.absdiff(one, other))
        )
        if width:
            rect = PixelRect(left, top, left + width, top + height)
            part = rect if part.is_empty else part.union(rect)
    if part.is_empty:
        return part
    left, top = (max(0, edge - _AROUND) // _STEP * _STEP for edge in part[:2])
    return PixelRect(left, top, part.right + _AROUND, part.bottom + _AROUND)


def _cut(planes: Planes, part: PixelRect) -> tuple[Plane, Plane, Plane]:
    """Return a part of the planes, up to the next whole block and line or their end."""
    (left, top), (right, bottom) = part[:2], (-(-edge // _STEP) * _STEP for edge in part[2:])
    half = np.s_[top // 2 : bottom // 2, left // 2 : right // 2]
    return planes.luma[top:bottom, left:right], planes.blue[half], planes.red[half]


def check(number: int, composed: Picture, filmed: Pixels) -> None:
    """Raise `ComposedFramesDiffer` if a composed frame does not look like Chromium's."""
    likeness = compare(composed, filmed)
    if not likeness.is_close:
        raise ComposedFramesDiffer(
            f"frame {number} has an SSIM of {likeness.ssim:.4f} and differs by"
            f" {likeness.block:.1f} in its worst block and {likeness.line:.1f} along a line"
        )


def _seen(planes: Planes) -> Planes:
    """Return planes without colours that RGB does not have."""
    height, width = planes.luma.shape
    rgba = np.empty((height, width, 4), np.uint8)
    yuv_to_rgba(planes, BT709_LIMITED, rgba)
    seen = Planes.empty(width, height)
    rgba_to_yuv420(rgba, seen)
    return seen


def _worst_places(one: Plane, other: Plane) -> tuple[float, float]:
    """Return how far pixels lie outside of the range of the other's around them.

    The first number is the mean of the worst block, the second that of the worst line.
    """
    columns, rows = _outside(one, other, _BLOCK, 1), _outside(one, other, 1, _LINE)
    lefts = np.arange(0, columns.shape[1], _BLOCK)
    tops = np.arange(0, columns.shape[0], _LINE // _BLOCK)
    blocks = np.add.reduceat(columns, lefts, axis=1) / block_sizes(one, _BLOCK)
    longest = max(rows.max(), np.add.reduceat(columns, tops, axis=0).max())
    return float(blocks.max()), float(longest) / _LINE


def _outside(one: Plane, other: Plane, rows: int, columns: int) -> NDArray[np.uint32]:
    there, back = outside_sums(one, other, rows, columns), outside_sums(other, one, rows, columns)
    return np.maximum(there, back)


def _block_likeness(one: Plane, other: Plane) -> NDArray[np.float64]:
    """Return the SSIM of each block."""
    sizes = block_sizes(one, _BLOCK)[..., None]
    means = block_sums(one, other, _BLOCK) / sizes
    mean_a, mean_b, squares, products = np.moveaxis(means, -1, 0)
    light = mean_a * mean_a + mean_b * mean_b
    shared = 2 * mean_a * mean_b
    alike = (shared + _C1) * (2 * products - shared + _C2)
    likeness: NDArray[np.float64] = alike / ((light + _C1) * (squares - light + _C2))
    return likeness
