"""Warnings about layers that can be drawn, but are probably not what the author wants."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Final

from framekiln.composition.layers.boxes import map_point
from framekiln.composition.layers.curves import Curve
from framekiln.composition.layers.findings import ConfigFinding
from framekiln.composition.layers.geometry import Size
from framekiln.composition.layers.resolved import ResolvedLayer, ResolvedTimeline
from framekiln.composition.layers.state import LayerState, state_at
from framekiln.composition.layers.styles import ShapeKind
from framekiln.composition.layers.transitions import Property
from framekiln.composition.layers.values import (
    AudioLayer,
    GroupLayer,
    HtmlLayer,
    ImageLayer,
    Layer,
    ShapeLayer,
    SubtitlesLayer,
    TextLayer,
    VideoLayer,
    VisualLayer,
    WaveformLayer,
)

_BLURRY: Final = 2.0
"""Images enlarged by more than this get a warning."""
_LOOKS: Final = 5
"""The number of instants at which a layer is searched on the canvas."""


def layer_warnings(film: ResolvedTimeline) -> Iterator[ConfigFinding]:
    """Yield warnings about single layers."""
    heard = {sound.layer_id for sound in film.sounds}
    for layer in film.every_layer():
        value = layer.layer
        # Audio may be shorter than a frame.
        is_heard = isinstance(value, AudioLayer) and value.id in heard
        has_frames = layer.first_frame < layer.end_frame or film.config.extension.is_still
        if not has_frames and not is_heard:
            yield ConfigFinding(value.path, "never_shown", f"{value.label} is outside the film")
        elif isinstance(value, VisualLayer):
            yield from _about_picture(layer)
        yield from _about_keyframes(layer)


def _about_picture(layer: ResolvedLayer) -> Iterator[ConfigFinding]:
    value = layer.layer
    span = layer.end_s - layer.start_s
    times = [layer.start_s + span * Fraction(n, _LOOKS) for n in range(1, _LOOKS + 1)]
    states = [state_at(layer, time_s) for time_s in times]
    if all(_is_outside(state, layer) for state in states):
        message = f"{value.label} is off the canvas all the time"
        yield ConfigFinding(f"{value.path}.position", "off_screen", message)
    for name in _unused_sizes(value):
        message = "is for sources and groups; this layer is drawn at the size of its box"
        yield ConfigFinding(f"{value.path}.size.{name}", "no_effect", message)
    if isinstance(value, VideoLayer | ImageLayer) and layer.natural is not None:
        most = max(_enlargement(state, layer.natural.width) for state in states)
        if most > _BLURRY:
            message = f"the source is enlarged {most:.1f} times and will look soft"
            yield ConfigFinding(f"{value.path}.size", "upscaled", message)


def _about_keyframes(layer: ResolvedLayer) -> Iterator[ConfigFinding]:
    path = f"{layer.layer.path}.transitions"
    for which, curve in layer.curves.items():
        if len(curve.points) == 1:
            yield ConfigFinding(path, "single_keyframe", f"one keyframe of {which} is a constant")
        if message := _without_effect(which, layer.layer):
            yield ConfigFinding(path, "no_effect", message)
        if _is_over_before(curve, layer):
            message = f"the keyframes of {which} are not in the layer's time"
            hint = "keyframe times count from the start of the film, group or sequence"
            yield ConfigFinding(path, "outside_layer", message, hint)


def _without_effect(which: Property, layer: Layer) -> str | None:
    """Return why keyframes of a property do not change a layer, or None if they may."""
    if which is Property.VOLUME and isinstance(layer, VisualLayer):
        is_heard = isinstance(layer, VideoLayer | GroupLayer)
        return None if is_heard else "the layer has no sound"
    is_drawn_once = isinstance(layer, TextLayer | SubtitlesLayer) or (
        isinstance(layer, ShapeLayer) and layer.shape.kind is ShapeKind.PATH
    )
    if which in (Property.WIDTH, Property.HEIGHT) and is_drawn_once:
        return f"{which} does not change the layer, which is drawn once: use keyframes of scale"
    return None


def _unused_sizes(layer: Layer) -> Iterator[str]:
    """Yield the fields of `size` that say how a source fills a box, if there is no source."""
    if isinstance(layer, TextLayer | HtmlLayer | ShapeLayer | WaveformLayer):
        ordinary = Size()
        for name in ("format", "crop", "focus"):
            if getattr(layer.size, name) != getattr(ordinary, name):
                yield name


def _is_over_before(curve: Curve, layer: ResolvedLayer) -> bool:
    times = [point.time_s + layer.zero_s for point in curve.points]
    return len(times) > 1 and (max(times) <= layer.start_s or min(times) >= layer.end_s)


def _is_outside(state: LayerState, layer: ResolvedLayer) -> bool:
    corners = [(0.0, 0.0), (state.width, 0.0), (0.0, state.height), (state.width, state.height)]
    points = [map_point(state.matrix, x, y) for x, y in corners]
    across, down = [x for x, _ in points], [y for _, y in points]
    return (
        max(across) <= 0
        or max(down) <= 0
        or min(across) >= layer.canvas.width
        or min(down) >= layer.canvas.height
    )


def _enlargement(state: LayerState, natural_width: float) -> float:
    shown = natural_width * state.crop.width
    return state.content.width * state.scale / shown if shown > 0 else 0.0
