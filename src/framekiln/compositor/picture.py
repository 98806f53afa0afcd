"""Pictures in the format of the encoder, BT.709 limited range 4:2:0, to avoid conversions.

Planes with alpha are premultiplied: plane = value * alpha, including the offsets of 16 and 128.
Drawing one picture over another then takes one multiplication and one addition per plane, and
transparent pixels have no colour that could show at an edge.
"""

from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import cv2
import numpy as np
import numpy.typing as npt

from framekiln.compositor.rect import PixelRect
from framekiln.pixels.blend import premultiply
from framekiln.pixels.colours import BT709_LIMITED
from framekiln.pixels.conversion import (
    Planes,
    premultiplied_to_yuv420,
    rgba_to_yuv420,
    yuv_to_rgba,
)

Plane: TypeAlias = npt.NDArray[np.uint8]
Rgba: TypeAlias = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class YuvColour:
    """A colour in plane values; `alpha` is 0 to 1."""

    y: int
    u: int
    v: int
    alpha: float = 1.0

    @classmethod
    def of_rgb(cls, red: int, green: int, blue: int, alpha: float = 1.0) -> "YuvColour":
        """Return the colour of an sRGB triple of 0 to 255."""
        planes = Planes.empty(1, 1)
        rgba_to_yuv420(np.array([[[red, green, blue, 255]]], np.uint8), planes)
        y, u, v = (int(plane[0, 0]) for plane in planes.all)
        return cls(y, u, v, alpha)


BLACK: Final = YuvColour(16, 128, 128)


@dataclass(frozen=True, eq=False)
class Picture:
    """Sides are even. `alpha` is None if it is opaque; chroma has its own half-size alpha."""

    y: Plane
    u: Plane
    v: Plane
    alpha: Plane | None = None
    chroma_alpha: Plane | None = None

    @property
    def width_px(self) -> int:
        """Width of the luma plane."""
        return int(self.y.shape[1])

    @property
    def height_px(self) -> int:
        """Height of the luma plane."""
        return int(self.y.shape[0])

    @property
    def has_alpha(self) -> bool:
        """Whether anything below it can be visible."""
        return self.alpha is not None

    @property
    def planes(self) -> tuple[Plane, ...]:
        """All planes: luma, both chroma planes, and both alpha planes if there are any."""
        alphas = (self.alpha, self.chroma_alpha)
        return (self.y, self.u, self.v, *(plane for plane in alphas if plane is not None))

    @classmethod
    def of_planes(cls, planes: tuple[Plane, ...]) -> "Picture":
        """Return a picture from three planes, or five."""
        return cls(*planes)

    def with_alpha(self) -> "Picture":
        """Return the picture with alpha planes; an opaque one gets fully opaque planes."""
        if self.has_alpha:
            return self
        return Picture(self.y, self.u, self.v, np.full_like(self.y, 255), np.full_like(self.u, 255))


def crop_picture(picture: Picture, rect: PixelRect) -> Picture:
    """Return a part of a picture, by even edges; both share memory."""
    whole = np.s_[rect.top : rect.bottom, rect.left : rect.right]
    half = np.s_[rect.top // 2 : rect.bottom // 2, rect.left // 2 : rect.right // 2]
    cuts = (whole, half, half, whole, half)
    return Picture.of_planes(
        tuple(plane[part] for plane, part in zip(picture.planes, cuts, strict=False))
    )


def picture_of_rgba(rgba: Rgba) -> Picture:
    """Return a picture from straight RGBA; an odd side is padded by one transparent line."""
    return picture_of_premultiplied(premultiplied(rgba))


def premultiplied(rgba: Rgba) -> Rgba:
    """Return straight RGBA premultiplied by its alpha."""
    if int(rgba[..., 3].min(initial=255)) == 255:
        return np.ascontiguousarray(rgba)
    alpha = np.ascontiguousarray(rgba[..., 3])
    return np.dstack([*(premultiply(_plane(part), alpha) for part in cv2.split(rgba)[:3]), alpha])


def picture_of_premultiplied(rgba: Rgba) -> Picture:
    """Return a picture from premultiplied RGBA.

    Chroma may only be halved when premultiplied: a transparent neighbour must not add colour.
    """
    height, width = rgba.shape[:2]
    if height % 2 or width % 2:
        rgba = np.pad(rgba, ((0, height % 2), (0, width % 2), (0, 0)))
    planes = Planes.empty(rgba.shape[1], rgba.shape[0])
    pixels = np.ascontiguousarray(rgba)
    if int(rgba[..., 3].min(initial=255)) == 255:
        rgba_to_yuv420(pixels, planes)
        return Picture(*planes.all)
    half = premultiplied_to_yuv420(pixels, planes)
    return Picture(*planes.all, np.ascontiguousarray(rgba[..., 3]), half)


def picture_of_planes(luma: Plane, blue: Plane, red: Plane, alpha: Plane | None) -> Picture:
    """Return a picture from decoded planes; their alpha, if any, is straight."""
    if alpha is None:
        return Picture(luma, blue, red)
    size = (blue.shape[1], blue.shape[0])
    half = _plane(cv2.resize(alpha, size, interpolation=cv2.INTER_AREA))
    covers = ((luma, alpha), (blue, half), (red, half))
    y, u, v = (premultiply(plane, opaque) for plane, opaque in covers)
    return Picture(y, u, v, alpha, half)


def rgba_of(picture: Picture) -> Rgba:
    """Return a picture as straight RGBA, for single frames."""
    if picture.alpha is None:
        rgba = np.empty((picture.height_px, picture.width_px, 4), np.uint8)
        yuv_to_rgba(Planes(picture.y, picture.u, picture.v), BT709_LIMITED, rgba)
        return rgba
    return _straight(picture, picture.alpha)


def _straight(picture: Picture, alpha: Plane) -> Rgba:
    size = (picture.width_px, picture.height_px)
    u, v = (cv2.resize(p, size, interpolation=cv2.INTER_NEAREST) for p in (picture.u, picture.v))
    # Separate IEEE operations, so that every processor computes the same values.
    opaque = np.maximum(alpha, 1).astype(np.float32) / 255
    y = (picture.y.astype(np.float32) / opaque - 16) / 219
    red = y + 1.5748 * (v.astype(np.float32) / opaque - 128) / 224
    blue = y + 1.8556 * (u.astype(np.float32) / opaque - 128) / 224
    green = (y - 0.2126 * red - 0.0722 * blue) / 0.7152
    # Fully transparent pixels have no colour.
    parts = [np.clip(part * 255, 0, 255) * (alpha > 0) for part in (red, green, blue)]
    rgba: Rgba = np.rint(np.dstack([*parts, alpha])).astype(np.uint8)
    return rgba


def _plane(values: npt.NDArray[Any] | cv2.Mat) -> Plane:
    return np.asarray(values, np.uint8)
