"""The fields that layers share, and the value types that only they use."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from framekiln.composition.layers.field_types import (
    BooleanType,
    ChoiceType,
    ColourType,
    IntegerType,
    ListType,
    NumberType,
    ObjectType,
    SecondsType,
    TextType,
    ZeroAsNoneType,
)
from framekiln.composition.layers.filters import FilterType
from framekiln.composition.layers.geometry import POSITION, SIZE, Position, Size
from framekiln.composition.layers.json_schema import Definitions, JsonSchema, any_of
from framekiln.composition.layers.limits import MAX_FILTERS, MAX_TIME_S
from framekiln.composition.layers.numbers import seconds_on_grid
from framekiln.composition.layers.schema import (
    REFUSED,
    Field,
    FieldContext,
    Refused,
    Schema,
    json_type_name,
)
from framekiln.composition.layers.source_type import SourceType
from framekiln.composition.layers.starts import is_anchored, read_anchored, write_start
from framekiln.composition.layers.transition_type import TransitionsType
from framekiln.composition.layers.values import (
    ChromaKey,
    Duck,
    LayerSound,
    Loop,
    OnError,
    Start,
    Trim,
)

_ID_NUMBER: Final = IntegerType(-(2**53), 2**53)
_MAX_ID_CHARS: Final = 128
_SECONDS: Final = SecondsType()


@dataclass(frozen=True)
class IdType:
    """The id of a layer: a string, or a whole number converted to one."""

    def read(self, value: object, place: FieldContext) -> str | Refused:
        """Return the id as text."""
        if isinstance(value, int) and not isinstance(value, bool):
            number = _ID_NUMBER.read(value, place)
            return number if isinstance(number, Refused) else str(number)
        if isinstance(value, str) and not value:
            place.issue("type", "must not be empty")
            return REFUSED
        return TextType(_MAX_ID_CHARS).read(value, place)

    def write(self, value: str) -> str:
        """Return the value."""
        return value

    def json_schema(self, definitions: Definitions) -> JsonSchema:
        """Describe an id."""
        text = definitions.text(minLength=1, maxLength=_MAX_ID_CHARS)
        return any_of(text, _ID_NUMBER.json_schema(definitions))


class _OtherIdType(IdType):
    """The id of a layer of the config."""

    def read(self, value: object, place: FieldContext) -> str | Refused:
        layer_id = super().read(value, place)
        if isinstance(layer_id, Refused) or layer_id in place.reading.layer_ids:
            return layer_id
        place.issue("unknown_layer", f"there is no layer with the id {layer_id}")
        return REFUSED


@dataclass(frozen=True)
class _StartType:
    """Seconds, or `after:<id>` and `with:<id>` plus or minus seconds."""

    def read(self, value: object, place: FieldContext) -> Start | Refused:
        if not isinstance(value, str) or not is_anchored(value):
            return self._read_number(value, place)
        start = read_anchored(value, place.reading.layer_ids)
        if start is None:
            layer_id = value.partition(":")[2].strip()
            place.issue("unknown_layer", f"there is no layer with the id {layer_id[:128]}")
            return REFUSED
        return start

    def write(self, value: Start) -> Any:
        return write_start(value)

    def json_schema(self, definitions: Definitions) -> JsonSchema:
        anchored = {"type": "string", "pattern": r"^\s*(after|with):"}
        return any_of(_SECONDS.json_schema(definitions), anchored)

    def _read_number(self, value: object, place: FieldContext) -> Start | Refused:
        if isinstance(value, str) and not place.reading.reads_numeric_strings:
            place.issue("type", "must be a number of seconds, after:<id> or with:<id>")
            return REFUSED
        at_s = _SECONDS.read(value, place)
        return at_s if isinstance(at_s, Refused) else Start(at_s)


_TIMELINE: Final = Schema[dict[str, Any]](dict, (Field("start", "start", _StartType(), Start()),))


@dataclass(frozen=True)
class _TimelineType:
    """`{start}`, its only field."""

    def read(self, value: object, place: FieldContext) -> Start | Refused:
        read = _TIMELINE.read(value, place)
        if isinstance(read, Refused):
            return read
        start: Start = read["start"]
        return start

    def write(self, value: Start) -> dict[str, Any]:
        return {"start": _StartType().write(value)}

    def json_schema(self, definitions: Definitions) -> JsonSchema:
        return _TIMELINE.json_schema(definitions)


def _check_trim(trim: Trim, place: FieldContext) -> Trim | Refused:
    if trim.end_s is None or trim.end_s > trim.start_s:
        return trim
    place.child("end").issue(
        "trim_order", "must be after trim.start", "trim.end is a point of the source, not a length"
    )
    return REFUSED


_PLAYS: Final = IntegerType(0, 10_000)


@dataclass(frozen=True)
class LoopType:
    """True, false, or a number of plays."""

    def read(self, value: object, place: FieldContext) -> Loop | Refused:
        """Return the number of plays."""
        if isinstance(value, bool):
            return Loop(None if value else 1)
        if not isinstance(value, int | float | Fraction | str):
            place.issue("type", f"must be true, false or a count, not {json_type_name(value)}")
            return REFUSED
        if place.reading.reads_numeric_strings and value in ("true", "false"):
            return Loop(None if value == "true" else 1)
        count = _PLAYS.read(value, place)
        return count if isinstance(count, Refused) else Loop(max(1, count))

    def write(self, value: Loop) -> Any:
        """Return the shortest form."""
        if value.plays is None:
            return True
        return False if value.plays == 1 else value.plays

    def json_schema(self, definitions: Definitions) -> JsonSchema:
        """Describe the value."""
        return any_of({"type": "boolean"}, _PLAYS.json_schema(definitions))


# The float 0.1 is more than a tenth.
_SPEED: Final = NumberType(Fraction(1, 10), 10)


@dataclass(frozen=True)
class SpeedType:
    """A playback rate, stored exactly because durations are divided by it."""

    def read(self, value: object, place: FieldContext) -> Fraction | Refused:
        """Return the rate."""
        speed = _SPEED.read_exactly(value, place)
        return speed if isinstance(speed, Refused) else seconds_on_grid(speed)

    def write(self, value: Fraction) -> Any:
        """Return the number."""
        return _SPEED.write(value)

    def json_schema(self, definitions: Definitions) -> JsonSchema:
        """Describe the rate."""
        return _SPEED.json_schema(definitions)


_TRIM: Final = Schema(
    Trim,
    (
        Field("start", "start_s", SecondsType(0, MAX_TIME_S, clamps=True), Fraction(0)),
        Field("end", "end_s", ZeroAsNoneType(SecondsType(0, MAX_TIME_S))),
    ),
    check=_check_trim,
)
_DUCK: Final = Schema(
    Duck,
    (
        Field("under", "under", ListType(_OtherIdType(), 100), is_required=True),
        Field("amount", "amount", NumberType(0, 1), 0.7),
    ),
)
_SOUND: Final = Schema(
    LayerSound,
    (
        Field("volume", "volume", NumberType(0, 1, clamps=True), 1.0),
        Field("duck", "duck", ObjectType(_DUCK)),
    ),
)
_CHROMA_KEY: Final = Schema(
    ChromaKey,
    (
        Field("color", "color", ColourType(), is_required=True),
        Field("similarity", "similarity", NumberType(0, 1), 0.3),
        Field("blend", "blend", NumberType(0, 1), 0.1),
    ),
)

EVERY_LAYER: Final = (
    Field("name", "name", TextType()),
    Field("visible", "is_visible", BooleanType(), True),
    Field("timeline", "start", _TimelineType(), Start()),
    Field("trim", "trim", ObjectType(_TRIM), Trim()),
    Field("opacity", "opacity", NumberType(0, 1), 1.0),
    Field("onError", "on_error", ChoiceType(OnError), OnError.FAIL),
    Field("transitions", "transitions", TransitionsType(), ()),
)
POSITION_FIELD: Final = Field("position", "position", ObjectType(POSITION), Position())
FILTERS_FIELD: Final = Field("filters", "filters", ListType(FilterType(), MAX_FILTERS), ())
BOX: Final = (POSITION_FIELD, Field("size", "size", ObjectType(SIZE), Size()), FILTERS_FIELD)
FILE: Final = (
    Field("file", "file", SourceType(), is_required=True, aliases=("source",)),
    Field("fallbackFile", "fallback_file", SourceType()),
)
OPTIONAL_FILE: Final = (
    Field("file", "file", SourceType(), aliases=("source",)),
    Field("fallbackFile", "fallback_file", SourceType()),
)
PLAYED: Final = (
    Field("audio", "sound", ObjectType(_SOUND), LayerSound()),
    Field("speed", "speed", SpeedType(), Fraction(1)),
    Field("loop", "loop", LoopType(), Loop()),
)
CHROMA_KEY: Final = Field("chromaKey", "chroma_key", ObjectType(_CHROMA_KEY))

ELSEWHERE: Final[Mapping[str, str]] = {
    **{name: f"position.{name}" for name in ("x", "y", "z", "angle", "angleX", "angleY", "origin")},
    **{name: f"size.{name}" for name in ("width", "height", "scale", "format", "crop", "focus")},
    **{name: f"size.{name}" for name in ("borderRadius", "flip")},
    "isRelative": "position.isRelative",
    "volume": "audio.volume",
    "start": "timeline.start",
    "end": "trim.end",
    "duration": "trim.end",
    "length": "trim.end",
    "src": "file",
    "fontSize": "text.fontSize",
    "fontFamily": "text.fontFamily",
    "color": "text.color",
}
"""Common misplaced names on a layer, and their correct paths."""
