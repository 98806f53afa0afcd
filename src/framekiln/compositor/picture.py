"""Pictures as the encoder wants them: BT.709 limited range, 4:2:0, so that nothing is converted.

Where a picture has alpha, its planes are premultiplied by it: plane = value * alpha, the offsets of
16 and 128 included. Laying one picture over another is then one multiplication and one addition
for each plane, and what is transparent has no colour that could shine through at an edge.
"""

from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from framekiln.compositor.rect import Rect

Plane: TypeAlias = npt.NDArray[np.uint8]
Rgba: TypeAlias = npt.NDArray[np.uint8]

# The parts of red, green and blue in luma, and what is left of blue and red for chroma (BT.709).
_LUMA: Final = np.array([0.2126, 0.7152, 0.0722], np.float32)
_CB: Final = np.array([-0.2126, -0.7152, 0.9278], np.float32) / 1.8556
_CR: Final = np.array([0.7874, -0.7152, -0.0722], np.float32) / 1.5748


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
    height, width = rgba.shape[:2]
    if height % 2 or width % 2:
        rgba = np.pad(rgba, ((0, height % 2), (0, width % 2), (0, 0)))
    alpha = rgba[..., 3].astype(np.float32) / 255
    # Premultiplied before the chroma is halved: a transparent neighbour must lend no colour.
    colour = rgba[..., :3].astype(np.float32) * (alpha[..., None] / 255)
    half_alpha, half_colour = _halved(alpha), _halved(colour)
    y = 16 * alpha + 219 * (colour @ _LUMA)
    u = 128 * half_alpha + 224 * (half_colour @ _CB)
    v = 128 * half_alpha + 224 * (half_colour @ _CR)
    planes = (_rounded(y), _rounded(u), _rounded(v))
    if bool((rgba[..., 3] == 255).all()):
        return Picture(*planes)
    return Picture(*planes, _rounded(alpha * 255), _rounded(half_alpha * 255))


def _halved(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    rows = values[0::2] + values[1::2]
    halved: npt.NDArray[Any] = (rows[:, 0::2] + rows[:, 1::2]) / 4
    return halved


def _rounded(values: npt.NDArray[Any]) -> Plane:
    rounded: Plane = np.clip(values + 0.5, 0, 255).astype(np.uint8)
    return rounded
