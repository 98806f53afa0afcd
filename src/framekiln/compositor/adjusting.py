"""Changing colours: each plane through a table of its own, which is exact for what CSS filters do.

In BT.709 the luma of a colour is the weight that CSS uses, so saturation only moves chroma, and
brightness, contrast and inversion move luma and chroma alike.
"""

from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np

from framekiln.compositor.picture import Colour, Picture, Plane

_LEVELS: Final = np.arange(256, dtype=np.float64)


@dataclass(frozen=True)
class Adjustment:
    """luma' = luma * gain + lift (0 is black, 1 is white); chroma' = chroma * tint + blue or red.

    Both chroma are 0 for grey and at most a half either way.
    """

    gain: float = 1.0
    lift: float = 0.0
    tint: float = 1.0
    blue: float = 0.0
    red: float = 0.0

    def then(self, after: "Adjustment") -> "Adjustment":
        """Return both as one."""
        return Adjustment(
            gain=self.gain * after.gain,
            lift=self.lift * after.gain + after.lift,
            tint=self.tint * after.tint,
            blue=self.blue * after.tint + after.blue,
            red=self.red * after.tint + after.red,
        )

    def by(self, share: float) -> "Adjustment":
        """Return a part of it: 0 changes nothing, 1 is all of it."""
        rest = 1 - share
        return Adjustment(
            gain=self.gain * share + rest,
            lift=self.lift * share,
            tint=self.tint * share + rest,
            blue=self.blue * share,
            red=self.red * share,
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


VINTAGE: Final = Adjustment(gain=0.85, lift=0.07, tint=0.45, blue=-0.06, red=0.04)
"""Old photographs: less contrast and colour, a brown hue."""


def covered(colour: Colour, share: float) -> Adjustment:
    """Mix with a colour: 1 leaves nothing else of the picture."""
    return Adjustment(
        gain=1 - share,
        lift=share * (colour.y - 16) / 219,
        tint=1 - share,
        blue=share * (colour.u - 128) / 224,
        red=share * (colour.v - 128) / 224,
    )


def adjust(picture: Picture, adjustment: Adjustment) -> Picture:
    """Return a picture with its colours changed."""
    if adjustment == UNCHANGED:
        return picture
    if picture.has_alpha:
        return _adjusted_under_alpha(picture, adjustment)
    levels = (_LEVELS - 128) / 224 * adjustment.tint
    luma = _table((_LEVELS - 16) / 219 * adjustment.gain + adjustment.lift, 16, 219)
    blue, red = (_table(levels + offset, 128, 224) for offset in (adjustment.blue, adjustment.red))
    return Picture(
        _looked_up(picture.y, luma), _looked_up(picture.u, blue), _looked_up(picture.v, red)
    )


def _adjusted_under_alpha(picture: Picture, adjustment: Adjustment) -> Picture:
    """Premultiplied, an offset is a share of alpha, and white ends where alpha does."""
    assert picture.alpha is not None
    assert picture.chroma_alpha is not None
    alpha, half = picture.alpha, picture.chroma_alpha
    gain, tint = adjustment.gain, adjustment.tint
    y = _shifted(picture.y, gain, alpha, 16 - 16 * gain + 219 * adjustment.lift)
    u = _shifted(picture.u, tint, half, 128 - 128 * tint + 224 * adjustment.blue)
    v = _shifted(picture.v, tint, half, 128 - 128 * tint + 224 * adjustment.red)
    return Picture(
        _clamped(y, alpha, 16, 235),
        _clamped(u, half, 16, 240),
        _clamped(v, half, 16, 240),
        alpha,
        half,
    )


def _shifted(plane: Plane, factor: float, alpha: Plane, offset: float) -> Plane:
    return np.asarray(cv2.addWeighted(plane, factor, alpha, offset / 255, 0.0), np.uint8)


def _clamped(plane: Plane, alpha: Plane, lowest: int, highest: int) -> Plane:
    floor = cv2.convertScaleAbs(alpha, alpha=lowest / 255)
    ceiling = cv2.convertScaleAbs(alpha, alpha=highest / 255)
    return np.asarray(cv2.min(cv2.max(plane, floor), ceiling), np.uint8)


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
