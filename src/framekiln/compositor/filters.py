"""The effect of filters on a picture: colour adjustments or edge detection.

Colour adjustments work per pixel. Edge detection depends on neighbouring pixels, so a frame that
contains it cannot be redrawn in part.
"""

from dataclasses import dataclass
from typing import Final, TypeAlias

import cv2
import numpy as np

from framekiln.compositor.adjustments import Adjustment, adjust
from framekiln.compositor.picture import Picture, Plane
from framekiln.pixels.blend import weighted_sum

_HIGHEST_LUMA: Final = 235
_LOWEST_LUMA: Final = 16
_GREY: Final = 128


@dataclass(frozen=True)
class EdgeFilter:
    """White where brightness changes, black elsewhere (Sobel), mixed in by `share`."""

    share: float = 1.0

    def scaled_by(self, share: float) -> "EdgeFilter":
        """Return a fraction of the filter: 0 has no effect, 1 is the full effect."""
        return EdgeFilter(self.share * share)


PictureFilter: TypeAlias = Adjustment | EdgeFilter


def apply_filter(picture: Picture, change: PictureFilter) -> Picture:
    """Return the picture with a filter applied."""
    if isinstance(change, Adjustment):
        return adjust(picture, change)
    after = edges(picture)
    if change.share >= 1:
        return after
    return Picture.of_planes(
        tuple(
            weighted_sum(now, change.share, before, 1 - change.share)
            for now, before in zip(after.planes, picture.planes, strict=True)
        )
    )


def edges(picture: Picture) -> Picture:
    """Return the edges of a picture's brightness, in grey; alpha is unchanged."""
    steepness = _steepness(picture.y)
    reach = _HIGHEST_LUMA - _LOWEST_LUMA
    levels = np.minimum(steepness, reach) + _LOWEST_LUMA
    if picture.alpha is None or picture.chroma_alpha is None:
        grey = np.full_like(picture.u, _GREY)
        return Picture(np.rint(levels).astype(np.uint8), grey, grey.copy())
    # Planes are premultiplied: transparent pixels have no brightness to change.
    y = np.rint(levels * (picture.alpha / np.float32(255))).astype(np.uint8)
    grey = np.asarray(cv2.convertScaleAbs(picture.chroma_alpha, alpha=_GREY / 255), np.uint8)
    return Picture(y, grey, grey.copy(), picture.alpha, picture.chroma_alpha)


def _steepness(luma: Plane) -> np.typing.NDArray[np.float32]:
    across, down = (
        cv2.Sobel(luma, cv2.CV_32F, dx, dy, ksize=3, borderType=cv2.BORDER_REPLICATE)
        for dx, dy in ((1, 0), (0, 1))
    )
    return np.asarray(cv2.magnitude(across, down), np.float32)
