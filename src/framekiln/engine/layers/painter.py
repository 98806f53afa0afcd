"""What a source gives to whoever draws it: a picture, and a key that says which one it is."""

from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from framekiln.composition.layers import LayerState, PixelSize, Rect
from framekiln.compositor.picture import Picture, Rgba


@dataclass(frozen=True, eq=False)
class SourceImage:
    """One picture of a source. Equal keys are equal pictures.

    Stills are `sheet`, RGBA premultiplied by alpha, because those can be put on any pixel without
    loss; what moves is `picture`, in planes. `area` is which part of the layer's box it fills, in
    pixels of the box; without it, all that the state says the source fills.
    """

    key: Hashable
    sheet: Rgba | None = None
    picture: Picture | None = None
    area: Rect | None = None


class Painter(Protocol):
    """A source of one layer, or of several that show the same. Owned by the film's thread."""

    def content_size_at(self, time_s: Fraction) -> PixelSize | None:
        """Return how large the content is, where only the source knows it."""
        ...

    def image(self, state: LayerState) -> SourceImage | None:
        """Return what is seen in a state; None for nothing."""
        ...

    def close(self) -> None:
        """Free decoders and pictures; it may be asked again all the same."""
        ...
