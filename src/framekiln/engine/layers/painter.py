"""The interface of painters: a source returns an image, and a key that identifies it."""

from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

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
