"""The interface of painters: a source returns an image, and a key that identifies it.

`StillPainter` has images that exist already: texts, drawings, placeholders.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np

from framekiln.composition.layers import LayerState, PixelSize, Rect
from framekiln.compositor.picture import Picture, Rgba


@dataclass(frozen=True, eq=False)
class SourceImage:
    """One image of a source. Equal keys mean equal images.

    Stills are a `sheet`, premultiplied RGBA, which can be placed at any pixel without loss. Moving
    content is a `picture`, in planes. `area` is the part of the layer's box that it fills, in
    pixels of the box; without it, the content area of the state.
    """

    key: Hashable
    sheet: Rgba | None = None
    picture: Picture | None = None
    area: Rect | None = None


class Painter(Protocol):
    """A source of one layer, or of several equal ones. Owned by the film's thread."""

    def content_size_at(self, time_s: Fraction) -> PixelSize | None:
        """Return the size of the content, if only the source knows it."""
        ...

    def image(self, state: LayerState) -> SourceImage | None:
        """Return the image of a state; None if nothing is visible."""
        ...

    def close(self) -> None:
        """Release decoders and pictures; later calls open them again."""
        ...


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
