"""Images from files: decoded once and cached at the size at which they are shown."""

from fractions import Fraction
from pathlib import Path

from framekiln.composition.layers import LayerState, PixelSize, ResolvedLayer
from framekiln.compositor.picture import Rgba, premultiplied
from framekiln.engine.layers.geometry import (
    MAX_DRAWN_PX,
    bounded,
    canvas_box,
    is_in_place,
    is_static,
    largest_side_px,
    sampled_states,
)
from framekiln.engine.layers.layer_effects import resize_sheet
from framekiln.engine.layers.painter import SourceImage
from framekiln.media.source_session import SessionImage, SourceSession


class ImagePainter:
    """The frames of one image layer: one, or those of an animation in an endless loop."""

    def __init__(self, layer: ResolvedLayer, path: Path, session: SourceSession) -> None:
        self._path = path
        self._session = session
        self._name = layer.source
        self._size = raster_size(layer)
        self._image: SessionImage | None = None
        self._kept: tuple[int, Rgba] | None = None

    def content_size_at(self, time_s: Fraction) -> PixelSize | None:
        """None: the size is known from the file."""
        return None

    def image(self, state: LayerState) -> SourceImage:
        """Return the current frame."""
        if self._image is None:
            self._image = self._session.open_image(self._path, name=self._name)
        number = self._image.number_at(state.source_s * 1000)
        if self._kept is None or self._kept[0] != number:
            sheet = premultiplied(self._image.rgba(number))
            self._kept = (number, resize_sheet(sheet, *self._size))
        return SourceImage(("image", number), sheet=self._kept[1])

    def close(self) -> None:
        """Release the file and its frames."""
        if self._image is not None:
            self._image.close()
        self._image = self._kept = None


def raster_size(layer: ResolvedLayer) -> tuple[int, int]:
    """Return the size at which the whole image is cached."""
    state = next(sampled_states(layer))
    if not (is_static(layer) and is_in_place(state)):
        return largest_side_px(layer)
    edges = canvas_box(state, state.content, to_even=False)
    whole = edges.width / state.crop.width, edges.height / state.crop.height
    width, height = bounded(*whole, at_most=max(MAX_DRAWN_PX, edges.width, edges.height))
    return max(1, round(width)), max(1, round(height))
