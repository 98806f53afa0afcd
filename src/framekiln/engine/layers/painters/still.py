"""Images that exist already: texts, drawings, placeholders."""

from fractions import Fraction

import numpy as np

from framekiln.composition.layers import LayerState, PixelSize
from framekiln.compositor.picture import Rgba
from framekiln.engine.layers.painter import SourceImage

_GREY = (72, 72, 72, 255)
_LINE = (150, 150, 150, 255)


class StillPainter:
    """Shows one image all the time."""

    def __init__(self, image: SourceImage) -> None:
        self._image = image

    def content_size_at(self, time_s: Fraction) -> PixelSize | None:
        """Its size was measured before."""
        return None

    def image(self, state: LayerState) -> SourceImage:
        """Return the image."""
        return self._image

    def close(self) -> None:
        """Has no resources."""


def placeholder() -> SourceImage:
    """Return the placeholder of an unusable source: a grey box with a cross."""
    side = 256
    sheet: Rgba = np.empty((side, side, 4), np.uint8)
    sheet[...] = _GREY
    ys, xs = np.ogrid[:side, :side]
    sheet[(np.abs(xs - ys) < 2) | (np.abs(xs + ys - side) < 2)] = _LINE
    return SourceImage("placeholder", sheet=sheet)
