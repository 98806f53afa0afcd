"""Videos: decoded natively, once, directly to the size at which they are shown."""

from fractions import Fraction
from math import ceil
from pathlib import Path

from framekiln.composition.layers import LayerState, PixelSize, ResolvedLayer
from framekiln.composition.layers.boxes import WHOLE
from framekiln.compositor.picture import Picture, picture_of_planes
from framekiln.engine.layers.geometry import (
    MAX_DRAWN_PX,
    canvas_box,
    is_in_place,
    is_static,
    largest_side_px,
    nearest_even,
    sampled_states,
)
from framekiln.engine.layers.painter import SourceImage
from framekiln.media.source_session import SessionFrames, SourceSession


class VideoPainter:
    """The frames of one video layer."""

    def __init__(self, layer: ResolvedLayer, path: Path, session: SourceSession) -> None:
        self._path = path
        self._session = session
        self._name = layer.source
        self._size = _decode_size(layer)
        self._frames: SessionFrames | None = None
        self._kept: tuple[Fraction, Picture] | None = None

    def content_size_at(self, time_s: Fraction) -> PixelSize | None:
        """None: the size is known from the file."""
        return None

    def image(self, state: LayerState) -> SourceImage:
        """Return the frame at the state's source time."""
        if self._frames is None:
            self._frames = self._session.open_planes(self._path, size=self._size, name=self._name)
        ms = state.source_s * 1000
        shown_ms = self._frames.shown_ms(ms)
        if self._kept is None or self._kept[0] != shown_ms:
            planes = self._frames.yuv_at(ms)
            picture = picture_of_planes(planes.luma, planes.blue, planes.red, planes.alpha)
            self._kept = (shown_ms, picture)
        return SourceImage(("video", shown_ms), picture=self._kept[1])

    def close(self) -> None:
        """Release the decoder."""
        if self._frames is not None:
            self._frames.close()
        self._frames = self._kept = None


def _decode_size(layer: ResolvedLayer) -> tuple[int, int]:
    """Return the even size to decode to; never larger than the source if it is warped anyway."""
    state = next(sampled_states(layer))
    if is_static(layer) and is_in_place(state):
        edges = canvas_box(state, state.content, to_even=True)
        wanted = (
            nearest_even(edges.width / state.crop.width),
            nearest_even(edges.height / state.crop.height),
        )
        return wanted if state.crop == WHOLE else _decode_size_for_crop(wanted, layer)
    width, height = largest_side_px(layer)
    if layer.natural is None:
        return width, height
    return (
        min(width, 2 * ceil(layer.natural.width / 2)),
        min(height, 2 * ceil(layer.natural.height / 2)),
    )


def _decode_size_for_crop(wanted: tuple[int, int], layer: ResolvedLayer) -> tuple[int, int]:
    """Return the size to crop from: crops use even pixels, so more pixels are more precise."""
    if layer.natural is None:
        return wanted
    own = 2 * ceil(layer.natural.width / 2), 2 * ceil(layer.natural.height / 2)
    is_enough = own[0] >= wanted[0] and own[1] >= wanted[1]
    return own if is_enough or max(wanted) > MAX_DRAWN_PX else wanted
