"""Filters of one layer (`filters`), or of everything below a filter layer (`filter`)."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any, Final

from framekiln.composition.layers.colours import BLACK, Colour
from framekiln.composition.layers.field_types import ChoiceType, ColourType, NumberType, SecondsType
from framekiln.composition.layers.json_schema import EMPTY_ARRAY, Definitions, JsonSchema, any_of
from framekiln.composition.layers.limits import MAX_TIME_S
from framekiln.composition.layers.schema import (
    REFUSED,
    Field,
    FieldContext,
    Refused,
    Schema,
    json_type_name,
)


class FilterName(StrEnum):
    """The types of filters."""

    BRIGHTNESS = "brightness"
    CONTRAST = "contrast"
    SATURATION = "saturation"
    GRAYSCALE = "grayscale"
    NEGATIVE = "negative"
    LIGHTEN = "lighten"
    FADE_IN = "fadein"
    FADE_OUT = "fadeout"
    SOBEL = "sobel"
    VINTAGE = "vintage"


@dataclass(frozen=True)
class Filter:
    """`percent` applies to the four filters that have one (100: unchanged; grayscale: all grey).

    Only fades have a colour and times. `start_s` is relative to the same zero as keyframes; None is
    the layer's own start (fadein) or as late as possible (fadeout).
    """

    name: FilterName
    percent: float = 100.0
    colour: Colour = BLACK
    duration_s: Fraction = Fraction(1)
    start_s: Fraction | None = None

    @property
    def is_fade(self) -> bool:
        """Whether it changes over time."""
        return self.name in (FilterName.FADE_IN, FilterName.FADE_OUT)

    def span(
        self, layer_start_s: Fraction, layer_end_s: Fraction, *, zero_s: Fraction
    ) -> tuple[Fraction, Fraction]:
        """Return start and end of a fade; `zero_s` is the zero of its own times."""
        if self.start_s is not None:
            start_s = self.start_s + zero_s
        elif self.name is FilterName.FADE_IN:
            start_s = layer_start_s
        else:
            start_s = layer_end_s - self.duration_s
        return start_s, start_s + self.duration_s


_HIGHEST_PERCENT: Final = {
    FilterName.BRIGHTNESS: 200,
    FilterName.CONTRAST: 1000,
    FilterName.SATURATION: 1000,
    FilterName.GRAYSCALE: 100,
}


def _option_fields(name: FilterName) -> tuple[Field, ...]:
    if name in _HIGHEST_PERCENT:
        return (Field(name.value, "percent", NumberType(0, _HIGHEST_PERCENT[name]), 100.0),)
    if name in (FilterName.FADE_IN, FilterName.FADE_OUT):
        return (
            Field("color", "colour", ColourType(), BLACK),
            Field("duration", "duration_s", SecondsType(0, MAX_TIME_S, over=True), Fraction(1)),
            Field("startTime", "start_s", SecondsType()),
        )
    return ()


@dataclass(frozen=True)
class FilterType:
    """`{name, options}`."""

    def read(self, value: object, place: FieldContext) -> Filter | Refused:
        """Return the filter."""
        if not isinstance(value, Mapping):
            place.issue("type", f"must be an object, not {json_type_name(value)}")
            return REFUSED
        if value.get("name") is None:
            place.child("name").issue("required", "name is missing")
            return REFUSED
        name = ChoiceType(FilterName).read(value["name"], place.child("name"))
        if not isinstance(name, FilterName):
            return REFUSED
        options = value.get("options")
        if options is None or options == []:
            options = {}
        schema = Schema(Filter, _option_fields(name))
        return schema.read(options, place.child("options"), name=name)

    def write(self, value: Filter) -> dict[str, Any]:
        """Return the object."""
        options = Schema(Filter, _option_fields(value.name)).write(value)
        return {"name": value.name.value, "options": options}

    def json_schema(self, definitions: Definitions) -> JsonSchema:
        """Describe every filter."""
        return definitions.refer("Filter", lambda: self._described(definitions))

    def _described(self, definitions: Definitions) -> JsonSchema:
        return definitions.one_of("name", [_variant(name, definitions) for name in FilterName])


def _variant(name: FilterName, definitions: Definitions) -> JsonSchema:
    options = Schema(Filter, _option_fields(name)).properties(definitions)
    return definitions.object_of(
        {"options": any_of(definitions.object_of(options), EMPTY_ARRAY)},
        tag={"name": {"const": name.value}},
    )
