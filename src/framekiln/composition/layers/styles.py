"""Styles of text, captions, waveforms and shapes. All lengths are pixels."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from framekiln.composition.layers.colours import BLACK, TRANSPARENT, WHITE, Colour
from framekiln.composition.layers.field_types import (
    BooleanType,
    ChoiceType,
    ColourType,
    IntegerType,
    ListType,
    NumberType,
    ObjectType,
    TextType,
)
from framekiln.composition.layers.json_schema import Definitions, JsonSchema, any_of
from framekiln.composition.layers.limits import MAX_TEXT_CHARS
from framekiln.composition.layers.schema import REFUSED, Field, FieldContext, Refused, Schema


class FontStyle(StrEnum):
    """Upright or slanted."""

    NORMAL = "normal"
    ITALIC = "italic"


class TextAlign(StrEnum):
    """The alignment of lines in their block."""

    LEFT = "left"
    CENTER = "center"
    RIGHT = "right"
    JUSTIFY = "justify"


class HorizontalPosition(StrEnum):
    """A horizontal position."""

    LEFT = "left"
    CENTER = "center"
    RIGHT = "right"


class VerticalPosition(StrEnum):
    """A vertical position."""

    TOP = "top"
    CENTER = "center"
    BOTTOM = "bottom"


class TextFit(StrEnum):
    """How the font size follows the box."""

    NONE = "none"
    SHRINK = "shrink"
    GROW = "grow"
    """As large as the box allows; smaller if necessary."""


@dataclass(frozen=True)
class TextPosition:
    """The position of a block of text in a larger box."""

    x: HorizontalPosition = HorizontalPosition.LEFT
    y: VerticalPosition = VerticalPosition.TOP


@dataclass(frozen=True)
class Stroke:
    """An outline of letters."""

    color: Colour = BLACK
    width_px: float = 1.0


@dataclass(frozen=True)
class Shadow:
    """A shadow of letters."""

    color: Colour = BLACK
    x_px: float = 0.0
    y_px: float = 0.0
    blur_px: float = 0.0


@dataclass(frozen=True)
class TextStyle:
    """The `text` of a text layer."""

    text: str
    color: Colour = WHITE
    background: Colour = TRANSPARENT
    font_family: str = "Helvetica"
    font_size_px: float = 100.0
    font_style: FontStyle = FontStyle.NORMAL
    font_weight: int = 400
    line_height: float = 1.2
    """A multiple of the font size."""
    padding_px: float = 16.0
    border: str = "none"
    border_radius_px: float = 0.0
    align: TextAlign = TextAlign.LEFT
    position: TextPosition | None = None
    decoration: str = "none"
    background_transform: str = "none"
    transform: str = "none"
    """CSS transform functions, or uppercase, lowercase, capitalize."""
    tailwind: str | None = None
    fit: TextFit = TextFit.NONE
    max_lines: int | None = None
    ellipsis: bool = False
    stroke: Stroke | None = None
    shadow: Shadow | None = None
    letter_spacing_px: float = 0.0


class WaveStyle(StrEnum):
    """How audio is drawn."""

    BARS = "bars"
    BARS_VERTICAL = "barsVertical"
    BRICKS = "bricks"
    CURVE = "curve"
    EQUALIZER = "equalizer"
    LINE = "line"
    PIXEL = "pixel"
    ROUND_BARS = "roundBars"
    WAVE = "wave"
    WAVE_SMOOTH = "waveSmooth"


@dataclass(frozen=True)
class Waveform:
    """The `waveform` of a waveform layer."""

    color: Colour = WHITE
    background: Colour = TRANSPARENT
    secondary: Colour = TRANSPARENT
    style: WaveStyle = WaveStyle.BARS


@dataclass(frozen=True)
class SubtitleStyle:
    """The `subtitles` of a subtitles layer."""

    color: Colour = WHITE
    background: Colour = BLACK
    font_size_px: float = 32.0


class ShapeKind(StrEnum):
    """The shape in the box."""

    RECT = "rect"
    ELLIPSE = "ellipse"
    LINE = "line"
    """Through the middle of the box, along its longer side."""
    PATH = "path"


@dataclass(frozen=True)
class Shape:
    """The `shape` of a shape layer; a path is SVG path data in pixels of the box."""

    kind: ShapeKind
    color: Colour = WHITE
    stroke_color: Colour = TRANSPARENT
    stroke_width_px: float = 0.0
    border_radius_px: float = 0.0
    path: str | None = None


_WEIGHT: Final = IntegerType(1, 1000)


@dataclass(frozen=True)
class _WeightType:
    def read(self, value: object, place: FieldContext) -> int | Refused:
        words = {"normal": 400, "bold": 700}
        if isinstance(value, str) and value.lower() in words:
            return words[value.lower()]
        if isinstance(value, str) and re.fullmatch("[1-9]00", value):
            return int(value)
        return _WEIGHT.read(value, place)

    def write(self, value: int) -> int:
        return value

    def json_schema(self, definitions: Definitions) -> JsonSchema:
        words = ["normal", "bold", *(f"{hundreds}00" for hundreds in range(1, 10))]
        return any_of(_WEIGHT.json_schema(definitions), {"type": "string", "enum": words})


_COLOUR: Final = ColourType()
_PX: Final = NumberType(-10_000, 10_000)
_LENGTH: Final = NumberType(0, 10_000)
_CSS: Final = TextType(500, is_css=True)

_TEXT_POSITION: Final = Schema(
    TextPosition,
    (
        Field("x", "x", ChoiceType(HorizontalPosition), HorizontalPosition.LEFT),
        Field("y", "y", ChoiceType(VerticalPosition), VerticalPosition.TOP),
    ),
)
_STROKE: Final = Schema(
    Stroke, (Field("color", "color", _COLOUR, BLACK), Field("width", "width_px", _LENGTH, 1.0))
)
_SHADOW: Final = Schema(
    Shadow,
    (
        Field("color", "color", _COLOUR, BLACK),
        Field("x", "x_px", _PX, 0.0),
        Field("y", "y_px", _PX, 0.0),
        Field("blur", "blur_px", NumberType(0, 1000), 0.0),
    ),
)
_TEXT: Final = Schema(
    TextStyle,
    (
        Field("text", "text", TextType(MAX_TEXT_CHARS), is_required=True),
        Field("color", "color", _COLOUR, WHITE),
        Field("backgroundColor", "background", _COLOUR, TRANSPARENT),
        Field("fontFamily", "font_family", _CSS, "Helvetica"),
        Field("fontSize", "font_size_px", NumberType(0, 4000, over=True), 100.0),
        Field("fontStyle", "font_style", ChoiceType(FontStyle), FontStyle.NORMAL),
        Field("fontWeight", "font_weight", _WeightType(), 400),
        Field("lineHeight", "line_height", NumberType(0, 100), 1.2),
        Field("padding", "padding_px", _LENGTH, 16.0),
        Field("border", "border", _CSS, "none"),
        Field("borderRadius", "border_radius_px", _LENGTH, 0.0),
        Field("textAlign", "align", ChoiceType(TextAlign), TextAlign.LEFT),
        Field("textPosition", "position", ObjectType(_TEXT_POSITION)),
        Field("textDecoration", "decoration", _CSS, "none"),
        Field("backgroundTransform", "background_transform", _CSS, "none"),
        Field("textTransform", "transform", _CSS, "none"),
        Field("tailwind", "tailwind", TextType(2000, is_css=False)),
        Field("fit", "fit", ChoiceType(TextFit), TextFit.NONE),
        Field("maxLines", "max_lines", IntegerType(1, 1000)),
        Field("ellipsis", "ellipsis", BooleanType(), False),
        Field("stroke", "stroke", ObjectType(_STROKE)),
        Field("shadow", "shadow", ObjectType(_SHADOW)),
        Field("letterSpacing", "letter_spacing_px", NumberType(-1000, 1000), 0.0),
    ),
    ignored=frozenset({"lines"}),
)


_LINES: Final = ListType(TextType(MAX_TEXT_CHARS), 1000)


@dataclass(frozen=True)
class TextStyleType:
    """The `text` object; `lines` may replace a text with line breaks."""

    def read(self, value: object, place: FieldContext) -> TextStyle | Refused:
        """Return the style."""
        if isinstance(value, str):
            place.issue("type", "must be an object, not a string", 'write {"text": "..."}')
            return REFUSED
        if isinstance(value, Mapping) and value.get("lines") is not None:
            lines = _LINES.read(value["lines"], place.child("lines"))
            if isinstance(lines, Refused):
                return lines
            value = {"text": "\n".join(lines), **{k: v for k, v in value.items() if v is not None}}
        return _TEXT.read(value, place)

    def write(self, value: TextStyle) -> dict[str, Any]:
        """Return the object."""
        return _TEXT.write(value)

    def json_schema(self, definitions: Definitions) -> JsonSchema:
        """Describe the object."""
        return definitions.refer("TextStyle", lambda: self._described(definitions))

    def _described(self, definitions: Definitions) -> JsonSchema:
        properties = {**_TEXT.properties(definitions), "lines": _LINES.json_schema(definitions)}
        return definitions.object_of(properties, required=[("text", "lines")])


WAVEFORM: Final = Schema(
    Waveform,
    (
        Field("color", "color", _COLOUR, WHITE),
        Field("backgroundColor", "background", _COLOUR, TRANSPARENT),
        Field("secondaryColor", "secondary", _COLOUR, TRANSPARENT),
        Field("style", "style", ChoiceType(WaveStyle), WaveStyle.BARS),
    ),
)
SUBTITLES: Final = Schema(
    SubtitleStyle,
    (
        Field("color", "color", _COLOUR, WHITE),
        Field("backgroundColor", "background", _COLOUR, BLACK),
        Field("fontSize", "font_size_px", NumberType(0, 4000, over=True), 32.0),
    ),
)

_PATH_DATA: Final = re.compile(r"[\sMmLlHhVvCcSsQqTtAaZz0-9,.eE+-]*")


def _check_shape(shape: Shape, place: FieldContext) -> Shape | Refused:
    if shape.kind is ShapeKind.PATH and shape.path is None:
        place.child("path").issue("required", "a path needs SVG path data")
        return REFUSED
    if shape.path is not None and not _PATH_DATA.fullmatch(shape.path):
        place.child("path").issue("type", "must be SVG path data such as M 0 0 L 10 10 Z")
        return REFUSED
    return shape


SHAPE: Final = Schema(
    Shape,
    (
        Field("kind", "kind", ChoiceType(ShapeKind), is_required=True, aliases=("type",)),
        Field("color", "color", _COLOUR, WHITE, aliases=("fill",)),
        Field("strokeColor", "stroke_color", _COLOUR, TRANSPARENT),
        Field("strokeWidth", "stroke_width_px", _LENGTH, 0.0),
        Field("borderRadius", "border_radius_px", _LENGTH, 0.0),
        Field("path", "path", TextType(20_000)),
    ),
    check=_check_shape,
)
