"""A cache of a layer's states: static states are computed once."""

from bisect import bisect_right
from collections.abc import Iterator
from fractions import Fraction

from framekiln.composition.layers.resolved import ResolvedLayer
from framekiln.composition.layers.sources import PixelSize
from framekiln.composition.layers.state import LayerState, state_at, state_reused_at
from framekiln.composition.layers.transitions import Preset
from framekiln.composition.layers.values import FilterLayer, VisualLayer

Span = tuple[Fraction, Fraction]


class LayerStateCache:
    """`at` returns the same as `state_at`. One per layer, owned by its painter."""

    def __init__(self, layer: ResolvedLayer, content: PixelSize | None = None) -> None:
        self.layer = layer
        self._content = content
        self._motion_spans = list(_motion_spans(layer))
        self._edges = sorted({edge for span in self._motion_spans for edge in span})
        self._kept: dict[int, LayerState] = {}

    def at(self, time_s: Fraction) -> LayerState:
        """Return the state at an instant of the composition."""
        if self.is_animated_at(time_s):
            return state_at(self.layer, time_s, content=self._content)
        number = bisect_right(self._edges, time_s)
        if number not in self._kept:
            self._kept[number] = state_at(self.layer, time_s, content=self._content)
        return state_reused_at(self._kept[number], self.layer, time_s)

    def is_animated_at(self, time_s: Fraction) -> bool:
        """Whether anything except its source may differ between frames."""
        return any(start <= time_s < end for start, end in self._motion_spans)


def _motion_spans(layer: ResolvedLayer) -> Iterator[Span]:
    for curve in layer.curves.values():
        if not curve.is_constant:
            yield curve.points[0].time_s + layer.zero_s, curve.points[-1].time_s + layer.zero_s
    yield from _fade_spans(layer)
    yield from _preset_spans(layer)
    yield from _filter_fade_spans(layer)


def _fade_spans(layer: ResolvedLayer) -> Iterator[Span]:
    fades = layer.fades
    if fades.in_s:
        yield layer.start_s, layer.start_s + fades.in_s
    if fades.out_s:
        yield layer.end_s - fades.out_s, layer.end_s
    for dissolve in (layer.dissolve_in, layer.dissolve_out):
        if dissolve is not None:
            yield dissolve.start_s, dissolve.end_s


def _preset_spans(layer: ResolvedLayer) -> Iterator[Span]:
    for preset in layer.layer.transitions:
        if isinstance(preset, Preset) and preset.is_in:
            yield layer.start_s, layer.start_s + preset.duration_s
        elif isinstance(preset, Preset):
            yield layer.end_s - preset.duration_s, layer.end_s


def _filter_fade_spans(layer: ResolvedLayer) -> Iterator[Span]:
    value = layer.layer
    filters = value.filters if isinstance(value, VisualLayer) else ()
    if isinstance(value, FilterLayer):
        filters = (value.filter,)
    for each in filters:
        if each.is_fade:
            yield each.span(layer.start_s, layer.end_s, zero_s=layer.zero_s)
