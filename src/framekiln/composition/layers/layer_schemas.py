"""One schema per layer type, and the array of layers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from framekiln.composition.layers.field_types import BooleanType, JsonObjectType, ObjectType
from framekiln.composition.layers.filters import FilterType
from framekiln.composition.layers.geometry import POSITION, Align, Position
from framekiln.composition.layers.html_type import HtmlType, with_html_object
from framekiln.composition.layers.json_schema import Definitions, JsonSchema
from framekiln.composition.layers.layer_fields import (
    BOX,
    CHROMA_KEY,
    ELSEWHERE,
    EVERY_LAYER,
    FILE,
    FILTERS_FIELD,
    OPTIONAL_FILE,
    PLAYED,
    POSITION_FIELD,
    IdType,
    LoopType,
)
from framekiln.composition.layers.limits import MAX_NESTING
from framekiln.composition.layers.schema import (
    REFUSED,
    Field,
    FieldContext,
    Refused,
    Schema,
    json_type_name,
)
from framekiln.composition.layers.styles import (
    SHAPE,
    SUBTITLES,
    WAVEFORM,
    SubtitleStyle,
    TextStyleType,
    Waveform,
)
from framekiln.composition.layers.values import (
    AudioLayer,
    FilterLayer,
    GroupLayer,
    HtmlLayer,
    ImageLayer,
    Layer,
    LayerType,
    Loop,
    LottieLayer,
    SequenceLayer,
    ShapeLayer,
    SubtitlesLayer,
    TextLayer,
    VideoLayer,
    WaveformLayer,
    default_layer_id,
)
from framekiln.kit.lottie import NotLottie, lottie_facts

_MAX_LOTTIE_BYTES: Final = 8 * 1024 * 1024
_CAPTION_PLACE: Final = Position(x=Align.CENTER, y=0.85, is_relative=True)


@dataclass(frozen=True)
class LayerListType:
    """The `layers` of a config, group or sequence."""

    def read(self, value: object, place: FieldContext) -> tuple[Layer, ...] | Refused:
        """Return the layers in order; issues of all of them are collected."""
        if not isinstance(value, list | tuple):
            place.issue("type", f"must be an array, not {json_type_name(value)}")
            return REFUSED
        inside = replace(place, depth=place.depth + 1)
        if inside.depth > MAX_NESTING:
            place.issue("out_of_range", f"layers are nested more than {MAX_NESTING} deep")
            return REFUSED
        reading, most = place.reading, place.reading.limits.layers
        reading.layer_count += len(value)
        if reading.layer_count > most:
            place.issue("out_of_range", f"there are more than {most} layers")
            return REFUSED
        layers = [read_layer(item, inside.child(i)) for i, item in enumerate(value)]
        good = tuple(layer for layer in layers if isinstance(layer, Layer))
        return good if len(good) == len(layers) else REFUSED

    def write(self, value: tuple[Layer, ...]) -> list[dict[str, Any]]:
        """Return the array."""
        return [write_layer(layer) for layer in value]

    def json_schema(self, definitions: Definitions) -> JsonSchema:
        """Describe the array; the reader checks the total number of layers."""
        layer = definitions.refer("Layer", lambda: _any_layer(definitions))
        return {"type": "array", "items": definitions.filled_later(layer)}


def _check_lottie(layer: LottieLayer, place: FieldContext) -> LottieLayer | Refused:
    if layer.animation is None:
        if layer.file is not None:
            return layer
        place.child("lottie").issue("required", "lottie or file is missing")
        return REFUSED
    try:
        lottie_facts(layer.animation.thaw())
    except NotLottie as error:
        place.child("lottie").issue("type", f"is not a Lottie animation: {error}")
        return REFUSED
    return layer


def _schema(make: Callable[..., Any], *fields: Field, **more: Any) -> Schema[Any]:
    return Schema(make, (*fields, *EVERY_LAYER), elsewhere=ELSEWHERE, **more)


_CHILDREN: Final = Field("layers", "layers", LayerListType(), ())

SCHEMAS: Final[Mapping[LayerType, Schema[Any]]] = {
    LayerType.VIDEO: _schema(
        VideoLayer,
        *FILE,
        *PLAYED,
        Field("freeze", "freeze", BooleanType(), False),
        CHROMA_KEY,
        *BOX,
    ),
    LayerType.AUDIO: _schema(AudioLayer, *FILE, *PLAYED),
    LayerType.IMAGE: _schema(ImageLayer, *FILE, CHROMA_KEY, *BOX),
    LayerType.TEXT: _schema(
        TextLayer, Field("text", "text", TextStyleType(), is_required=True), *BOX
    ),
    LayerType.HTML: _schema(HtmlLayer, Field("html", "html", HtmlType(), is_required=True), *BOX),
    LayerType.LOTTIE: _schema(
        LottieLayer,
        Field("lottie", "animation", JsonObjectType(_MAX_LOTTIE_BYTES)),
        *OPTIONAL_FILE,
        Field("loop", "loop", LoopType(), Loop()),
        *BOX,
        check=_check_lottie,
    ),
    LayerType.WAVEFORM: _schema(
        WaveformLayer,
        *OPTIONAL_FILE,
        Field("waveform", "waveform", ObjectType(WAVEFORM), Waveform()),
        *BOX,
    ),
    LayerType.SUBTITLES: _schema(
        SubtitlesLayer,
        *FILE,
        Field("subtitles", "subtitles", ObjectType(SUBTITLES), SubtitleStyle()),
        Field("position", "position", ObjectType(POSITION), _CAPTION_PLACE),
        FILTERS_FIELD,
    ),
    LayerType.FILTER: _schema(
        FilterLayer, Field("filter", "filter", FilterType(), is_required=True), POSITION_FIELD
    ),
    LayerType.GROUP: _schema(GroupLayer, _CHILDREN, *BOX),
    LayerType.SEQUENCE: _schema(SequenceLayer, _CHILDREN),
    LayerType.SHAPE: _schema(
        ShapeLayer, Field("shape", "shape", ObjectType(SHAPE), is_required=True), *BOX
    ),
}
TYPES: Final[Mapping[type[Layer], LayerType]] = {
    schema.make: name  # type: ignore[misc]
    for name, schema in SCHEMAS.items()
}
# A source may be uploaded with the config, and fields of a page may be on its layer.
_FROM_ELSEWHERE: Final = frozenset({"file", "html"})
_OUTSIDE_SCHEMAS: Final = frozenset({"type", "id", "when", "repeat"})


def read_layer(value: object, place: FieldContext) -> Layer | Refused:
    """Return one layer."""
    if not isinstance(value, Mapping):
        place.issue("type", f"must be an object, not {json_type_name(value)}")
        return REFUSED
    layer_id = _read_id(value, place)
    kind = _read_type(value, place)
    for name in ("when", "repeat"):
        if value.get(name) is not None:
            place.child(name).warn("templates_only", f"{name} has an effect in templates only")
    if kind is None:
        return REFUSED
    fields = {name: found for name, found in value.items() if name not in _OUTSIDE_SCHEMAS}
    if kind is LayerType.HTML:
        fields = with_html_object(fields)
    if layer_id in place.reading.uploads:
        fields["file"] = place.reading.uploads[layer_id]
    layer = SCHEMAS[kind].read(fields, place, path=place.path, id=layer_id)
    return layer if isinstance(layer, Layer) else REFUSED


def write_layer(layer: Layer) -> dict[str, Any]:
    """Return a layer as JSON, with defaults filled in."""
    kind = TYPES[type(layer)]
    return {"id": layer.id, "type": kind.value, **SCHEMAS[kind].write(layer)}


def _any_layer(definitions: Definitions) -> JsonSchema:
    return definitions.one_of("type", [_described(kind, definitions) for kind in LayerType])


def _described(kind: LayerType, definitions: Definitions) -> JsonSchema:
    schema = SCHEMAS[kind]
    properties = {"id": IdType().json_schema(definitions), **schema.properties(definitions)}
    if kind is LayerType.HTML:
        properties |= HtmlType().loose_properties(definitions)
    if definitions.is_template:
        properties |= {"when": {}, "repeat": {"type": ["string", "array"]}}
    required = [names for names in schema.required if names[0] not in _FROM_ELSEWHERE]
    return definitions.refer(
        schema.make.__name__,
        lambda: definitions.object_of(
            properties, required=required, tag={"type": {"const": kind.value}}
        ),
    )


def _read_type(value: Mapping[str, object], place: FieldContext) -> LayerType | None:
    name = value.get("type")
    known = [each.value for each in LayerType]
    if name is None:
        place.child("type").issue("required", f"must be one of {', '.join(known)}")
    elif not isinstance(name, str):
        place.child("type").issue("type", f"must be a string, not {json_type_name(name)}")
    elif name.strip().lower() in known:
        return LayerType(name.strip().lower())
    else:
        place.child("type").issue(
            "unknown_layer_type",
            f"must be one of {', '.join(known)}",
            place.suggestion(name, known),
        )
    return None


def _read_id(value: Mapping[str, object], place: FieldContext) -> str:
    given = value.get("id")
    unnamed = default_layer_id(place.path)
    layer_id = unnamed if given is None else IdType().read(given, place.child("id"))
    if isinstance(layer_id, Refused):
        return unnamed
    if layer_id in place.reading.used_ids:
        place.child("id").issue("duplicate_id", f"another layer has the id {layer_id}")
    place.reading.used_ids.add(layer_id)
    return layer_id
