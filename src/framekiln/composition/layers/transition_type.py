"""The `transitions` of a layer. Both published formats are accepted.

`{type, options: {...}}` and the older `{type, duration, options?}` become the same values; kenBurns
becomes its keyframes.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from framekiln.composition.layers.easing import LINEAR, NAMES, Easing, read_easing
from framekiln.composition.layers.field_types import (
    BooleanType,
    ChoiceType,
    ListType,
    NumberType,
    SecondsType,
    TextType,
)
from framekiln.composition.layers.json_schema import EMPTY_ARRAY, Definitions, JsonSchema, any_of
from framekiln.composition.layers.limits import (
    MAX_ANGLE_DEGREES,
    MAX_OFFSET_PX,
    MAX_TIME_S,
    MAX_TRANSITIONS,
    MAX_TRANSITIONS_IN_ALL,
)
from framekiln.composition.layers.schema import (
    REFUSED,
    Field,
    FieldContext,
    Refused,
    Schema,
    json_type_name,
)
from framekiln.composition.layers.transitions import (
    Fade,
    Keyframe,
    Move,
    Preset,
    Property,
    Side,
    Transition,
)

_RANGES: Final = {
    Property.X: NumberType(-MAX_OFFSET_PX, MAX_OFFSET_PX),
    Property.Y: NumberType(-MAX_OFFSET_PX, MAX_OFFSET_PX),
    Property.SCALE: NumberType(0, 100),
    Property.ANGLE: NumberType(-MAX_ANGLE_DEGREES, MAX_ANGLE_DEGREES),
    Property.ANGLE_X: NumberType(-MAX_ANGLE_DEGREES, MAX_ANGLE_DEGREES),
    Property.ANGLE_Y: NumberType(-MAX_ANGLE_DEGREES, MAX_ANGLE_DEGREES),
    Property.OPACITY: NumberType(0, 1),
    Property.VOLUME: NumberType(0, 1, clamps=True),
    Property.BLUR: NumberType(0, 1000),
    Property.WIDTH: NumberType(0, MAX_OFFSET_PX),
    Property.HEIGHT: NumberType(0, MAX_OFFSET_PX),
}
_FADES: Final = {
    "fadeIn": (True, False),
    "fadeOut": (False, False),
    "crossfadeIn": (True, True),
    "crossfadeOut": (False, True),
}
_PRESETS: Final = {
    f"{move.value}{way}": (move, way == "In") for move in Move for way in ("In", "Out")
}
_KEN_BURNS: Final = "kenBurns"
TYPES: Final = (*_FADES, *(each.value for each in Property), _KEN_BURNS, *_PRESETS)

_BY_LOWER_CASE: Final = {name.lower(): name for name in TYPES}
_LENGTH: Final = SecondsType(0, MAX_TIME_S, over=True)


@dataclass(frozen=True)
class _EasingType:
    def read(self, value: object, place: FieldContext) -> Easing | Refused:
        if not isinstance(value, str):
            place.issue("type", f"must be a string, not {json_type_name(value)}")
            return REFUSED
        easing = read_easing(value)
        if easing is not None:
            return easing
        place.issue(
            "unknown_value",
            "must be an easing such as easeInOut, elasticOut, cubic-bezier(a,b,c,d) or steps(n)",
            place.suggestion(value, NAMES),
        )
        return REFUSED

    def write(self, value: Easing) -> str:
        return value.text

    def json_schema(self, definitions: Definitions) -> JsonSchema:
        functions = {"type": "string", "pattern": r"^\s*(cubic-bezier|steps)\("}
        return any_of({"type": "string", "enum": list(NAMES)}, functions)


_EASING: Final = _EasingType()
_EASING_FIELDS: Final = (
    Field("easing", "easing", _EASING, LINEAR),
    Field("easingParameter", "parameter", NumberType(0, 20), 1.0),
)


@dataclass(frozen=True)
class TransitionsType:
    """The `transitions` of a layer."""

    def read(self, value: object, place: FieldContext) -> tuple[Transition, ...] | Refused:
        """Return the transitions in order; kenBurns as its keyframes."""
        place.reading.transition_count += len(value) if isinstance(value, list | tuple) else 0
        if place.reading.transition_count > MAX_TRANSITIONS_IN_ALL:
            place.issue("out_of_range", f"there are more than {MAX_TRANSITIONS_IN_ALL} transitions")
            return REFUSED
        found = _TRANSITIONS.read(value, place)
        if isinstance(found, Refused):
            return found
        return tuple(transition for several in found for transition in several)

    def write(self, value: tuple[Transition, ...]) -> list[dict[str, Any]]:
        """Return the array, in the newer format."""
        return _TRANSITIONS.write(value)

    def json_schema(self, definitions: Definitions) -> JsonSchema:
        """Describe the array."""
        return _TRANSITIONS.json_schema(definitions)


@dataclass(frozen=True)
class _TransitionType:
    def read(self, value: object, place: FieldContext) -> tuple[Transition, ...] | Refused:
        if not isinstance(value, Mapping):
            place.issue("type", f"must be an object, not {json_type_name(value)}")
            return REFUSED
        name = value.get("type")
        if not isinstance(name, str):
            code = "required" if name is None else "type"
            place.child("type").issue(code, f"must be one of {', '.join(TYPES)}")
            return REFUSED
        options = value.get("options")
        if isinstance(options, Mapping):
            return _read_one(name, {**_older(value), **options}, place.child("options"))
        if options is not None and not (isinstance(options, list) and not options):
            place.child("options").issue(
                "type", f"must be an object, not {json_type_name(options)}"
            )
            return REFUSED
        return _read_one(name, _older(value), place)

    def write(self, value: Transition) -> dict[str, Any]:
        return _written(value)

    def json_schema(self, definitions: Definitions) -> JsonSchema:
        return definitions.refer("Transition", lambda: _any_transition(definitions))


_TRANSITIONS: Final = ListType(_TransitionType(), MAX_TRANSITIONS)


def _older(value: Mapping[str, object]) -> dict[str, object]:
    return {k: v for k, v in value.items() if k not in ("type", "options", "id")}


def _read_one(
    name: str, options: Mapping[str, object], place: FieldContext
) -> tuple[Transition, ...] | Refused:
    exact_name = _BY_LOWER_CASE.get(name.strip().lower())
    if exact_name is None:
        place.issue(
            "unknown_value",
            f"{name[:60]} is not a transition; there are {', '.join(TYPES)}",
            place.suggestion(name, TYPES),
        )
        return REFUSED
    if exact_name in _FADES:
        return _alone(_read_fade(exact_name, options, place))
    if exact_name in _PRESETS:
        return _alone(_read_preset(exact_name, options, place))
    if exact_name == _KEN_BURNS:
        return _read_ken_burns(options, place)
    return _alone(_read_keyframe(Property(exact_name), options, place))


def _alone(found: Transition | Refused) -> tuple[Transition, ...] | Refused:
    return found if isinstance(found, Refused) else (found,)


_FADE: Final = Schema(
    Fade,
    (
        Field("duration", "duration_s", _LENGTH, is_required=True),
        Field("audio", "fades_sound", BooleanType(), True),
    ),
)


def _read_fade(name: str, options: Mapping[str, object], place: FieldContext) -> Fade | Refused:
    is_in, is_crossfade = _FADES[name]
    return _FADE.read(options, place, is_in=is_in, is_crossfade=is_crossfade)


def _make_preset(parameter: float, easing: Easing, **rest: Any) -> Preset:
    return Preset(easing=_with_parameter(easing, parameter), **rest)


_PRESET: Final = Schema(
    _make_preset,
    (
        Field("duration", "duration_s", _LENGTH, is_required=True),
        Field("direction", "side", ChoiceType(Side), Side.LEFT),
        *_EASING_FIELDS,
    ),
)


def _read_preset(name: str, options: Mapping[str, object], place: FieldContext) -> Preset | Refused:
    move, is_in = _PRESETS[name]
    return _PRESET.read(options, place, move=move, is_in=is_in)


def _make_keyframe(parameter: float, easing: Easing, **rest: Any) -> Keyframe:
    return Keyframe(easing=_with_parameter(easing, parameter), **rest)


_KEYFRAMES: Final = {
    which: Schema(
        _make_keyframe,
        (
            Field("time", "time_s", SecondsType(), is_required=True),
            Field("value", "value", values, is_required=True),
            *_EASING_FIELDS,
        ),
    )
    for which, values in _RANGES.items()
}


def _read_keyframe(
    which: Property, options: Mapping[str, object], place: FieldContext
) -> Keyframe | Refused:
    return _KEYFRAMES[which].read(options, place, property=which)


def _with_parameter(easing: Easing, parameter: float) -> Easing:
    return easing if parameter == 1 else Easing(easing.name, parameter, easing.numbers)


_PANNED: Final = (Property.SCALE, Property.X, Property.Y)
_PAN: Final = Schema[dict[str, Any]](
    dict,
    (
        Field("start", "start", SecondsType(), is_required=True),
        Field("end", "end", SecondsType(), is_required=True),
        Field("easing", "easing", _EASING, LINEAR),
        *(
            Field(f"{which}{number}", f"{which}{number}", _RANGES[which])
            for which in _PANNED
            for number in (1, 2)
        ),
    ),
)


def _read_ken_burns(
    options: Mapping[str, object], place: FieldContext
) -> tuple[Transition, ...] | Refused:
    read = _PAN.read(options, place)
    if isinstance(read, Refused):
        return read
    if read["end"] <= read["start"]:
        place.child("end").issue("trim_order", "must be after start")
        return REFUSED
    frames: list[Transition] = []
    for which in _PANNED:
        one, two = read[f"{which}1"], read[f"{which}2"]
        if one is None and two is None:
            continue
        if one is None or two is None:
            place.child(f"{which}{1 if one is None else 2}").issue(
                "required", "needs its other half"
            )
            return REFUSED
        frames.append(Keyframe(which, read["start"], one))
        frames.append(Keyframe(which, read["end"], two, read["easing"]))
    return tuple(frames)


def _any_transition(definitions: Definitions) -> JsonSchema:
    variants: list[tuple[Iterable[str], Schema[Any]]] = [
        (_FADES, _FADE),
        (_PRESETS, _PRESET),
        ([_KEN_BURNS], _PAN),
        *(([which.value], schema) for which, schema in _KEYFRAMES.items()),
    ]
    return definitions.one_of("type", [_variant(*each, definitions) for each in variants])


def _variant(names: Iterable[str], schema: Schema[Any], definitions: Definitions) -> JsonSchema:
    """Describe a transition; its fields are in `options`, or next to `type`."""
    fields = schema.properties(definitions)
    options = any_of(definitions.object_of(fields), EMPTY_ARRAY)
    needed = ", ".join(name for name, *_ in schema.required)
    described = definitions.object_of(
        {"options": options, **fields}, tag={"type": {"type": "string", "enum": list(names)}}
    )
    return {"description": f"Needs {needed}, in options or beside them.", **described}


def _written(transition: Transition) -> dict[str, Any]:
    if isinstance(transition, Fade):
        name = next(
            name
            for name, kind in _FADES.items()
            if kind == (transition.is_in, transition.is_crossfade)
        )
        options: dict[str, Any] = {"duration": _LENGTH.write(transition.duration_s)}
        if not transition.fades_sound:
            options["audio"] = False
        return {"type": name, "options": options}
    if isinstance(transition, Preset):
        options = {
            "duration": _LENGTH.write(transition.duration_s),
            "direction": transition.side.value,
        }
        name = f"{transition.move.value}{'In' if transition.is_in else 'Out'}"
    else:
        options = {
            "time": _LENGTH.write(transition.time_s),
            "value": _LENGTH.write(transition.value),
        }
        name = transition.property.value
    return {"type": name, "options": options | _written_easing(transition.easing)}


def _written_easing(easing: Easing) -> dict[str, Any]:
    if easing == LINEAR:
        return {}
    written: dict[str, Any] = {"easing": TextType().write(easing.text)}
    if easing.parameter != 1:
        written["easingParameter"] = _LENGTH.write(easing.parameter)
    return written
