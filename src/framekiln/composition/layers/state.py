"""The state of a layer at an instant: a pure function of the resolved layer and the time.

Preset entrances and exits translate, scale and wipe a layer.
"""

from collections.abc import Hashable
from copy import copy
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from math import isfinite
from typing import Any, Final

from framekiln.composition.layers.boxes import (
    WHOLE,
    LayoutBox,
    Matrix,
    Rect,
    Transform,
    lay_out_drawn,
    lay_out_media,
    map_point,
    place_box,
    transform_matrix,
)
from framekiln.composition.layers.colours import Colour
from framekiln.composition.layers.fades import ramp
from framekiln.composition.layers.filters import Filter, FilterName
from framekiln.composition.layers.geometry import Position, Size
from framekiln.composition.layers.resolved import ResolvedLayer
from framekiln.composition.layers.sources import PixelSize
from framekiln.composition.layers.transitions import Move, Preset, Property, Side
from framekiln.composition.layers.values import (
    FilterLayer,
    GroupLayer,
    HtmlLayer,
    ImageLayer,
    LottieLayer,
    SequenceLayer,
    ShapeLayer,
    SubtitlesLayer,
    TextLayer,
    VideoLayer,
    VisualLayer,
    WaveformLayer,
)


@dataclass(frozen=True)
class PresetOffset:
    """The effect of presets on a layer. For `across` and `down`, -1 is fully out at left or top."""

    across: float = 0.0
    down: float = 0.0
    scale: float = 1.0
    reveal: Rect = field(default=WHOLE)


def preset_offset_at(layer: ResolvedLayer, time_s: Fraction) -> PresetOffset:
    """Return the effect of a layer's presets at an instant; several are combined."""
    presets = [each for each in layer.layer.transitions if isinstance(each, Preset)]
    shift = PresetOffset()
    if not presets:
        return shift
    wanted = sum((_longest(presets, is_in=way) for way in (True, False)), Fraction(0))
    fits = min(Fraction(1), layer.length_s / wanted)
    for preset in presets:
        gone_s = time_s - layer.start_s if preset.is_in else layer.end_s - time_s
        there = preset.easing(float(gone_s / (preset.duration_s * fits)))
        shift = _added(shift, preset, there)
    return shift


def _longest(presets: list[Preset], *, is_in: bool) -> Fraction:
    return max((each.duration_s for each in presets if each.is_in is is_in), default=Fraction(0))


def _added(shift: PresetOffset, preset: Preset, there: float) -> PresetOffset:
    out = 1 - there
    if preset.move is Move.ZOOM:
        return PresetOffset(shift.across, shift.down, shift.scale * max(0.0, there), shift.reveal)
    if preset.move is Move.WIPE:
        reveal = shift.reveal.intersection(_revealed(preset.side, there))
        return PresetOffset(shift.across, shift.down, shift.scale, reveal)
    away = -out if preset.side in (Side.LEFT, Side.TOP) else out
    if preset.side in (Side.LEFT, Side.RIGHT):
        return PresetOffset(shift.across + away, shift.down, shift.scale, shift.reveal)
    return PresetOffset(shift.across, shift.down + away, shift.scale, shift.reveal)


def _revealed(side: Side, there: float) -> Rect:
    shown = min(1.0, max(0.0, there))
    if side is Side.LEFT:
        return Rect(0.0, 0.0, shown, 1.0)
    if side is Side.RIGHT:
        return Rect(1 - shown, 0.0, shown, 1.0)
    if side is Side.TOP:
        return Rect(0.0, 0.0, 1.0, shown)
    return Rect(0.0, 1 - shown, 1.0, shown)


_CAPTION_MARGIN: Final = 0.03
"""Of the canvas: the margin below captions that had to be moved."""


@dataclass(frozen=True)
class DissolveState:
    """A layer in a dissolve with another one; the weights of both add up to 1."""

    partner_id: str
    weight: float
    is_coming: bool


@dataclass(frozen=True)
class FilterState:
    """A filter at an instant: `percent` as in the config, `cover` is 0..1 of a fade's colour."""

    name: FilterName
    percent: float
    colour: Colour
    cover: float


