"""Compares composed frames with Chromium's own, and chooses the frames to compare."""

from dataclasses import dataclass
from random import Random
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from framekiln.capture.framebuffer import Pixels
from framekiln.compositor.picture import Picture, Plane
from framekiln.engine.composed.errors import ComposedFramesDiffer
from framekiln.engine.film_plan import FilmSlice
from framekiln.pixels.colours import BT709_LIMITED
from framekiln.pixels.conversion import Planes, bgra_to_yuv420, rgba_to_yuv420, yuv_to_rgba

MIN_SSIM: Final = 0.98
MAX_BLOCK: Final = 8.0
"""The mean difference in any block of 16x16 pixels, of luma or chroma, beyond the range of the
neighbours: Chromium moves glyphs to whole rows of pixels, so text may lie one pixel apart.
"""

# The side of the square of neighbours.
_NEAR: Final = 5
_SEED: Final = 15
_RANDOM_FRAMES: Final = 3
_MAX_BOUNDARIES: Final = 12
_BLOCK: Final = 16
_SSIM_BLOCK: Final = 8
_C1: Final = (0.01 * 255) ** 2
_C2: Final = (0.03 * 255) ** 2

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Likeness:
    """How alike two frames are: as a whole, and where they differ most."""

    ssim: float
    block: float

    @property
    def is_close(self) -> bool:
        """Whether nobody would see a difference."""
        return self.ssim >= MIN_SSIM and self.block <= MAX_BLOCK


def checked_frames(slice_: FilmSlice, changes: list[int]) -> frozenset[int]:
    """Return the frames to compare: both ends, some at random, and both sides of each change."""
    frames = range(slice_.first_frame, slice_.end_frame)
    choose = Random(_SEED + slice_.number)  # noqa: S311 -- the same frames in every run
    sides = [side for at in changes for side in (at - 1, at)]
    if len(sides) > _MAX_BOUNDARIES:
        sides = choose.sample(sides, _MAX_BOUNDARIES)
    some = choose.sample(frames, min(_RANDOM_FRAMES, len(frames)))
    return frozenset({frames[0], frames[-1], *some, *(side for side in sides if side in frames)})


def compare(composed: Picture, filmed: Pixels) -> Likeness:
    """Compare a composed frame with Chromium's, in the planes that are encoded.

    Planes of a video may hold colours that screens, and so Chromium, cannot show: these are brought
    to the nearest that can be seen.
    """
    height, width = filmed.shape[:2]
    planes = Planes.empty(width, height)
    bgra_to_yuv420(filmed, planes)
    ours, theirs = _seen(Planes(composed.y, composed.u, composed.v)), _seen(planes)
    pairs = zip(ours.all, theirs.all, (1, 2, 2), strict=True)
    block = max(_worst_block(one, other, _BLOCK // size) for one, other, size in pairs)
    return Likeness(_ssim(ours.luma, theirs.luma), block)


def check(number: int, composed: Picture, filmed: Pixels) -> None:
    """Raise `ComposedFramesDiffer` if a composed frame does not look like Chromium's."""
    likeness = compare(composed, filmed)
    if not likeness.is_close:
        raise ComposedFramesDiffer(
            f"frame {number} has an SSIM of {likeness.ssim:.4f} and differs by"
            f" {likeness.block:.1f} in its worst block"
        )


def _seen(planes: Planes) -> Planes:
    """Return planes without colours that RGB does not have."""
    height, width = planes.luma.shape
    rgba = np.empty((height, width, 4), np.uint8)
    yuv_to_rgba(planes, BT709_LIMITED, rgba)
    seen = Planes.empty(width, height)
    rgba_to_yuv420(rgba, seen)
    return seen


def _means(plane: Floats, block: int) -> Floats:
    """Return the mean of each block; the last ones may be partial."""
    height, width = plane.shape
    padded = np.pad(plane, ((0, -height % block), (0, -width % block)), mode="edge")
    size = (padded.shape[1] // block, padded.shape[0] // block)
    return np.asarray(cv2.resize(padded, size, interpolation=cv2.INTER_AREA), np.float32)


def _worst_block(one: Plane, other: Plane, block: int) -> float:
    return max(_worst_outside(one, other, block), _worst_outside(other, one, block))


def _worst_outside(one: Plane, other: Plane, block: int) -> float:
    """Return how far pixels lie outside of the range of the other's pixels around them."""
    around = np.ones((_NEAR, _NEAR), np.uint8)
    above = cv2.subtract(one, cv2.dilate(other, around))
    below = cv2.subtract(cv2.erode(other, around), one)
    return float(_means(np.asarray(cv2.add(above, below), np.float32), block).max())


def _ssim(one: Plane, other: Plane) -> float:
    a, b = one.astype(np.float32), other.astype(np.float32)
    mean_a, mean_b = _means(a, _SSIM_BLOCK), _means(b, _SSIM_BLOCK)
    var_a = _means(a * a, _SSIM_BLOCK) - mean_a * mean_a
    var_b = _means(b * b, _SSIM_BLOCK) - mean_b * mean_b
    both = _means(a * b, _SSIM_BLOCK) - mean_a * mean_b
    alike = (2 * mean_a * mean_b + _C1) * (2 * both + _C2)
    return float((alike / ((mean_a**2 + mean_b**2 + _C1) * (var_a + var_b + _C2))).mean())
