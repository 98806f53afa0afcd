"""Digests of how a layer looks in each frame of a slice.

A bulk has many films in which most layers are the same, so digests of the last films are kept.
Layers are compared as a whole: the kept ones stay alive, so nothing else can take their identity.
"""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from fractions import Fraction
from operator import attrgetter
from typing import Final

from framekiln.composition.layers import LayerState, LayerStateCache, ResolvedLayer
from framekiln.composition.layers.values import AudioLayer
from framekiln.engine.film_plan import FilmSlice

_MAX_LAYERS: Final = 64
_MAX_SLICES: Final = 4096
"""For each layer."""
# The fields of a state besides its source time and its partner.
_APPEARANCE_FIELDS: Final = tuple(
    each.name for each in fields(LayerState) if each.name not in ("source_s", "dissolve")
)
_appearance_of: Final = attrgetter(*_APPEARANCE_FIELDS)


@dataclass(frozen=True)
class LayerFrames:
    """The frames of a slice in which a layer is visible."""

    digest: str
    partners: tuple[str, ...]
    """The layers that it dissolves from or into, in the order of its frames."""


SliceKey = tuple[int, int, bool]


@dataclass
class _KnownLayer:
    layer: ResolvedLayer
    slices: dict[SliceKey, LayerFrames | None] = field(default_factory=dict)


class FrameDigests:
    """The digests of the last layers. Threads may share it."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[object, ...], _KnownLayer] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, layer: ResolvedLayer, slice_: FilmSlice, *, has_time: bool) -> LayerFrames | None:
        """Return the frames in which a layer is visible; None if there are none.

        `has_time` says whether the source time affects what is visible.
        """
        key = (slice_.first_frame, slice_.end_frame, has_time)
        slices = self._slices_of(layer)
        if key not in slices:
            found = _layer_frames(layer, slice_, has_time=has_time)
            if len(slices) >= _MAX_SLICES:
                return found
            slices[key] = found
        return slices[key]

    def _slices_of(self, layer: ResolvedLayer) -> dict[SliceKey, LayerFrames | None]:
        place = (layer.id, layer.first_frame, layer.end_frame, layer.source)
        with self._lock:
            known = self._known.get(place)
            if known is None or (known.layer is not layer and known.layer != layer):
                known = _KnownLayer(layer)
                self._known[place] = known
            self._known.move_to_end(place)
            while len(self._known) > _MAX_LAYERS:
                self._known.popitem(last=False)
            return known.slices


FRAME_DIGESTS: Final = FrameDigests()


def visible_states(layer: ResolvedLayer, slice_: FilmSlice) -> Iterator[tuple[int, LayerState]]:
    """Yield the frames in which a layer is visible, numbered from the start of the slice."""
    if isinstance(layer.layer, AudioLayer):
        return
    states = LayerStateCache(layer)
    first = max(slice_.first_frame, layer.first_frame)
    for number in range(first, min(slice_.end_frame, layer.end_frame)):
        state = states.at(Fraction(number) / layer.fps)
        if state.is_visible and state.opacity > 0 and state.scale > 0:
            yield number - slice_.first_frame, state


def _layer_frames(layer: ResolvedLayer, slice_: FilmSlice, *, has_time: bool) -> LayerFrames | None:
    sums = hashlib.sha256()
    partners: list[str] = []
    before: object = None
    is_visible = False
    for number, state in visible_states(layer, slice_):
        is_visible = True
        dissolve = state.dissolve
        if dissolve is not None:
            partners.append(dissolve.partner_id)
        mixed = dissolve and (dissolve.weight, dissolve.is_coming)
        appearance = (_appearance_of(state), mixed)
        sums.update(f"\n{number} {state.source_s if has_time else ''}".encode())
        if appearance != before:
            sums.update(repr(appearance).encode())
        before = appearance
    return LayerFrames(sums.hexdigest(), tuple(partners)) if is_visible else None
