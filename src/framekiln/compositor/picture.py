"""Pictures as the encoder wants them: BT.709 limited range, 4:2:0, so that nothing is converted.

Where a picture has alpha, its planes are premultiplied by it: plane = value * alpha, the offsets of
16 and 128 included. Laying one picture over another is then one multiplication and one addition
for each plane, and what is transparent has no colour that could shine through at an edge.
"""

from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import cv2
import numpy as np
import numpy.typing as npt

from framekiln.compositor.rect import Rect

Plane: TypeAlias = npt.NDArray[np.uint8]
Rgba: TypeAlias = npt.NDArray[np.uint8]

# The parts of red, green and blue in luma, and what is left of blue and red for chroma (BT.709).
_LUMA: Final = np.array([0.2126, 0.7152, 0.0722], np.float32)
_CB: Final = np.array([-0.2126, -0.7152, 0.9278], np.float32) / 1.8556
_CR: Final = np.array([0.7874, -0.7152, -0.0722], np.float32) / 1.5748
# From premultiplied RGBA to planes: alpha brings the offsets in.
_TO_LUMA: Final = np.array([[*(219 / 255 * _LUMA), 16 / 255]], np.float32)
_TO_CHROMA: Final = np.array(
    [[*(224 / 255 * _CB), 128 / 255], [*(224 / 255 * _CR), 128 / 255]], np.float32
)


@dataclass(frozen=True)
class Colour:
    """One colour in the planes' own numbers; `alpha` is 0 to 1."""

    y: int
    u: int
    v: int
    alpha: float = 1.0

    @classmethod
    def of_rgb(cls, red: int, green: int, blue: int, alpha: float = 1.0) -> "Colour":
        """Return the colour of an sRGB triple of 0 to 255."""
        rgb = np.array([red, green, blue], np.float32) / 255
        y, u, v = 16 + 219 * rgb @ _LUMA, 128 + 224 * rgb @ _CB, 128 + 224 * rgb @ _CR
        return cls(round(float(y)), round(float(u)), round(float(v)), alpha)


BLACK: Final = Colour(16, 128, 128)


@dataclass(frozen=True, eq=False)
class Picture:
    """Sides are even. `alpha` is None where all of it is opaque; chroma has its own half of it."""

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
        """Whether anything below it can be seen."""
        return self.alpha is not None

    @property
    def planes(self) -> tuple[Plane, ...]:
        """Every plane: luma, both chroma, and both alphas where there are any."""
        alphas = (self.alpha, self.chroma_alpha)
        return (self.y, self.u, self.v, *(plane for plane in alphas if plane is not None))

    @classmethod
    def of_planes(cls, planes: tuple[Plane, ...]) -> "Picture":
        """Return the picture of three planes, or of five."""
        return cls(*planes)

    def with_alpha(self) -> "Picture":
        """Return it with alpha planes, which say that all of it is opaque."""
        if self.has_alpha:
            return self
        return Picture(self.y, self.u, self.v, np.full_like(self.y, 255), np.full_like(self.u, 255))


def cut(picture: Picture, rect: Rect) -> Picture:
    """Return a part of a picture, by even edges; both share their memory."""
    whole = np.s_[rect.top : rect.bottom, rect.left : rect.right]
    half = np.s_[rect.top // 2 : rect.bottom // 2, rect.left // 2 : rect.right // 2]
    cuts = (whole, half, half, whole, half)
    return Picture.of_planes(
        tuple(plane[part] for plane, part in zip(picture.planes, cuts, strict=False))
    )


def picture_of_rgba(rgba: Rgba) -> Picture:
    """Return a picture of straight RGBA; an odd side gets one transparent line more."""
    return picture_of_premultiplied(premultiplied(rgba))


def premultiplied(rgba: Rgba) -> Rgba:
    """Return straight RGBA with its colours multiplied by its alpha."""
    if int(rgba[..., 3].min(initial=255)) == 255:
        return np.ascontiguousarray(rgba)
    alpha = np.ascontiguousarray(rgba[..., 3])
    colour = np.ascontiguousarray(rgba[..., :3])
    return np.dstack([cv2.multiply(colour, cv2.merge([alpha] * 3), scale=1 / 255), alpha])


def picture_of_premultiplied(rgba: Rgba) -> Picture:
    """Return a picture of RGBA whose colours are multiplied by its alpha already.

    Only so may chroma be halved: a transparent neighbour must lend no colour.
    """
    height, width = rgba.shape[:2]
    if height % 2 or width % 2:
        rgba = np.pad(rgba, ((0, height % 2), (0, width % 2), (0, 0)))
    size = (rgba.shape[1] // 2, rgba.shape[0] // 2)
    half = np.asarray(cv2.resize(rgba, size, interpolation=cv2.INTER_AREA), np.uint8)
    y = _plane(cv2.transform(rgba, _TO_LUMA))
    u, v = (_plane(part) for part in cv2.split(cv2.transform(half, _TO_CHROMA)))
    if int(rgba[..., 3].min(initial=255)) == 255:
        return Picture(y, u, v)
    return Picture(y, u, v, np.ascontiguousarray(rgba[..., 3]), np.ascontiguousarray(half[..., 3]))


def picture_of_planes(luma: Plane, blue: Plane, red: Plane, alpha: Plane | None) -> Picture:
    """Return the picture of decoded planes, whose alpha is straight if they have any."""
    if alpha is None:
        return Picture(luma, blue, red)
    size = (blue.shape[1], blue.shape[0])
    half = _plane(cv2.resize(alpha, size, interpolation=cv2.INTER_AREA))
    covers = ((luma, alpha), (blue, half), (red, half))
    y, u, v = (_plane(cv2.multiply(plane, cover, scale=1 / 255)) for plane, cover in covers)
    return Picture(y, u, v, alpha, half)


def rgba_of(picture: Picture) -> Rgba:
    """Return a picture as straight RGBA, for whoever wants one frame and not a film."""
    whole = picture.with_alpha()
    assert whole.alpha is not None
    size = (picture.width_px, picture.height_px)
    u, v = (cv2.resize(p, size, interpolation=cv2.INTER_NEAREST) for p in (whole.u, whole.v))
    alpha = whole.alpha.astype(np.float32) / 255
    cover = np.maximum(alpha, 1 / 255)
    y = (whole.y.astype(np.float32) / cover - 16) / 219
    red = y + 1.5748 * (v.astype(np.float32) / cover - 128) / 224
    blue = y + 1.8556 * (u.astype(np.float32) / cover - 128) / 224
    green = (y - 0.2126 * red - 0.0722 * blue) / 0.7152
    # What is wholly transparent has no colour.
    parts = [np.clip(part * 255, 0, 255) * (alpha > 0) for part in (red, green, blue)]
    rgba: Rgba = np.rint(np.dstack([*parts, whole.alpha])).astype(np.uint8)
    return rgba


def _plane(values: npt.NDArray[Any] | cv2.Mat) -> Plane:
    return np.asarray(values, np.uint8)
