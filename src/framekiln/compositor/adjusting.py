"""Changing colours: each plane through a table of its own, which is exact for what CSS filters do.

In BT.709 the luma of a colour is the weight that CSS uses, so saturation only moves chroma, and
brightness, contrast and inversion move luma and chroma alike.
"""

from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np

from framekiln.compositor.picture import Picture, Plane

_LEVELS: Final = np.arange(256, dtype=np.float64)


@dataclass(frozen=True)
class Adjustment:
    """luma' = luma * gain + lift (0 is black, 1 is white); chroma' = chroma * tint."""

    gain: float = 1.0
    lift: float = 0.0
    tint: float = 1.0

    def then(self, after: "Adjustment") -> "Adjustment":
        """Return both as one."""
        return Adjustment(
            gain=self.gain * after.gain,
            lift=self.lift * after.gain + after.lift,
            tint=self.tint * after.tint,
        )


UNCHANGED: Final = Adjustment()
INVERT: Final = Adjustment(gain=-1, lift=1, tint=-1)


def brightness(share: float) -> Adjustment:
    """1 leaves it as it is, 0 is black."""
    return Adjustment(gain=share, tint=share)


def contrast(share: float) -> Adjustment:
    """1 leaves it as it is, 0 is middle grey."""
    return Adjustment(gain=share, lift=0.5 - 0.5 * share, tint=share)


def saturation(share: float) -> Adjustment:
    """1 leaves it as it is, 0 is grey."""
    return Adjustment(tint=share)


def lighten(share: float) -> Adjustment:
    """Mix with white."""
    return Adjustment(gain=1 - share, lift=share, tint=1 - share)


def adjust(picture: Picture, adjustment: Adjustment) -> Picture:
    """Return an opaque picture with its colours changed."""
    assert not picture.has_alpha, "colours under alpha are premultiplied"
    luma = _table((_LEVELS - 16) / 219 * adjustment.gain + adjustment.lift, 16, 219)
    chroma = _table((_LEVELS - 128) / 224 * adjustment.tint, 128, 224)
    return Picture(
        _looked_up(picture.y, luma), _looked_up(picture.u, chroma), _looked_up(picture.v, chroma)
    )


def blur(picture: Picture, sigma_px: float) -> Picture:
    """Return the picture out of focus; alpha is blurred with it."""
    if sigma_px <= 0:
        return picture
    sigmas = (sigma_px, sigma_px / 2, sigma_px / 2, sigma_px, sigma_px / 2)
    return Picture.of_planes(
        tuple(_blurred(plane, sigma) for plane, sigma in zip(picture.planes, sigmas, strict=False))
    )


def _table(values: np.typing.NDArray[np.float64], zero: int, reach: int) -> Plane:
    return np.clip(np.rint(values * reach + zero), 0, 255).astype(np.uint8)


def _looked_up(plane: Plane, table: Plane) -> Plane:
    return np.asarray(cv2.LUT(plane, table), np.uint8)


def _blurred(plane: Plane, sigma: float) -> Plane:
    # A wide blur of a picture is a narrow one of a smaller picture, at a fraction of the cost.
    factor = max(1, int(sigma // 3))
    if factor == 1:
        return np.asarray(cv2.GaussianBlur(plane, (0, 0), sigma), np.uint8)
    height, width = plane.shape
    small = (max(1, width // factor), max(1, height // factor))
    less = cv2.resize(plane, small, interpolation=cv2.INTER_AREA)
    less = cv2.GaussianBlur(less, (0, 0), sigma / factor)
    return np.asarray(cv2.resize(less, (width, height), interpolation=cv2.INTER_LINEAR), np.uint8)
