"""Resolves all times of a config with the facts of its sources."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import floor
from typing import Final

from framekiln.composition.layers.audio import LayerAudio
from framekiln.composition.layers.colours import Colour
from framekiln.composition.layers.config_json import even_side, sized_layers
from framekiln.composition.layers.curves import Curve, curves_of
from framekiln.composition.layers.dissolves import mark_dissolves
from framekiln.composition.layers.ducks import ducked_sounds
from framekiln.composition.layers.fades import fades_of, ramp
from framekiln.composition.layers.findings import ConfigFinding, ConfigFindings
from framekiln.composition.layers.geometry import Align, Position
from framekiln.composition.layers.layer_warnings import layer_warnings
from framekiln.composition.layers.limits import ConfigLimits
from framekiln.composition.layers.numbers import MAX_NUMBER
from framekiln.composition.layers.placement import LayerPlacer, PlacedLayer
from framekiln.composition.layers.resolved import Dissolve, ResolvedLayer, ResolvedTimeline
from framekiln.composition.layers.sources import PixelSize, SourceFactsByUrl
from framekiln.composition.layers.styles import Shadow, TextStyle
from framekiln.composition.layers.transitions import Property
from framekiln.composition.layers.values import (
    AudioLayer,
    Dimensions,
    FilterLayer,
    Layer,
    LayerConfig,
    SequenceLayer,
    TextLayer,
    VideoLayer,
    VisualLayer,
)
from framekiln.timeline import Timeline

_ZERO = Fraction(0)


def resolve(
    config: LayerConfig,
    media: SourceFactsByUrl,
    *,
    measured: Mapping[str, PixelSize] | None = None,
    limits: ConfigLimits | None = None,
) -> ResolvedTimeline:
    """Return the film, or raise `InvalidConfig` with the layers that cannot be placed.

    `media` has the facts of every source by URL; `measured` the sizes of texts by layer id.
    """
    survey = LayerPlacer(media)
    placed = survey.place(config.layers)
    # Errors that follow from a layer that cannot be placed are not reported.
    survey.findings.raise_issues()
    dimensions = config.dimensions or _taken_over(placed, survey.findings, limits or ConfigLimits())
    duration_s = _duration(config, placed, survey.findings, limits or ConfigLimits())
    survey.findings.raise_issues()
    if config.should_watermark:
        placed = (*placed, *survey.place((watermark(dimensions),)))
    frame_count = 1 if config.extension.is_still else _frame(duration_s, config.fps)
    film = _Resolver(
        config.fps,
        PixelSize(dimensions.width_px, dimensions.height_px),
        _frame(duration_s, config.fps),
        config.extension.is_still,
        measured or {},
    )
    layers = film.resolve_layers(placed, _Container(_ZERO, _ZERO, duration_s))
    resolved = ResolvedTimeline(
        config=config,
        dimensions=dimensions,
        duration_s=duration_s,
        timeline=Timeline(config.fps, max(1, frame_count)),
        layers=tuple(layers),
        dissolves=tuple(film.dissolves),
        sounds=ducked_sounds(film.sounds, config.layers, survey.findings),
    )
    return replace(resolved, warnings=(*survey.findings.warnings, *layer_warnings(resolved)))


def _frame(time_s: Fraction, fps: Fraction) -> int:
    # Halves are rounded up, so that a layer ends in the frame in which the next one starts.
    return floor(time_s * fps + Fraction(1, 2))


def _duration(
    config: LayerConfig,
    placed: Sequence[PlacedLayer],
    findings: ConfigFindings,
    limits: ConfigLimits,
) -> Fraction:
    if config.duration_s is not None:
        return config.duration_s
    needed = [each.start_s + each.extent.least_s for each in placed if each.extent.least_s]
    hinted = [each.start_s + each.extent.hint_s for each in placed if each.extent.hint_s]
    duration_s = max(needed or hinted, default=_ZERO)
    if config.extension.is_still:
        if needed and config.time_s >= duration_s:
            message = f"the layers end before, at {float(duration_s):.3f} s"
            findings.add_warning(ConfigFinding("time", "never_shown", message))
        return max(duration_s, config.time_s + 1 / config.fps)
    if duration_s <= 0:
        message = f"is missing, and no layer has a length of its own{_lost_source(findings)}"
        findings.add_issue(ConfigFinding("duration", "duration_required", message))
    elif duration_s > limits.duration_s:
        message = f"the layers last {float(duration_s):.1f} s; at most {limits.duration_s} are made"
        findings.add_issue(ConfigFinding("duration", "out_of_range", message, "set duration"))
    return duration_s


def _lost_source(findings: ConfigFindings) -> str:
    """Return the first source that cannot be used, for messages about what the film then lacks."""
    lost = [each for each in findings.warnings if each.code.startswith("asset_")]
    return f" ({lost[0].path}: {lost[0].message})" if lost else ""


def _taken_over(
    placed: Sequence[PlacedLayer], findings: ConfigFindings, limits: ConfigLimits
) -> Dimensions:
    with_size = sized_layers(tuple(each.layer for each in placed))
    sizes = [each.source.size for each in placed if each.source and each.layer in with_size[:1]]
    size = sizes[0] if sizes else None
    if size is None:
        lost = _lost_source(findings)
        message = f"is missing, and the only video or image has no size{lost}"
        findings.add_issue(ConfigFinding("dimensions", "required", message))
        return Dimensions(2, 2)
    width, height = (max(2, even_side(Fraction(side))) for side in (size.width, size.height))
    if max(width, height) > limits.side_px or width * height > limits.area_px:
        message = f"is missing, and the source is too large for a film: {width} x {height}"
        findings.add_issue(ConfigFinding("dimensions", "out_of_range", message, "set dimensions"))
    return Dimensions(width, height)


@dataclass(frozen=True)
class _Container:
    """The container of layers: its times in the composition, and its effect on audio."""

    zero_s: Fraction
    start_s: Fraction
    end_s: Fraction
    first_frame: int = 0
    end_frame: int | None = None
    gains: tuple[Curve, ...] = ()
    is_audible: bool = True


@dataclass
class _Resolver:
    """Resolves layers, and collects their dissolves and audio."""

    fps: Fraction
    canvas: PixelSize
    frame_count: int
    is_still: bool
    measured: Mapping[str, PixelSize]
    dissolves: list[Dissolve] = field(default_factory=list)
    sounds: list[LayerAudio] = field(default_factory=list)

    def resolve_layers(
        self, placed: Sequence[PlacedLayer], container: _Container
    ) -> list[ResolvedLayer]:
        """Return the layers of a container, bottom first."""
        marked, dissolves = mark_dissolves(self._resolve_each(placed, container))
        self.dissolves += dissolves
        return sorted(marked, key=lambda layer: _z(layer.layer))

    def _resolve_each(
        self, placed: Sequence[PlacedLayer], container: _Container
    ) -> list[ResolvedLayer]:
        return [
            layer
            for each in placed
            if each.source is not None
            for layer in self._resolve_one(each, container)
        ]

    def _resolve_one(self, each: PlacedLayer, container: _Container) -> list[ResolvedLayer]:
        layer = self._resolved(each, container)
        inside = _Container(
            zero_s=layer.start_s - each.extent.window.in_s,
            start_s=max(container.start_s, layer.start_s),
            end_s=min(container.end_s, layer.end_s),
            first_frame=layer.first_frame,
            end_frame=layer.end_frame,
            gains=(*container.gains, *_gains(layer)),
            is_audible=container.is_audible and each.layer.is_visible,
        )
        if each.source is not None and each.source.has_sound:
            self._add_sound(layer, inside)
        if isinstance(each.layer, SequenceLayer) and _is_plain(each.layer):
            return self._resolve_each(each.children, inside)
        return [replace(layer, children=tuple(self.resolve_layers(each.children, inside)))]

    def _resolved(self, each: PlacedLayer, container: _Container) -> ResolvedLayer:
        start_s = container.zero_s + each.start_s
        end_s = container.end_s if each.end_s is None else container.zero_s + each.end_s
        end_s = max(start_s, end_s)
        last = self.frame_count if container.end_frame is None else container.end_frame
        first_frame = min(max(_frame(start_s, self.fps), container.first_frame), last)
        fades = fades_of(each.layer.transitions)
        fades = fades.crossfading(each.crossfade_in, each.crossfade_out)
        assert each.source is not None
        return ResolvedLayer(
            layer=each.layer,
            start_s=start_s,
            end_s=end_s,
            zero_s=container.zero_s,
            first_frame=first_frame,
            end_frame=min(max(_frame(end_s, self.fps), first_frame), last),
            fps=self.fps,
            is_in_still=self.is_still,
            canvas=self.canvas,
            window=each.extent.window,
            source=each.source.address,
            is_placeholder=each.source.is_placeholder,
            natural=self.measured.get(each.layer.id) or each.source.size,
            fades=fades.within(end_s - start_s),
            curves=curves_of(each.layer.transitions),
        )

    def _add_sound(self, layer: ResolvedLayer, inside: _Container) -> None:
        value = layer.layer
        if not isinstance(value, VideoLayer | AudioLayer) or layer.source is None:
            return
        end_s = inside.end_s
        if value.loop.plays is not None and layer.window.play_s is not None:
            end_s = min(end_s, layer.start_s + layer.window.play_s * value.loop.plays)
        if not inside.is_audible or inside.start_s >= end_s:
            return
        sound = LayerAudio(
            layer_id=value.id,
            path=value.path,
            source=layer.source,
            start_s=inside.start_s,
            end_s=end_s,
            layer_start_s=layer.start_s,
            window=layer.window,
            gains=inside.gains,
        )
        self.sounds.append(sound)


def _z(layer: Layer) -> float:
    return layer.position.z if isinstance(layer, VisualLayer | FilterLayer) else 0.0


def _is_plain(layer: SequenceLayer) -> bool:
    has_trim = layer.trim.start_s != 0 or layer.trim.end_s is not None
    return not (has_trim or layer.transitions or layer.opacity != 1 or not layer.is_visible)


def _gains(layer: ResolvedLayer) -> tuple[Curve, ...]:
    value, curve = layer.layer, layer.curves.get(Property.VOLUME)
    gains: list[Curve] = []
    if curve is not None:
        gains.append(curve.moved(layer.zero_s))
    elif isinstance(value, VideoLayer | AudioLayer):
        gains.append(Curve.constant(value.sound.volume))
    fades = layer.fades
    if fades.sound_in_s or fades.sound_out_s:
        gains.append(
            ramp(layer.start_s, layer.end_s, in_s=fades.sound_in_s, out_s=fades.sound_out_s)
        )
    return tuple(gains)


# No layer of a config can have this id.
_ID: Final = ""
_TEXT: Final = "Made with Framekiln"
_HEIGHT: Final = 1 / 24
_MIN_TEXT_PX: Final = 8.0
_WHITE: Final = Colour(255, 255, 255, 200)
_SHADE: Final = Colour(0, 0, 0, 160)


def watermark(dimensions: Dimensions) -> TextLayer:
    """Return the watermark layer at its size for the canvas."""
    size_px = max(_MIN_TEXT_PX, round(min(dimensions.height_px, dimensions.width_px) * _HEIGHT))
    style = TextStyle(
        text=_TEXT,
        color=_WHITE,
        font_size_px=size_px,
        font_weight=600,
        padding_px=size_px / 2,
        shadow=Shadow(color=_SHADE, y_px=size_px / 16, blur_px=size_px / 6),
    )
    return TextLayer(
        path="shouldWatermark",
        id=_ID,
        text=style,
        position=Position(x=Align.END, y=Align.END, z=float(MAX_NUMBER)),
    )
