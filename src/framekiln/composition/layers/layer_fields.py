"""The fields that layers share, and the sorts of values only they have."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from framekiln.composition.layers.filters import FilterKind
from framekiln.composition.layers.geometry import POSITION, SIZE, Position, Size
from framekiln.composition.layers.kinds import (
    Address,
    Choice,
    ColourKind,
    Flag,
    ListOf,
    Nested,
    Number,
    Seconds,
    Text,
    Whole,
)
from framekiln.composition.layers.limits import MAX_FILTERS, MAX_TIME_S
from framekiln.composition.layers.numbers import as_json_number, numeric_text, seconds
from framekiln.composition.layers.place import Place
from framekiln.composition.layers.schema import REFUSED, Field, Refused, Schema, said
from framekiln.composition.layers.transitions import TransitionsKind
from framekiln.composition.layers.values import (
    Anchor,
    ChromaKey,
    Duck,
    LayerSound,
    Loop,
    OnError,
    Start,
    Trim,
)

_ANCHORED: Final = re.compile(r"\s*(after|with):(.{1,150})", re.DOTALL)
_SHIFTED: Final = re.compile(r"(.+?)\s*([+-]\s*\d{0,6}\.?\d{1,9})s?\s*", re.DOTALL)


@dataclass(frozen=True)
class IdKind:
    """A layer's name for others: a string, or a whole number made one."""

    def read(self, value: object, place: Place) -> str | Refused:
        """Return the id as text."""
        if isinstance(value, int) and not isinstance(value, bool):
            number = Whole(-(2**53), 2**53).read(value, place)
            return number if isinstance(number, Refused) else str(number)
        if isinstance(value, str) and not value:
            place.issue("type", "must not be empty")
            return REFUSED
        return Text(128).read(value, place)

    def write(self, value: str) -> str:
        """Return it."""
        return value


@dataclass(frozen=True)
class _StartKind:
    """Seconds, or `after:<id>` and `with:<id>`, with seconds added or taken away."""

    def read(self, value: object, place: Place) -> Start | Refused:
        anchored = _ANCHORED.fullmatch(value) if isinstance(value, str) else None
        if anchored is None:
            return self._read_number(value, place)
        anchor, text = Anchor(anchored[1]), anchored[2].strip()
        if text in place.reading.layer_ids:
            return Start(Fraction(0), anchor, text)
        shifted = _SHIFTED.fullmatch(text)
        if shifted is None or shifted[1] not in place.reading.layer_ids:
            place.issue("unknown_layer", f"there is no layer with the id {text[:128]}")
            return REFUSED
        shift = numeric_text(shifted[2].replace(" ", ""))
        return Start(seconds(shift or Fraction(0)), anchor, shifted[1])

    def write(self, value: Start) -> Any:
        if value.anchor is None:
            return as_json_number(value.at_s)
        shift = "" if not value.at_s else f"{float(value.at_s):+.9f}".rstrip("0").rstrip(".")
        return f"{value.anchor.value}:{value.layer_id}{shift}"

    def _read_number(self, value: object, place: Place) -> Start | Refused:
        if isinstance(value, str) and not place.reading.reads_numeric_strings:
            place.issue("type", "must be a number of seconds, after:<id> or with:<id>")
            return REFUSED
        at_s = Seconds().read(value, place)
        return at_s if isinstance(at_s, Refused) else Start(at_s)


@dataclass(frozen=True)
class _TimelineKind:
    """`{start}`, which is all there is."""

    def read(self, value: object, place: Place) -> Start | Refused:
        schema = Schema[dict[str, Any]](dict, (Field("start", "start", _StartKind(), Start()),))
        read = schema.read(value, place)
        if isinstance(read, Refused):
            return read
        start: Start = read["start"]
        return start

    def write(self, value: Start) -> dict[str, Any]:
        return {"start": _StartKind().write(value)}


@dataclass(frozen=True)
class _TrimEnd:
    """0 means absent."""

    def read(self, value: object, place: Place) -> Fraction | Refused | None:
        end = Seconds(0, MAX_TIME_S).read(value, place)
        return end if isinstance(end, Refused) else end or None

    def write(self, value: Fraction) -> Any:
        return as_json_number(value)


