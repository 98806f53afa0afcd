"""Stream copy: slices that show one unchanged video are copied instead of encoded.

The fast path is `CodedSource.copy`, in a confined child; the plain one is encoding. The record of a
slice says which of them made it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from framekiln.composition.layers import (
    LayerState,
    PixelSize,
    Rect,
    ResolvedLayer,
    ResolvedTimeline,
)
from framekiln.composition.layers.boxes import WHOLE
from framekiln.composition.layers.geometry import Flip
from framekiln.composition.layers.values import Extension, VideoLayer
from framekiln.engine.film_plan import FilmSlice
from framekiln.engine.layers.fetched_sources import FetchedSources
from framekiln.engine.layers.frame_digests import visible_states
from framekiln.engine.layers.geometry import CanvasBox, canvas_box, is_static, is_upright
from framekiln.media.encode.film_encoder import VideoSettings
from framekiln.media.remux.coded_source import SessionCopies
from framekiln.media.source_session import SourceSession


@dataclass
class SliceCopier:
    """Copies slices of one film; each source is inspected once."""

    film: ResolvedTimeline
    sources: FetchedSources
    settings: VideoSettings
    session: SourceSession
    _copies: dict[str, SessionCopies] = field(default_factory=dict, init=False)

    def copy(self, slice_: FilmSlice, path: Path) -> bool:
        """Make a slice by copying; return False if it must be encoded."""
        config = self.film.config
        if config.extension is not Extension.MP4 or config.output.video_bitrate is not None:
            return False
        found = self._untouched(slice_)
        if found is None:
            return False
        address, times_s = found
        if address not in self._copies:
            where = self.sources.path(address)
            self._copies[address] = SessionCopies(self.session, where, self.settings)
        return self._copies[address].copy(times_s, path)

    def _untouched(self, slice_: FilmSlice) -> tuple[str, Sequence[Fraction]] | None:
        """Return the only source that a slice shows, and its times."""
        seen = [layer for layer in self.film.layers if any(visible_states(layer, slice_))]
        if len(seen) != 1 or not _is_plain(seen[0]):
            return None
        layer = seen[0]
        states = [state for _, state in visible_states(layer, slice_)]
        if len(states) != slice_.frame_count:
            return None
        if not all(_fills(state, layer.canvas) for state in states):
            return None
        return layer.source or "", [state.source_s for state in states]


def _is_plain(layer: ResolvedLayer) -> bool:
    value = layer.layer
    return (
        isinstance(value, VideoLayer)
        and layer.source is not None
        and layer.natural == layer.canvas
        and is_static(layer)
        and value.chroma_key is None
        and value.size.flip is Flip.NONE
        and not value.size.border_radius_px
    )


def _fills(state: LayerState, canvas: PixelSize) -> bool:
    """Whether a state shows its source unchanged on the whole canvas."""
    whole = CanvasBox(0, 0, round(canvas.width), round(canvas.height))
    is_clear = state.opacity == 1 and not state.blur_px and not state.filters
    return (
        is_clear
        and state.dissolve is None
        and state.crop == state.reveal == WHOLE
        and state.content == Rect(0, 0, state.width, state.height)
        and is_upright(state)
        and canvas_box(state, state.content, to_even=True) == whole
    )
