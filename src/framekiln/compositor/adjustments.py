"""Colour adjustments: one lookup table per plane, exact for the CSS filter functions.

BT.709 luma uses the same weights as CSS. Saturation therefore changes chroma only, and brightness,
contrast and inversion change luma and chroma in the same way. Where the result would be out of
gamut, such as a red brighter than full red, pixels are clipped in RGB.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Final

import cv2
import numpy as np

from framekiln.compositor.picture import Picture, Plane, YuvColour, picture_of_rgba, rgba_of
from framekiln.pixels.blend import weighted_sum

_LEVELS: Final = np.arange(256, dtype=np.float64)
# RGB to luma and chroma and back (BT.709); all values are from 0 to 1.
_TO_CHROMA: Final = np.array(
    [
        [0.2126, 0.7152, 0.0722],
        [-0.2126 / 1.8556, -0.7152 / 1.8556, 0.5],
        [0.5, -0.7152 / 1.5748, -0.0722 / 1.5748],
    ]
)
_TO_RGB: Final = np.linalg.inv(_TO_CHROMA)
# From plane values to luma and chroma in that range.
_UNSCALED: Final = np.array([[1 / 219, 0, 0], [0, 1 / 224, 0], [0, 0, 1 / 224]])
_ZEROS: Final = np.array([16 / 219, 128 / 224, 128 / 224])
_HAIR: Final = 0.002


@dataclass(frozen=True)
class Adjustment:
    """luma' = luma * gain + lift (0 is black, 1 is white); chroma' = chroma * tint + blue or red.

    Both chroma values are 0 for grey and range from -0.5 to 0.5.
    """

    gain: float = 1.0
    lift: float = 0.0
    tint: float = 1.0
    blue: float = 0.0
    red: float = 0.0

    def then(self, after: "Adjustment") -> "Adjustment":
        """Return one adjustment that applies this one and then the other."""
        return Adjustment(
            gain=self.gain * after.gain,
            lift=self.lift * after.gain + after.lift,
            tint=self.tint * after.tint,
            blue=self.blue * after.tint + after.blue,
            red=self.red * after.tint + after.red,
        )

    def scaled_by(self, share: float) -> "Adjustment":
        """Return a fraction of the adjustment: 0 has no effect, 1 is the full effect."""
        rest = 1 - share
        return Adjustment(
            gain=self.gain * share + rest,
            lift=self.lift * share,
            tint=self.tint * share + rest,
            blue=self.blue * share,
            red=self.red * share,
        )

    @property
    def stays_in_range(self) -> bool:
        """Whether every colour stays in gamut."""
        return _stays_within(self)

    @property
    def factors(self) -> np.typing.NDArray[np.float64]:
        """The factors of luma and chroma."""
        return np.array([self.gain, self.tint, self.tint])

    @property
    def offsets(self) -> np.typing.NDArray[np.float64]:
        """The offsets of luma and chroma."""
        return np.array([self.lift, self.blue, self.red])


@lru_cache(256)
def _stays_within(adjustment: Adjustment) -> bool:
    corners = np.array(list(product((0.0, 1.0), repeat=3)))
    moved = corners @ _TO_CHROMA.T * adjustment.factors + adjustment.offsets
    seen = moved @ _TO_RGB.T
    return bool((seen > -_HAIR).all() and (seen < 1 + _HAIR).all())


UNCHANGED: Final = Adjustment()
INVERT: Final = Adjustment(gain=-1, lift=1, tint=-1)


def brightness(share: float) -> Adjustment:
    """1 has no effect, 0 is black."""
    return Adjustment(gain=share, tint=share)


def contrast(share: float) -> Adjustment:
    """1 has no effect, 0 is middle grey."""
    return Adjustment(gain=share, lift=0.5 - 0.5 * share, tint=share)


def saturation(share: float) -> Adjustment:
    """1 has no effect, 0 is grey."""
    return Adjustment(tint=share)


def lighten(share: float) -> Adjustment:
    """Mix with white."""
    return Adjustment(gain=1 - share, lift=share, tint=1 - share)


VINTAGE: Final = Adjustment(gain=0.85, lift=0.07, tint=0.45, blue=-0.06, red=0.04)
"""The look of old photographs: less contrast and colour, a brown hue."""


def colour_overlay(colour: YuvColour, share: float) -> Adjustment:
    """Mix with a colour: at 1 only the colour is left."""
    return Adjustment(
        gain=1 - share,
        lift=share * (colour.y - 16) / 219,
        tint=1 - share,
        blue=share * (colour.u - 128) / 224,
        red=share * (colour.v - 128) / 224,
    )


def adjust(picture: Picture, adjustment: Adjustment) -> Picture:
    """Return the picture with its colours adjusted."""
    if adjustment == UNCHANGED:
        return picture
    if not adjustment.stays_in_range:
        return _cut_off(picture, adjustment)
    if picture.has_alpha:
        return _adjusted_under_alpha(picture, adjustment)
    levels = (_LEVELS - 128) / 224 * adjustment.tint
    luma = _table((_LEVELS - 16) / 219 * adjustment.gain + adjustment.lift, 16, 219)
    blue, red = (_table(levels + offset, 128, 224) for offset in (adjustment.blue, adjustment.red))
    return Picture(
        _apply_table(picture.y, luma), _apply_table(picture.u, blue), _apply_table(picture.v, red)
    )


def _cut_off(picture: Picture, adjustment: Adjustment) -> Picture:
    """Adjust in RGB and clip each channel to its range."""
    change = _TO_RGB * adjustment.factors
    shift = 255 * _TO_RGB @ adjustment.offsets
    if picture.has_alpha:
        straight = rgba_of(picture)
        rgb = _mixed_channels(straight[..., :3], change @ _TO_CHROMA, shift)
        return picture_of_rgba(np.dstack([rgb, straight[..., 3]]))
    rgb = _mixed_channels(
        _all_full(picture), 255 * change @ _UNSCALED, shift - 255 * change @ _ZEROS
    )
    scales = np.array([[219], [224], [224]]) / 255
    y, u, v = cv2.split(_mixed_channels(rgb, scales * _TO_CHROMA, np.array([16.0, 128, 128])))
    half = (picture.width_px // 2, picture.height_px // 2)
    blue, red = (cv2.resize(plane, half, interpolation=cv2.INTER_AREA) for plane in (u, v))
    return Picture(np.asarray(y, np.uint8), np.asarray(blue, np.uint8), np.asarray(red, np.uint8))


def _all_full(picture: Picture) -> np.typing.NDArray[np.uint8]:
    """Return luma and chroma per pixel, at full resolution."""
    size = (picture.width_px, picture.height_px)
    chroma = (cv2.resize(p, size, interpolation=cv2.INTER_NEAREST) for p in (picture.u, picture.v))
    return np.asarray(cv2.merge([picture.y, *chroma]), np.uint8)


def _mixed_channels(
    pixels: np.typing.NDArray[np.uint8],
    turn: np.typing.NDArray[np.float64],
    shift: np.typing.NDArray[np.float64],
) -> np.typing.NDArray[np.uint8]:
    """Return pixels of three channels, each a mix of all three, clipped to 0 and 255."""
    matrix = np.column_stack([turn, shift]).astype(np.float32)
    return np.asarray(cv2.transform(np.ascontiguousarray(pixels), matrix), np.uint8)


def _adjusted_under_alpha(picture: Picture, adjustment: Adjustment) -> Picture:
    """Adjust premultiplied planes: offsets are scaled by alpha, and white is limited by it."""
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
    return weighted_sum(plane, factor, alpha, offset / 255)


def _clamped(plane: Plane, alpha: Plane, lowest: int, highest: int) -> Plane:
    floor = cv2.convertScaleAbs(alpha, alpha=lowest / 255)
    ceiling = cv2.convertScaleAbs(alpha, alpha=highest / 255)
    return np.asarray(cv2.min(cv2.max(plane, floor), ceiling), np.uint8)


def blur(picture: Picture, sigma_px: float) -> Picture:
    """Return the picture blurred, including its alpha."""
    if sigma_px <= 0:
        return picture
    sigmas = (sigma_px, sigma_px / 2, sigma_px / 2, sigma_px, sigma_px / 2)
    return Picture.of_planes(
        tuple(_blurred(plane, sigma) for plane, sigma in zip(picture.planes, sigmas, strict=False))
    )


def _table(values: np.typing.NDArray[np.float64], zero: int, reach: int) -> Plane:
    return np.clip(np.rint(values * reach + zero), 0, 255).astype(np.uint8)


def _apply_table(plane: Plane, table: Plane) -> Plane:
    return np.asarray(cv2.LUT(plane, table), np.uint8)


def _blurred(plane: Plane, sigma: float) -> Plane:
    # A wide blur equals a narrow blur of a smaller picture, at a fraction of the cost.
    factor = max(1, int(sigma // 3))
    if factor == 1:
        return np.asarray(cv2.GaussianBlur(plane, (0, 0), sigma), np.uint8)
    height, width = plane.shape
    small = (max(1, width // factor), max(1, height // factor))
    less = cv2.resize(plane, small, interpolation=cv2.INTER_AREA)
    less = cv2.GaussianBlur(less, (0, 0), sigma / factor)
    return np.asarray(
        cv2.resize(less, (width, height), interpolation=cv2.INTER_LINEAR_EXACT), np.uint8
    )