@dataclass(frozen=True, kw_only=True)
class LayerState:
    """One layer at one instant. Pixels are those of the canvas, before scale and rotation."""

    is_visible: bool
    source_s: Fraction
    """The source time; for pages, texts and stills the time since their start."""
    x: float = 0.0
    y: float = 0.0
    width: float = 0.0
    height: float = 0.0
    content: Rect = WHOLE
    """The area of the source in the box, in pixels of the box."""
    crop: Rect = WHOLE
    """The visible part of the source, as fractions of it."""
    reveal: Rect = WHOLE
    """The visible part of the box, as fractions of it: wipes."""
    scale: float = 1.0
    angle: float = 0.0
    angle_x: float = 0.0
    angle_y: float = 0.0
    origin_x: float = 0.0
    origin_y: float = 0.0
    """In pixels of the box."""
    perspective_px: float = 0.0
    opacity: float = 1.0
    """Includes fades, but not the weight of a dissolve."""
    blur_px: float = 0.0
    filters: tuple[FilterState, ...] = ()
    dissolve: DissolveState | None = None

    def moved_to(self, source_s: Fraction, *, is_visible: bool) -> "LayerState":
        """Return the same state at another instant; cached properties stay valid."""
        other = copy(self)
        # The new object is not shared yet, so it may still be modified.
        object.__setattr__(other, "source_s", source_s)
        object.__setattr__(other, "is_visible", is_visible)
        return other

    @cached_property
    def picture_key(self) -> Hashable:
        """Everything that the layer's own picture depends on, except for the source image."""
        box = (self.width, self.height, self.content, self.crop, self.reveal)
        return (box, self.filters, self.blur_px)

    @cached_property
    def matrix(self) -> Matrix:
        """The matrix from pixels of the box to pixels of the canvas."""
        return transform_matrix(
            Transform(
                self.x,
                self.y,
                self.origin_x,
                self.origin_y,
                self.scale,
                self.angle,
                self.angle_x,
                self.angle_y,
                self.perspective_px,
            )
        )


def state_at(
    layer: ResolvedLayer, time_s: Fraction, *, content: PixelSize | None = None
) -> LayerState:
    """Return the state of a layer at an instant of the composition.

    `content` is the size of the drawn content, if only the painter knows it: text, captions.
    """
    state = LayerState(
        is_visible=layer.is_on_at(time_s) and layer.layer.is_visible,
        source_s=layer.window.at(time_s - layer.start_s, layer.frame_s),
        opacity=_opacity(layer, time_s),
        filters=_filters(layer, time_s),
        dissolve=_dissolve(layer, time_s),
        **_appearance(layer, time_s, content),
    )
    return _shifted(state, preset_offset_at(layer, time_s), layer.canvas)


def state_reused_at(state: LayerState, layer: ResolvedLayer, time_s: Fraction) -> LayerState:
    """Return a state that is known to look the same at another instant, moved there."""
    source_s = layer.window.at(time_s - layer.start_s, layer.frame_s)
    return state.moved_to(source_s, is_visible=layer.is_on_at(time_s) and layer.layer.is_visible)


def _appearance(
    layer: ResolvedLayer, time_s: Fraction, content: PixelSize | None
) -> dict[str, Any]:
    if isinstance(layer.layer, VisualLayer):
        return _boxed(layer, time_s, content)
    if isinstance(layer.layer, SequenceLayer):
        width, height = layer.canvas.width, layer.canvas.height
        return {"width": width, "height": height, "content": Rect(0, 0, width, height)}
    return {}


def _boxed(layer: ResolvedLayer, time_s: Fraction, content: PixelSize | None) -> dict[str, Any]:
    value = layer.layer
    assert isinstance(value, VisualLayer)

    def moved(which: Property, still: float) -> float:
        curve = layer.curves.get(which)
        return still if curve is None else curve.at(time_s - layer.zero_s)

    box = _box(layer, _sized(layer, time_s), content)
    position = _positioned(layer, time_s)
    x, y = place_box(position, PixelSize(box.width, box.height), layer.canvas)
    if isinstance(value, SubtitlesLayer) and Property.Y not in layer.curves:
        y = _lifted(y, box.height, layer.canvas.height)
    return {
        "x": x,
        "y": y,
        "width": box.width,
        "height": box.height,
        "content": box.content,
        "crop": box.crop,
        "scale": max(0.0, moved(Property.SCALE, value.size.scale)),
        "angle": moved(Property.ANGLE, position.angle),
        "angle_x": moved(Property.ANGLE_X, position.angle_x),
        "angle_y": moved(Property.ANGLE_Y, position.angle_y),
        "origin_x": position.origin.x.along(box.width),
        "origin_y": position.origin.y.along(box.height),
        "perspective_px": position.perspective_px,
        "blur_px": max(0.0, moved(Property.BLUR, 0.0)),
    }


def _lifted(top: float, height: float, whole: float) -> float:
    """Return the position of captions; those that would cross the lower edge are moved up."""
    if top + height <= whole or top >= whole:
        return top
    return max(0.0, whole * (1 - _CAPTION_MARGIN) - height)


def _sized(layer: ResolvedLayer, time_s: Fraction) -> Size:
    value = layer.layer
    assert isinstance(value, VisualLayer)
    size = value.size
    if Property.WIDTH in layer.curves:
        size = replace(size, width_px=_side(layer, Property.WIDTH, time_s))
    if Property.HEIGHT in layer.curves:
        size = replace(size, height_px=_side(layer, Property.HEIGHT, time_s))
    return size


def _side(layer: ResolvedLayer, which: Property, time_s: Fraction) -> float:
    # A box of no width has no content; a thousandth of a pixel is not visible either.
    return max(0.001, layer.curves[which].at(time_s - layer.zero_s))


