"""Position and size of a layer: the `position` and `size` of a config."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from framekiln.composition.layers.field_types import (
    BooleanType,
    ChoiceType,
    NumberType,
    ObjectType,
    ZeroAsNoneType,
)
from framekiln.composition.layers.json_schema import Definitions, JsonSchema, any_of
from framekiln.composition.layers.limits import MAX_ANGLE_DEGREES, MAX_OFFSET_PX
from framekiln.composition.layers.schema import (
    REFUSED,
    Field,
    FieldContext,
    Refused,
    Schema,
    json_type_name,
)


class Align(StrEnum):
    """Keywords of x and y; `START` is left or top, `END` right or bottom."""

    START = "start"
    CENTER = "center"
    END = "end"


@dataclass(frozen=True)
class Length:
    """A CSS length relative to a box: a fraction of its side plus pixels."""

    share: float = 0.0
    px: float = 0.0

    def along(self, side_px: float) -> float:
        """Return the length in pixels."""
        return self.share * side_px + self.px


@dataclass(frozen=True)
class Origin:
    """The fixed point of a box for scale and rotation."""

    x: Length = Length(0.5)
    y: Length = Length(0.5)
    text: str = "center"


@dataclass(frozen=True)
class Position:
    """The upper left corner of the unscaled box, its z-order, and its rotation."""

    x: float | Align = 0.0
    y: float | Align = 0.0
    is_relative: bool = False
    """Whether x and y are fractions of the canvas."""
    z: float = 0.0
    angle: float = 0.0
    angle_x: float = 0.0
    angle_y: float = 0.0
    origin: Origin = Origin()
    perspective_px: float = 0.0
    """0 is orthographic."""


class Format(StrEnum):
    """How media fills a box with another aspect ratio."""

    FIT = "fit"
    FILL = "fill"
    STRETCH = "stretch"


class Flip(StrEnum):
    """Applied before layout."""

    NONE = "none"
    X = "x"
    Y = "y"
    BOTH = "both"


@dataclass(frozen=True)
class Crop:
    """The crop of each side of the source, as a fraction of it."""

    top: float = 0.0
    right: float = 0.0
    bottom: float = 0.0
    left: float = 0.0


@dataclass(frozen=True)
class Focus:
    """The point that `fill` keeps visible: 0 is left or top, 1 right or bottom."""

    x: float = 0.5
    y: float = 0.5


@dataclass(frozen=True)
class Size:
    """The box of a layer; missing sides come from the content."""

    width_px: float | None = None
    height_px: float | None = None
    format: Format | None = None
    scale: float = 1.0
    crop: Crop = Crop()
    focus: Focus = Focus()
    border_radius_px: float = 0.0
    flip: Flip = Flip.NONE


_OFFSET: Final = NumberType(-MAX_OFFSET_PX, MAX_OFFSET_PX)
# A side of 0 means auto.
_SIDE: Final = ZeroAsNoneType(NumberType(0, MAX_OFFSET_PX))


@dataclass(frozen=True)
class _CoordinateType:
    start: str
    end: str

    def read(self, value: object, place: FieldContext) -> float | Align | Refused:
        words = {self.start: Align.START, "center": Align.CENTER, self.end: Align.END}
        if isinstance(value, str) and value.strip().lower() in words:
            return words[value.strip().lower()]
        if isinstance(value, str) and not place.reading.reads_numeric_strings:
            place.issue("type", f"must be a number, or one of {', '.join(words)}")
            return REFUSED
        return _OFFSET.read(value, place)

    def write(self, value: float | Align) -> Any:
        if not isinstance(value, Align):
            return _OFFSET.write(value)
        return {Align.START: self.start, Align.CENTER: "center", Align.END: self.end}[value]

    def json_schema(self, definitions: Definitions) -> JsonSchema:
        words = {"type": "string", "enum": [self.start, "center", self.end]}
        return any_of(_OFFSET.json_schema(definitions), words)


_PART: Final = re.compile(r"([+-]?\d{0,9}\.?\d{1,9})(px|%)?")
_ACROSS: Final = {"left": 0.0, "right": 1.0}
_DOWN: Final = {"top": 0.0, "bottom": 1.0}


@dataclass(frozen=True)
class _OriginType:
    def read(self, value: object, place: FieldContext) -> Origin | Refused:
        if not isinstance(value, str):
            place.issue("type", f"must be a string, not {json_type_name(value)}")
            return REFUSED
        origin = read_origin(value)
        if origin is not None:
            return origin
        place.issue("unknown_value", "must be a CSS transform-origin such as center or 10px 50%")
        return REFUSED

    def write(self, value: Origin) -> str:
        return value.text

    def json_schema(self, definitions: Definitions) -> JsonSchema:
        return {"type": "string", "description": "A CSS transform-origin."}


def read_origin(text: str) -> Origin | None:
    """Return the meaning of a CSS transform-origin of one or two values, or None."""
    parts = _keyword_pair(text.lower()) or text.lower().split()
    if len(parts) == 1:
        parts = ["center", parts[0]] if parts[0] in _DOWN else [parts[0], "center"]
    if len(parts) != 2:
        return None
    if parts[0] in _DOWN or parts[1] in _ACROSS:
        parts.reverse()
    x, y = _length(parts[0], _ACROSS), _length(parts[1], _DOWN)
    text = "center" if parts == ["center", "center"] else " ".join(parts)
    return None if x is None or y is None else Origin(x, y, text)


def _keyword_pair(text: str) -> list[str] | None:
    # "top-left" is not valid CSS, but common.
    parts = text.strip().split("-")
    known = {*_ACROSS, *_DOWN, "center"}
    return parts if len(parts) == 2 and all(part in known for part in parts) else None


def _length(part: str, keywords: Mapping[str, float]) -> Length | None:
    if part == "center":
        return Length(0.5)
    if part in keywords:
        return Length(keywords[part])
    match = _PART.fullmatch(part)
    if match is None:
        return None
    number = float(match[1])
    return Length(number / 100) if match[2] == "%" else Length(0.0, number)


_ANGLE: Final = NumberType(-MAX_ANGLE_DEGREES, MAX_ANGLE_DEGREES)
_SHARE: Final = NumberType(0, 1)

POSITION: Final = Schema(
    Position,
    (
        Field("x", "x", _CoordinateType("left", "right"), 0.0),
        Field("y", "y", _CoordinateType("top", "bottom"), 0.0),
        Field("isRelative", "is_relative", BooleanType(), False),
        Field("z", "z", NumberType(-1_000_000, 1_000_000), 0.0),
        Field("angle", "angle", _ANGLE, 0.0),
        Field("angleX", "angle_x", _ANGLE, 0.0),
        Field("angleY", "angle_y", _ANGLE, 0.0),
        Field("origin", "origin", _OriginType(), Origin()),
        Field("perspective", "perspective_px", NumberType(0, MAX_OFFSET_PX), 0.0),
    ),
)


def _check_crop(crop: Crop, place: FieldContext) -> Crop | Refused:
    if crop.left + crop.right < 1 and crop.top + crop.bottom < 1:
        return crop
    place.issue("out_of_range", "must leave something: opposite sides add up to less than 1")
    return REFUSED


_CROP: Final = Schema(
    Crop,
    tuple(Field(side, side, _SHARE, 0.0) for side in ("top", "right", "bottom", "left")),
    check=_check_crop,
)
_FOCUS: Final = Schema(Focus, (Field("x", "x", _SHARE, 0.5), Field("y", "y", _SHARE, 0.5)))

SIZE: Final = Schema(
    Size,
    (
        Field("width", "width_px", _SIDE),
        Field("height", "height_px", _SIDE),
        Field("format", "format", ChoiceType(Format)),
        Field("scale", "scale", NumberType(0, 100, over=True), 1.0),
        Field("crop", "crop", ObjectType(_CROP), Crop()),
        Field("focus", "focus", ObjectType(_FOCUS), Focus()),
        Field("borderRadius", "border_radius_px", NumberType(0, MAX_OFFSET_PX), 0.0),
        Field("flip", "flip", ChoiceType(Flip), Flip.NONE),
    ),
)
