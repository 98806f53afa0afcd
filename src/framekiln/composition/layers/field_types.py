"""The value types of layer configs."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any, Final
from urllib.parse import urlsplit

from framekiln.composition.layers.colours import Colour, read_colour
from framekiln.composition.layers.frozen_json import FrozenJson, is_text, json_problem
from framekiln.composition.layers.json_schema import EMPTY_ARRAY, Definitions, JsonSchema, any_of
from framekiln.composition.layers.limits import MAX_TIME_S, MAX_URL_CHARS
from framekiln.composition.layers.numbers import (
    MAX_NUMBER,
    as_json_number,
    exact_number,
    is_number,
    numeric_text,
    seconds_on_grid,
)
from framekiln.composition.layers.schema import (
    REFUSED,
    FieldContext,
    FieldType,
    Refused,
    Schema,
    json_type_name,
)
from framekiln.kit.json_scan import text_chars

# Text in a style sheet must not be able to end its declaration.
_UNSAFE_CSS: Final = re.compile(r"[;{}<>\\@]|/\*|url\(|expression\(", re.IGNORECASE)


@dataclass(frozen=True)
class NumberType:
    """A finite number within bounds; `over` excludes the lower one, `clamps` limits the value."""

    low: Fraction | float = -MAX_NUMBER
    high: Fraction | float = MAX_NUMBER
    over: bool = False
    clamps: bool = False

    def read(self, value: object, place: FieldContext) -> float | Refused:
        """Return a float."""
        number = self.read_exactly(value, place)
        return number if isinstance(number, Refused) else float(number)

    def read_exactly(self, value: object, place: FieldContext) -> Fraction | Refused:
        """Return the exact number."""
        if isinstance(value, str) and place.reading.reads_numeric_strings:
            value = numeric_text(value) if numeric_text(value) is not None else value
        if not is_number(value) and not isinstance(value, Fraction):
            place.issue("type", f"must be a number, not {json_type_name(value)}")
            return REFUSED
        number = exact_number(value)
        if number is None:
            place.issue("out_of_range", f"must be a finite number, {self._bounds()}")
            return REFUSED
        if self._holds(number):
            return number
        if self.clamps:
            return self._clamp(number, place)
        place.issue("out_of_range", f"must be {self._bounds()}")
        return REFUSED

    def write(self, value: Fraction | float) -> int | float:
        """Return a JSON number."""
        return as_json_number(value)

    def json_schema(self, definitions: Definitions) -> JsonSchema:
        """Describe a number; clamped numbers are accepted outside of their bounds."""
        if self.clamps:
            return {"type": "number", "description": f"{self._bounds()}; others are clamped"}
        bounds = {
            "exclusiveMinimum" if self.over else "minimum": as_json_number(self.low),
            "maximum": as_json_number(self.high),
        }
        return {"type": "number", **bounds}

    def _holds(self, number: Fraction) -> bool:
        return (number > self.low if self.over else number >= self.low) and number <= self.high

    def _clamp(self, number: Fraction, place: FieldContext) -> Fraction:
        inside = min(max(number, Fraction(self.low)), Fraction(self.high))
        place.warn("clamped", f"must be {self._bounds()}; {as_json_number(inside)} is used")
        return inside

    def _bounds(self) -> str:
        low, high = as_json_number(self.low), as_json_number(self.high)
        if self.over:
            return f"more than {low} and at most {high}"
        return f"from {low} to {high}"


@dataclass(frozen=True)
class SecondsType(NumberType):
    """A time or duration, stored as an exact fraction."""

    low: Fraction | float = -MAX_TIME_S
    high: Fraction | float = MAX_TIME_S

    def read(self, value: object, place: FieldContext) -> Fraction | Refused:  # type: ignore[override]
        """Return a fraction of a second."""
        number = self.read_exactly(value, place)
        return number if isinstance(number, Refused) else seconds_on_grid(number)


@dataclass(frozen=True)
class IntegerType(NumberType):
    """A whole number."""

    def read(self, value: object, place: FieldContext) -> int | Refused:
        """Return an int."""
        number = self.read_exactly(value, place)
        if isinstance(number, Refused):
            return number
        if number.denominator == 1:
            return int(number)
        place.issue("type", "must be a whole number")
        return REFUSED

    def json_schema(self, definitions: Definitions) -> JsonSchema:
        """Describe a whole number."""
        return {**super().json_schema(definitions), "type": "integer"}


@dataclass(frozen=True)
class ZeroAsNoneType:
    """A number for which 0 means absent."""

    number_type: NumberType

    def read(self, value: object, place: FieldContext) -> Fraction | float | Refused | None:
        """Return the number, or None for 0."""
        number = self.number_type.read(value, place)
        return number if isinstance(number, Refused) else number or None

    def write(self, value: Fraction | float) -> int | float:
        """Return a JSON number."""
        return self.number_type.write(value)

    def json_schema(self, definitions: Definitions) -> JsonSchema:
        """Describe the number, which may be 0."""
        return self.number_type.json_schema(definitions)


@dataclass(frozen=True)
class BooleanType:
    """True or false."""

    def read(self, value: object, place: FieldContext) -> bool | Refused:
        """Return a bool; filled templates may also have the words."""
        if isinstance(value, bool):
            return value
        if place.reading.reads_numeric_strings and value in ("true", "false"):
            return value == "true"
        place.issue("type", f"must be true or false, not {json_type_name(value)}")
        return REFUSED

    def write(self, value: bool) -> bool:
        """Return the value."""
        return value

    def json_schema(self, definitions: Definitions) -> JsonSchema:
        """Describe a boolean."""
        return {"type": "boolean"}


def as_filled_text(value: object, place: FieldContext) -> object:
    """Return a number or boolean from a filled template as Liquid would write it."""
    if not place.reading.reads_numeric_strings or not isinstance(value, int | float):
        return value
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(frozen=True)
class TextType:
    """A string; `is_css` rejects what could end a style declaration."""

    longest: int = 255
    is_css: bool = False

    def read(self, value: object, place: FieldContext) -> str | Refused:
        """Return the string."""
        value = as_filled_text(value, place)
        if not isinstance(value, str):
            place.issue("type", f"must be a string, not {json_type_name(value)}")
        elif len(value) > self.longest:
            place.issue("out_of_range", f"must be at most {self.longest} characters")
        elif not is_text(value):
            place.issue("type", "contains characters that are not text")
        elif self.is_css and _UNSAFE_CSS.search(value):
            place.issue("type", "must be one CSS value, without braces, semicolons or url()")
        else:
            return value
        return REFUSED

    def write(self, value: str) -> str:
        """Return the value."""
        return value

    def json_schema(self, definitions: Definitions) -> JsonSchema:
        """Describe text."""
        return definitions.text(maxLength=self.longest)


@dataclass(frozen=True)
class ChoiceType:
    """One of the values of an enumeration, case-insensitive."""

    words: type[StrEnum]

    def read(self, value: object, place: FieldContext) -> StrEnum | Refused:
        """Return the member."""
        if not isinstance(value, str):
            place.issue("type", f"must be a string, not {json_type_name(value)}")
            return REFUSED
        for member in self.words:
            if member.value.lower() == value.strip().lower():
                return member
        names = [member.value for member in self.words]
        place.issue(
            "unknown_value",
            f"must be one of {', '.join(names)}",
            place.suggestion(value, names),
        )
        return REFUSED

    def write(self, value: StrEnum) -> str:
        """Return the text of the member."""
        return value.value

    def json_schema(self, definitions: Definitions) -> JsonSchema:
        """Describe the texts."""
        return {"type": "string", "enum": [member.value for member in self.words]}


@dataclass(frozen=True)
class ColourType:
    """A colour in any CSS notation."""

    def read(self, value: object, place: FieldContext) -> Colour | Refused:
        """Return the colour."""
        colour = read_colour(value) if isinstance(value, str) else None
        if colour is not None:
            return colour
        if not isinstance(value, str):
            place.issue("type", f"must be a colour, not {json_type_name(value)}")
        else:
            place.issue("not_a_color", "must be a colour such as #RRGGBBAA, rgb(0 0 0) or a name")
        return REFUSED

    def write(self, value: Colour) -> str:
        """Return `#RRGGBBAA`."""
        return value.hex

    def json_schema(self, definitions: Definitions) -> JsonSchema:
        """Describe a colour."""
        return {"type": "string", "description": "A colour: #RRGGBBAA, rgb(), hsl() or a name."}


@dataclass(frozen=True)
class UrlType:
    """A remote URL. Whether it may be fetched is decided by the fetcher."""

    schemes: tuple[str, ...] = ("http", "https")

    def read(self, value: object, place: FieldContext) -> str | Refused:
        """Return the URL without surrounding spaces."""
        if not isinstance(value, str):
            place.issue("type", f"must be a URL, not {json_type_name(value)}")
            return REFUSED
        address = value.strip()
        if address in place.reading.uploads.values():
            return address
        problem = address_problem(address, self.schemes)
        if problem is None:
            return address
        place.issue(*problem)
        return REFUSED

    def write(self, value: str) -> str:
        """Return the value."""
        return value

    def json_schema(self, definitions: Definitions) -> JsonSchema:
        """Describe a URL."""
        described = f"A URL: {' or '.join(self.schemes)}."
        return {"type": "string", "maxLength": MAX_URL_CHARS, "description": described}


def address_problem(
    address: str, schemes: tuple[str, ...] = ("http", "https")
) -> tuple[str, str] | None:
    """Return code and message of the problem of a remote URL, or None."""
    if len(address) > MAX_URL_CHARS:
        return "out_of_range", f"must be at most {MAX_URL_CHARS} characters"
    wanted = f"must begin with {' or '.join(s + '://' for s in schemes)}"
    try:
        parts = urlsplit(address)
        host = parts.hostname
        _ = parts.port
    except ValueError:
        return "not_url", "is not a URL: its host or port is invalid"
    if not parts.scheme or re.search(r"[\s\x00-\x1f\x7f\ud800-\udfff]", address):
        return "not_url", f"is not a URL: it {wanted}, without spaces"
    if parts.scheme.lower() not in schemes:
        return "remote_url_required", wanted
    return None if host else ("not_url", "is a URL without a host")


@dataclass(frozen=True)
class ObjectType:
    """An object with its own schema."""

    schema: Schema[Any]

    def read(self, value: object, place: FieldContext) -> Any:
        """Return the value that the schema reads."""
        return self.schema.read(value, place)

    def write(self, value: Any) -> dict[str, Any]:
        """Return the object."""
        return self.schema.write(value)

    def json_schema(self, definitions: Definitions) -> JsonSchema:
        """Describe the object."""
        return self.schema.json_schema(definitions)


@dataclass(frozen=True)
class ListType:
    """An array of one value type, as a tuple."""

    item_type: FieldType
    longest: int

    def read(self, value: object, place: FieldContext) -> tuple[Any, ...] | Refused:
        """Return the items; null items are skipped."""
        if not isinstance(value, list | tuple):
            place.issue("type", f"must be an array, not {json_type_name(value)}")
            return REFUSED
        if len(value) > self.longest:
            place.issue("out_of_range", f"must have at most {self.longest} items")
            return REFUSED
        items = [
            self.item_type.read(item, place.child(number))
            for number, item in enumerate(value)
            if item is not None
        ]
        return REFUSED if any(item is REFUSED for item in items) else tuple(items)

    def write(self, value: tuple[Any, ...]) -> list[Any]:
        """Return the array."""
        return [self.item_type.write(item) for item in value]

    def json_schema(self, definitions: Definitions) -> JsonSchema:
        """Describe the array."""
        items = definitions.optional(self.item_type.json_schema(definitions))
        return {"type": "array", "items": items, "maxItems": self.longest}


@dataclass(frozen=True)
class JsonObjectType:
    """Any JSON object that can be stored and returned, kept as canonical text."""

    max_bytes: int

    def read(self, value: object, place: FieldContext) -> FrozenJson | Refused:
        """Return the object, frozen."""
        if isinstance(value, list | tuple) and not value:
            value = {}  # Some languages encode an empty object like this.
        if not isinstance(value, Mapping):
            place.issue("type", f"must be an object, not {json_type_name(value)}")
            return REFUSED
        problem = json_problem(value)
        if problem:
            place.issue("type", problem)
            return REFUSED
        # First what is cheap: writing lets no other thread run.
        frozen = FrozenJson.of(value) if text_chars(value) <= self.max_bytes else None
        if frozen is None or len(frozen.text.encode()) > self.max_bytes:
            place.issue("out_of_range", f"must be at most {self.max_bytes} bytes of JSON")
            return REFUSED
        return frozen

    def write(self, value: FrozenJson) -> Any:
        """Return the object."""
        return value.thaw()

    def json_schema(self, definitions: Definitions) -> JsonSchema:
        """Describe an object, or the empty array that some languages encode it as."""
        return any_of({"type": "object"}, EMPTY_ARRAY)