def _positioned(layer: ResolvedLayer, time_s: Fraction) -> Position:
    value = layer.layer
    assert isinstance(value, VisualLayer)
    position = value.position
    if Property.X in layer.curves:
        position = replace(position, x=layer.curves[Property.X].at(time_s - layer.zero_s))
    if Property.Y in layer.curves:
        position = replace(position, y=layer.curves[Property.Y].at(time_s - layer.zero_s))
    return position


def _box(layer: ResolvedLayer, size: Size, content: PixelSize | None) -> LayoutBox:
    value, canvas = layer.layer, layer.canvas
    if isinstance(value, GroupLayer):
        return lay_out_media(size, canvas, canvas)
    if isinstance(value, VideoLayer | ImageLayer | LottieLayer):
        return lay_out_media(size, layer.natural or canvas, canvas)
    if isinstance(value, HtmlLayer | WaveformLayer | ShapeLayer):
        return lay_out_drawn(size, canvas)
    return lay_out_drawn(size, content or layer.natural or estimated_text_size(layer))


def estimated_text_size(layer: ResolvedLayer) -> PixelSize:
    """Return an estimate of a text's size before it is measured: one line of it."""
    value, canvas = layer.layer, layer.canvas
    if isinstance(value, TextLayer):
        style = value.text
        line = style.font_size_px * style.line_height + 2 * style.padding_px
        return PixelSize(text_wrap_px(layer), line)
    assert isinstance(value, SubtitlesLayer)
    return PixelSize(canvas.width * 0.9, value.subtitles.font_size_px * 1.2)


def text_wrap_px(layer: ResolvedLayer) -> float:
    """Return the wrap width of a text without a width of its own."""
    value, canvas = layer.layer, layer.canvas
    assert isinstance(value, VisualLayer)
    if isinstance(value, SubtitlesLayer):
        return canvas.width * 0.9
    if value.size.width_px is not None:
        return value.size.width_px
    x, _ = place_box(value.position, PixelSize(0, 0), canvas)
    is_number = isinstance(value.position.x, int | float)
    return max(1.0, canvas.width - max(x, 0.0)) if is_number else canvas.width


def _shifted(state: LayerState, shift: PresetOffset, canvas: PixelSize) -> LayerState:
    if shift == PresetOffset():
        return state
    corners = [
        map_point(state.matrix, x, y) for x in (0.0, state.width) for y in (0.0, state.height)
    ]
    across = _slide_offset(shift.across, [x for x, _ in corners], canvas.width)
    down = _slide_offset(shift.down, [y for _, y in corners], canvas.height)
    return replace(
        state,
        x=state.x + across,
        y=state.y + down,
        scale=state.scale * shift.scale,
        reveal=shift.reveal,
    )


def _slide_offset(share: float, corners: list[float], whole: float) -> float:
    """Return the offset of a slide: -1 is just beyond the near edge, 1 beyond the far one."""
    # In perspective, a corner may be infinitely far away.
    near = [corner for corner in corners if isfinite(corner)] or [0.0, whole]
    return share * max(near) if share < 0 else share * (whole - min(near))


def _opacity(layer: ResolvedLayer, time_s: Fraction) -> float:
    curve = layer.curves.get(Property.OPACITY)
    opacity = layer.layer.opacity if curve is None else curve.at(time_s - layer.zero_s)
    in_s = Fraction(0) if layer.dissolve_in else layer.fades.in_s
    out_s = Fraction(0) if layer.dissolve_out else layer.fades.out_s
    fade = ramp(layer.start_s, layer.end_s, in_s=in_s, out_s=out_s).at(time_s)
    return min(1.0, max(0.0, opacity * fade))


def _dissolve(layer: ResolvedLayer, time_s: Fraction) -> DissolveState | None:
    coming, going = layer.dissolve_in, layer.dissolve_out
    if coming is not None and coming.holds_at(time_s):
        return DissolveState(coming.from_id, coming.mix_at(time_s), is_coming=True)
    if going is not None and going.holds_at(time_s):
        return DissolveState(going.to_id, 1 - going.mix_at(time_s), is_coming=False)
    return None


def _filters(layer: ResolvedLayer, time_s: Fraction) -> tuple[FilterState, ...]:
    value = layer.layer
    filters = value.filters if isinstance(value, VisualLayer) else ()
    if isinstance(value, FilterLayer):
        filters = (value.filter,)
    return tuple(
        FilterState(each.name, each.percent, each.colour, _cover(each, layer, time_s))
        for each in filters
    )


def _cover(each: Filter, layer: ResolvedLayer, time_s: Fraction) -> float:
    if not each.is_fade:
        return 0.0
    start_s, end_s = each.span(layer.start_s, layer.end_s, zero_s=layer.zero_s)
    gone = float(min(max((time_s - start_s) / (end_s - start_s), Fraction(0)), Fraction(1)))
    return 1 - gone if each.name is FilterName.FADE_IN else gone
