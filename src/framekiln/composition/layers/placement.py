"""Durations and start times of layers; children are placed before their group.

Times are relative to the container: children of a group count from its start.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Final

from framekiln.composition.layers.anchors import sorted_by_anchor
from framekiln.composition.layers.fades import Crossfade
from framekiln.composition.layers.findings import ConfigFinding, ConfigFindings
from framekiln.composition.layers.numbers import seconds_on_grid
from framekiln.composition.layers.source_window import SourceWindow
from framekiln.composition.layers.sources import (
    LayerSource,
    SourceFactsByUrl,
    find_source,
)
from framekiln.composition.layers.transitions import Fade
from framekiln.composition.layers.values import (
    Anchor,
    AudioLayer,
    GroupLayer,
    Layer,
    LottieLayer,
    SequenceLayer,
    VideoLayer,
    WaveformLayer,
)

_ZERO: Final = Fraction(0)
MIN_LOOP_S: Final = Fraction(1, 50)


@dataclass(frozen=True)
class LayerExtent:
    """The duration of a layer: `length_s`, or None for that of its container.

    The duration of the container itself is computed from `least_s`, which the layer needs, and from
    `hint_s`, which counts only if no layer needs a duration.
    """

    length_s: Fraction | None
    least_s: Fraction = _ZERO
    hint_s: Fraction = _ZERO
    window: SourceWindow = field(default=SourceWindow())


@dataclass(frozen=True)
class PlacedLayer:
    """A layer at its start. `crossfade_in` and `crossfade_out` are set by a sequence."""

    layer: Layer
    start_s: Fraction
    extent: LayerExtent
    source: LayerSource | None
    children: tuple["PlacedLayer", ...] = ()
    crossfade_in: Crossfade | None = None
    crossfade_out: Crossfade | None = None

    @property
    def end_s(self) -> Fraction | None:
        """Its end, if it does not depend on the container."""
        return None if self.extent.length_s is None else self.start_s + self.extent.length_s


@dataclass
class LayerPlacer:
    """Places the layers of one config."""

    media: SourceFactsByUrl
    findings: ConfigFindings = field(default_factory=ConfigFindings)

    def place(self, layers: Sequence[Layer]) -> tuple[PlacedLayer, ...]:
        """Return layers with their own start times, in order."""
        placed: dict[str, PlacedLayer] = {}
        for layer in sorted_by_anchor(layers):
            alone = self._alone(layer)
            placed[layer.id] = replace(alone, start_s=self._start(layer, placed))
        return tuple(placed[layer.id] for layer in layers if layer.id in placed)

    def place_sequence(self, layers: Sequence[Layer]) -> tuple[PlacedLayer, ...]:
        """Return the layers of a sequence, each after the previous one, without skipped ones."""
        placed: list[PlacedLayer] = []
        for number, layer in enumerate(layers):
            alone = self._alone(layer)
            if alone.source is None:
                continue
            before = placed[-1] if placed else None
            if before is None or before.end_s is None:
                placed.append(replace(alone, start_s=_ZERO))
            else:
                leaving, coming = _crossfade(before, alone)
                overlap_s = _ZERO if coming is None else coming.duration_s
                placed[-1] = replace(before, crossfade_out=leaving)
                start_s = before.end_s - overlap_s
                placed.append(replace(alone, start_s=start_s, crossfade_in=coming))
            if alone.extent.length_s is None and number + 1 < len(layers):
                self._issue(layer, "duration_required", "trim.end", _needs_end(alone))
        return tuple(placed)

    def _alone(self, layer: Layer) -> PlacedLayer:
        children: tuple[PlacedLayer, ...] = ()
        if isinstance(layer, GroupLayer):
            children = self.place(layer.layers)
        elif isinstance(layer, SequenceLayer):
            children = self.place_sequence(layer.layers)
        source = find_source(layer, self.media, self.findings)
        if source is None:
            return PlacedLayer(layer, _ZERO, LayerExtent(_ZERO), None)
        return PlacedLayer(layer, _ZERO, self._extent(layer, source, children), source, children)

    def _start(self, layer: Layer, placed: dict[str, PlacedLayer]) -> Fraction:
        start = layer.start
        if start.anchor is None or start.layer_id is None:
            return start.at_s
        other = placed[start.layer_id]
        if start.anchor is Anchor.WITH:
            return other.start_s + start.at_s
        if other.end_s is None:
            message = f"{other.layer.full_label} has no end of its own"
            self._issue(layer, "duration_required", "timeline.start", message)
            return start.at_s
        return other.end_s + start.at_s

    def _extent(
        self, layer: Layer, source: LayerSource, children: tuple[PlacedLayer, ...]
    ) -> LayerExtent:
        if isinstance(layer, GroupLayer | SequenceLayer):
            return _container_extent(layer, children)
        if isinstance(layer, LottieLayer):
            return _lottie_extent(layer, source.duration_s)
        if isinstance(layer, VideoLayer | AudioLayer | WaveformLayer) and source.address:
            return self._media_extent(layer, source.duration_s)
        window = SourceWindow(layer.trim.start_s)
        if layer.trim.end_s is not None:
            length_s = layer.trim.end_s - layer.trim.start_s
            return LayerExtent(length_s, length_s, window=window)
        return LayerExtent(None, hint_s=source.duration_s or _ZERO, window=window)

    def _media_extent(
        self, layer: VideoLayer | AudioLayer | WaveformLayer, media_s: Fraction | None
    ) -> LayerExtent:
        if not self._starts_within(layer, media_s):
            return LayerExtent(_ZERO)
        if isinstance(layer, VideoLayer | AudioLayer):
            return self._played_extent(layer, media_s)
        window = SourceWindow(layer.trim.start_s, self._clipped_end(layer, media_s))
        return LayerExtent(None, window=window) if window.out_s is None else _window_extent(window)

    def _played_extent(
        self, layer: VideoLayer | AudioLayer, media_s: Fraction | None
    ) -> LayerExtent:
        freezes = isinstance(layer, VideoLayer) and layer.freeze
        stays = freezes or layer.loop.plays != 1
        wanted_s = layer.trim.end_s
        outlasts = media_s is not None and wanted_s is not None and wanted_s > media_s
        end_s = media_s if stays and outlasts else self._clipped_end(layer, media_s)
        window = SourceWindow(layer.trim.start_s, end_s, layer.speed, layer.loop.plays)
        if window.play_s is None:
            return LayerExtent(None, window=window)
        if layer.loop.plays != 1 and window.play_s < MIN_LOOP_S:
            message = f"what is played again must last {float(MIN_LOOP_S)} s or more"
            self._issue(layer, "out_of_range", "loop", message)
            return LayerExtent(_ZERO)
        if stays and outlasts and wanted_s is not None:
            length_s = seconds_on_grid((wanted_s - layer.trim.start_s) / layer.speed)
            return LayerExtent(length_s, length_s, window=window)
        if layer.loop.plays is None:
            return LayerExtent(None, hint_s=seconds_on_grid(window.play_s), window=window)
        if freezes:
            return LayerExtent(None, _window_extent(window).least_s, window=window)
        return _window_extent(window)

    def _starts_within(self, layer: Layer, media_s: Fraction | None) -> bool:
        if media_s is None or layer.trim.start_s < media_s:
            return True
        message = f"the source of {layer.label} ends before, at {float(media_s):.3f} s"
        self._issue(layer, "out_of_range", "trim.start", message)
        return False

    def _clipped_end(self, layer: Layer, media_s: Fraction | None) -> Fraction | None:
        trim = layer.trim
        if media_s is None:
            return trim.end_s
        if trim.end_s is not None and trim.end_s > media_s:
            message = f"the source ends at {float(media_s):.3f} s; the layer ends there too"
            self.findings.add_warning(ConfigFinding(f"{layer.path}.trim.end", "clipped", message))
        return media_s if trim.end_s is None else min(trim.end_s, media_s)

    def _issue(self, layer: Layer, code: str, name: str, message: str) -> None:
        self.findings.add_issue(ConfigFinding(f"{layer.path}.{name}", code, message))


def _needs_end(placed: PlacedLayer) -> str:
    layer, endless = placed.layer, "it has none of its own"
    if placed.source is not None and placed.source.is_placeholder:
        endless = "the placeholder in place of its source has none"
    elif isinstance(layer, VideoLayer) and layer.freeze:
        endless = "its last frame stays"
    elif isinstance(layer, VideoLayer | AudioLayer) and layer.loop.plays is None:
        endless = "it loops for ever"
    return f"is missing: only the last layer of a sequence may have no end, and {endless}"


def _window_extent(window: SourceWindow) -> LayerExtent:
    length_s = seconds_on_grid((window.play_s or _ZERO) * (window.plays or 1))
    return LayerExtent(length_s, length_s, window=window)


def _lottie_extent(layer: LottieLayer, media_s: Fraction | None) -> LayerExtent:
    # A trim sets the duration on the timeline; beyond its end the animation holds its last frame.
    ends = [end for end in (media_s, layer.trim.end_s) if end is not None]
    end_s = min(ends, default=None)
    if end_s is not None and end_s <= layer.trim.start_s:
        end_s = layer.trim.start_s + Fraction(1, 1000)
    window = SourceWindow(layer.trim.start_s, end_s, plays=layer.loop.plays)
    if layer.trim.end_s is not None:
        length_s = layer.trim.end_s - layer.trim.start_s
        return LayerExtent(length_s, length_s, window=window)
    return LayerExtent(None, hint_s=window.play_s or _ZERO, window=window)


def _container_extent(layer: Layer, children: tuple[PlacedLayer, ...]) -> LayerExtent:
    trim = layer.trim
    window = SourceWindow(trim.start_s, trim.end_s)
    if trim.end_s is not None:
        return _window_extent(window)
    needed = [child.start_s + child.extent.least_s for child in children if child.extent.least_s]
    least_s = max(needed, default=_ZERO)
    length_s = max(_ZERO, least_s - trim.start_s)
    hint_s = max((child.start_s + child.extent.hint_s for child in children), default=_ZERO)
    hint_s = max(_ZERO, hint_s - trim.start_s)
    if length_s == 0 or _is_endless(layer, children, least_s):
        return LayerExtent(None, length_s, hint_s, window)
    return LayerExtent(length_s, length_s, hint_s, window)


def _is_endless(layer: Layer, children: tuple[PlacedLayer, ...], least_s: Fraction) -> bool:
    """Whether a layer inside would only be cut off if the container ended at `least_s`."""
    if isinstance(layer, SequenceLayer):
        # A crossfade may begin before what the layers before it need.
        return children[-1].end_s is None
    endless = [child for child in children if child.end_s is None]
    return any(child.start_s + child.extent.least_s >= least_s for child in endless)


def _crossfade(
    before: PlacedLayer, after: PlacedLayer
) -> tuple[Crossfade, Crossfade] | tuple[None, None]:
    """Return both sides of a crossfade; one that requests none is as the other one says."""
    outs = [each for each in _crossfades(before) if not each.is_in]
    ins = [each for each in _crossfades(after) if each.is_in]
    wanted_s = max((each.duration_s for each in (*outs, *ins)), default=_ZERO)
    taken_s = before.crossfade_in.duration_s if before.crossfade_in else _ZERO
    room_s = (before.extent.length_s or _ZERO) - taken_s
    overlap_s = min(wanted_s, room_s, after.extent.length_s or wanted_s)
    if overlap_s <= 0:
        return None, None
    leaving, coming = (
        Crossfade(overlap_s, any(each.fades_sound for each in own))
        for own in (outs or ins, ins or outs)
    )
    return leaving, coming


def _crossfades(placed: PlacedLayer) -> list[Fade]:
    transitions = placed.layer.transitions
    return [each for each in transitions if isinstance(each, Fade) and each.is_crossfade]