def _check_trim(trim: Trim, place: Place) -> Trim | Refused:
    if trim.end_s is None or trim.end_s > trim.start_s:
        return trim
    place.at("end").issue(
        "trim_order", "must be after trim.start", "trim.end is a point of the source, not a length"
    )
    return REFUSED


@dataclass(frozen=True)
class LoopKind:
    """True, false, or how often."""

    def read(self, value: object, place: Place) -> Loop | Refused:
        """Return how often a source is played."""
        if isinstance(value, bool):
            return Loop(None if value else 1)
        if not isinstance(value, int | float | Fraction | str):
            place.issue("type", f"must be true, false or a count, not {said(value)}")
            return REFUSED
        if place.reading.reads_numeric_strings and value in ("true", "false"):
            return Loop(None if value == "true" else 1)
        count = Whole(0, 10_000).read(value, place)
        return count if isinstance(count, Refused) else Loop(max(1, count))

    def write(self, value: Loop) -> Any:
        """Return the shortest way to say it."""
        if value.plays is None:
            return True
        return False if value.plays == 1 else value.plays


@dataclass(frozen=True)
class SpeedKind:
    """A rate of playing, kept exact because lengths are divided by it."""

    def read(self, value: object, place: Place) -> Fraction | Refused:
        """Return the rate."""
        speed = Number(0.1, 10).read_exactly(value, place)
        return speed if isinstance(speed, Refused) else seconds(speed)

    def write(self, value: Fraction) -> Any:
        """Return the number."""
        return as_json_number(value)


_TRIM: Final = Schema(
    Trim,
    (
        Field("start", "start_s", Seconds(0, MAX_TIME_S, clamps=True), Fraction(0)),
        Field("end", "end_s", _TrimEnd()),
    ),
    check=_check_trim,
)
_DUCK: Final = Schema(
    Duck,
    (
        Field("under", "under", ListOf(IdKind(), 100), is_required=True),
        Field("amount", "amount", Number(0, 1), 0.7),
    ),
)
_SOUND: Final = Schema(
    LayerSound,
    (
        Field("volume", "volume", Number(0, 1, clamps=True), 1.0),
        Field("duck", "duck", Nested(_DUCK)),
    ),
)
_CHROMA_KEY: Final = Schema(
    ChromaKey,
    (
        Field("color", "color", ColourKind(), is_required=True),
        Field("similarity", "similarity", Number(0, 1), 0.3),
        Field("blend", "blend", Number(0, 1), 0.1),
    ),
)

EVERY_LAYER: Final = (
    Field("name", "name", Text()),
    Field("visible", "is_visible", Flag(), True),
    Field("timeline", "start", _TimelineKind(), Start()),
    Field("trim", "trim", Nested(_TRIM), Trim()),
    Field("opacity", "opacity", Number(0, 1), 1.0),
    Field("onError", "on_error", Choice(OnError), OnError.FAIL),
    Field("transitions", "transitions", TransitionsKind(), ()),
)
POSITION_FIELD: Final = Field("position", "position", Nested(POSITION), Position())
FILTERS_FIELD: Final = Field("filters", "filters", ListOf(FilterKind(), MAX_FILTERS), ())
BOX: Final = (POSITION_FIELD, Field("size", "size", Nested(SIZE), Size()), FILTERS_FIELD)
FILE: Final = (
    Field("file", "file", Address(), is_required=True, aliases=("source",)),
    Field("fallbackFile", "fallback_file", Address()),
)
OPTIONAL_FILE: Final = (
    Field("file", "file", Address(), aliases=("source",)),
    Field("fallbackFile", "fallback_file", Address()),
)
PLAYED: Final = (
    Field("audio", "sound", Nested(_SOUND), LayerSound()),
    Field("speed", "speed", SpeedKind(), Fraction(1)),
    Field("loop", "loop", LoopKind(), Loop()),
)
CHROMA_KEY: Final = Field("chromaKey", "chroma_key", Nested(_CHROMA_KEY))

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
"""Names that people write on a layer, and where they belong."""
