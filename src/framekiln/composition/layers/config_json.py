"""Parses JSON into `LayerConfig`. All issues are collected before any error is raised."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import floor
from typing import Any, Final

from framekiln.composition.layers.anchors import check_anchors
from framekiln.composition.layers.colours import BLACK
from framekiln.composition.layers.ducks import check_ducking
from framekiln.composition.layers.field_types import (
    BooleanType,
    ChoiceType,
    ColourType,
    IntegerType,
    JsonObjectType,
    ListType,
    NumberType,
    ObjectType,
    SecondsType,
    TextType,
    UrlType,
)
from framekiln.composition.layers.findings import ConfigFinding, InvalidConfig
from framekiln.composition.layers.frozen_json import FrozenJson
from framekiln.composition.layers.json_schema import Definitions, JsonSchema
from framekiln.composition.layers.layer_schemas import LayerListType
from framekiln.composition.layers.limits import MAX_FONTS, MAX_JSON_DEPTH, ConfigLimits
from framekiln.composition.layers.schema import (
    REFUSED,
    Field,
    FieldContext,
    ReadContext,
    Refused,
    Schema,
)
from framekiln.composition.layers.styles import FontStyle
from framekiln.composition.layers.values import (
    AudioLayer,
    Dimensions,
    Extension,
    Font,
    GroupLayer,
    ImageLayer,
    Layer,
    LayerConfig,
    LottieLayer,
    MixSettings,
    OutputSettings,
    SequenceLayer,
    VideoLayer,
    WaveformLayer,
)
from framekiln.composition.render_preset import RenderPreset
from framekiln.kit.canonical_json import sha256_digest
from framekiln.kit.json_scan import TooManyValues, scan_json
from framekiln.timeline import exact_rate

_PLACEHOLDER: Final = re.compile(r"\{\{[^{}]{1,200}\}\}|\{%[^{}]{1,200}%\}")
# Not rendered as text, or reported elsewhere.
_FREE_FIELDS: Final = frozenset({"metadata", "lottie", "when", "repeat"})
_TO_FILL: Final = "create a template of this config (POST /v2/templates) and render it with data"


@dataclass(frozen=True)
class ParsedConfig:
    """A config that can be rendered, as far as it can be checked without its sources."""

    config: LayerConfig
    warnings: tuple[ConfigFinding, ...] = ()


@dataclass(frozen=True)
class ReadOptions:
    """Options of `read_config`."""

    limits: ConfigLimits = field(default_factory=ConfigLimits)
    is_filled_template: bool = False
    """Whether numbers and booleans may be given as text, and the other way round."""
    uploads: Mapping[str, str] = field(default_factory=dict)
    """Sources that were uploaded with the request: layer id to an internal URL."""


def read_config(value: object, options: ReadOptions | None = None) -> ParsedConfig:
    """Return the config in an object or a JSON text, or raise `InvalidConfig`."""
    options = options or ReadOptions()
    value = _with_preset(parse_config(value))
    reading = ReadContext(
        limits=options.limits,
        reads_numeric_strings=options.is_filled_template,
        uploads=options.uploads,
        layer_ids=frozenset(_ids_in(value)),
    )
    place = FieldContext("", reading)
    config = _schema(options.limits).read(value, place)
    if isinstance(config, LayerConfig):
        _check_whole(config, place)
    if not options.is_filled_template:
        _warn_of_placeholders(value, place)
        reading.findings.hint_at_warned("templates_only", _TO_FILL)
    reading.findings.raise_issues()
    assert isinstance(config, LayerConfig)
    return ParsedConfig(config, tuple(reading.findings.warnings))


def parse_config(value: object) -> object:
    """Return the JSON of a config, which may have been sent as text."""
    if isinstance(value, bytes | bytearray):
        value = bytes(value).decode("utf-8", "replace")
    if isinstance(value, str):
        try:
            scan_json(value.encode("utf-8", "replace"))
            value = json.loads(value)
        except TooManyValues as error:
            raise InvalidConfig(
                [ConfigFinding("", "out_of_range", f"the config {error}")]
            ) from None
        except (ValueError, RecursionError):
            raise InvalidConfig([ConfigFinding("", "type", "the config is not JSON")]) from None
    if depth_of(value) > MAX_JSON_DEPTH:
        raise InvalidConfig([ConfigFinding("", "out_of_range", "the config is nested too deep")])
    if not isinstance(value, Mapping):
        raise InvalidConfig([ConfigFinding("", "type", "the config must be an object")])
    return value


def _with_preset(value: object) -> object:
    """Return a config with `preset`, which was called `output.quality` before."""
    output = value.get("output") if isinstance(value, Mapping) else None
    if not isinstance(value, Mapping) or not isinstance(output, Mapping):
        return value
    if "quality" not in output or "preset" in value:
        return value
    rest = {name: each for name, each in output.items() if name != "quality"}
    return {**value, "output": rest, "preset": output["quality"]}


def depth_of(value: object) -> int:
    """Return the nesting depth of a value, at most one more than is allowed."""
    level, depth = [value], 0
    while level and depth <= MAX_JSON_DEPTH:
        depth += 1
        level = [inner for item in level for inner in _inside(item)]
    return depth


def _warn_of_placeholders(value: object, place: FieldContext) -> None:
    """Warn of placeholders in texts, which are only filled in templates."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if name not in _FREE_FIELDS:
                _warn_of_placeholders(inner, place.child(name))
    elif isinstance(value, list | tuple):
        for number, inner in enumerate(value):
            _warn_of_placeholders(inner, place.child(number))
    elif isinstance(value, str) and (found := _PLACEHOLDER.search(value)):
        if "<script" in value:
            return  # An html layer may fill its page itself.
        place.warn(
            "templates_only",
            f"{found.group()[:60]} is not filled in here and stays as it is written",
            _TO_FILL,
        )


def _inside(item: object) -> Iterator[object]:
    if isinstance(item, Mapping):
        yield from item.values()
    elif isinstance(item, list | tuple):
        yield from item


def unread_layers(config: object) -> Iterator[Mapping[str, Any]]:
    """Yield every layer of a config that is not parsed yet, including those in groups."""
    waiting = [config]
    while waiting:
        item = waiting.pop()
        layers = item.get("layers") if isinstance(item, Mapping) else None
        for layer in layers if isinstance(layers, list | tuple) else ():
            waiting.append(layer)
            if isinstance(layer, Mapping):
                yield layer


def _ids_in(config: object) -> Iterator[str]:
    for layer in unread_layers(config):
        layer_id = layer.get("id")
        if isinstance(layer_id, str):
            yield layer_id
        elif isinstance(layer_id, int) and abs(layer_id) <= 2**53:
            yield str(layer_id)


@dataclass(frozen=True)
class _DimensionsType:
    limits: ConfigLimits

    def read(self, value: object, place: FieldContext) -> Dimensions | Refused:
        read = self._sides.read(value, place)
        if isinstance(read, Refused):
            return read
        sides = {name: even_side(Fraction(number)) for name, number in read.items()}
        for name, number in read.items():
            if sides[name] != number:
                place.child(name).warn("adjusted", f"must be even; {sides[name]} is used")
        if sides["width"] * sides["height"] <= self.limits.area_px:
            return Dimensions(sides["width"], sides["height"])
        place.issue("out_of_range", f"must be at most {self.limits.area_px} pixels in all")
        return REFUSED

    def write(self, value: Dimensions) -> dict[str, int]:
        return {"width": value.width_px, "height": value.height_px}

    def json_schema(self, definitions: Definitions) -> JsonSchema:
        return self._sides.json_schema(definitions)

    @property
    def _sides(self) -> Schema[dict[str, Any]]:
        side = NumberType(2, self.limits.side_px)
        fields = tuple(Field(name, name, side, is_required=True) for name in ("width", "height"))
        return Schema(dict, fields)


def even_side(side: Fraction) -> int:
    """Return a side in whole pixels, rounded up to even: 4:2:0 needs even sides."""
    whole = floor(side + Fraction(1, 2))
    return whole + whole % 2


_RATE: Final = NumberType(1, 120)


@dataclass(frozen=True)
class _RateType:
    def read(self, value: object, place: FieldContext) -> Fraction | Refused:
        number = _RATE.read_exactly(value, place)
        return number if isinstance(number, Refused) else exact_rate(float(number))

    def write(self, value: Fraction) -> Any:
        return _RATE.write(value)

    def json_schema(self, definitions: Definitions) -> JsonSchema:
        return _RATE.json_schema(definitions)


_FONT: Final = Schema(
    Font,
    (
        Field("family", "family", TextType(100, is_css=True), is_required=True),
        Field("src", "src", UrlType(("https", "http")), is_required=True),
        Field("weight", "weight", IntegerType(1, 1000)),
        Field("style", "style", ChoiceType(FontStyle)),
    ),
)
_MIX: Final = Schema(
    MixSettings,
    (
        Field("normalize", "normalize", BooleanType(), False),
        Field("target", "target_lufs", NumberType(-70, 0), -16.0),
        Field("limiter", "limiter", BooleanType(), True),
    ),
)
_OUTPUT: Final = Schema(
    OutputSettings,
    (
        Field("crf", "crf", NumberType(0, 51)),
        Field("videoBitrate", "video_bitrate", IntegerType(10_000, 200_000_000)),
    ),
)


def _schema(limits: ConfigLimits) -> Schema[LayerConfig]:
    return Schema(
        LayerConfig,
        (
            Field("backgroundColor", "background", ColourType(), BLACK),
            Field("dimensions", "dimensions", _DimensionsType(limits)),
            Field("duration", "duration_s", SecondsType(0, limits.duration_s, over=True)),
            Field("fps", "fps", _RateType(), Fraction(30)),
            Field("extension", "extension", ChoiceType(Extension), Extension.MP4),
            Field("preset", "preset", ChoiceType(RenderPreset), RenderPreset.STANDARD),
            Field("time", "time_s", SecondsType(0, limits.duration_s), Fraction(0)),
            Field("filename", "filename", TextType(255)),
            Field("metadata", "metadata", JsonObjectType(limits.metadata_bytes), FrozenJson()),
            Field("layers", "layers", LayerListType(), ()),
            Field("shouldWatermark", "should_watermark", BooleanType(), False),
            Field("fonts", "fonts", ListType(ObjectType(_FONT), MAX_FONTS), ()),
            Field("audio", "audio", ObjectType(_MIX), MixSettings()),
            Field("output", "output", ObjectType(_OUTPUT), OutputSettings()),
            Field("callback", "callback", UrlType(("https", "http"))),
        ),
        ignored=frozenset({"$schema"}),  # Editors find the JSON Schema by it.
        elsewhere={"quality": "preset", "width": "dimensions.width", "height": "dimensions.height"},
    )


CONFIG_SCHEMA: Final = _schema(ConfigLimits())
"""With the default limits. Limits do not affect writing."""


def _check_whole(config: LayerConfig, place: FieldContext) -> None:
    check_anchors(config.layers, place)
    check_ducking(config.layers, place)
    if config.dimensions is None and len(sized_layers(config.layers)) != 1:
        place.child("dimensions").issue(
            "required", "is missing, and there is not exactly one video or image to take it from"
        )
    _warn_of_output(config, place)
    duration_s = config.duration_s
    if config.extension.is_still and duration_s is not None and config.time_s >= duration_s:
        message = f"must be less than {float(duration_s):g}, the duration in seconds"
        place.child("time").issue("out_of_range", message)
    can_end = duration_s is not None or config.extension.is_still
    if not can_end and not any(has_own_length(layer) for layer in config.layers):
        place.child("duration").issue(
            "duration_required", "is missing, and no layer has a length of its own"
        )


def _warn_of_output(config: LayerConfig, place: FieldContext) -> None:
    """Warn of fields of `output` without effect."""
    output = config.output
    given = {"crf": output.crf, "videoBitrate": output.video_bitrate}
    for name in (name for name, value in given.items() if value is not None):
        here = place.child("output").child(name)
        if config.extension not in (Extension.MP4, Extension.WEBM):
            here.warn("no_effect", f"has no effect on {config.extension}")
        elif name == "crf" and output.video_bitrate is not None:
            here.warn("no_effect", "has no effect together with videoBitrate")


def sized_layers(layers: tuple[Layer, ...]) -> list[Layer]:
    """Return the layers whose source size can become the size of the canvas."""
    return [layer for layer in layers if isinstance(layer, VideoLayer | ImageLayer | LottieLayer)]


# These fields do not affect the film.
_NOT_DIGESTED: Final = ("metadata", "filename", "callback")


def write_config(config: LayerConfig) -> dict[str, Any]:
    """Return `parsed_config`: defaults filled in, `source` as `file`, colours `#RRGGBBAA`.

    Parsing it again returns an equal config.
    """
    return CONFIG_SCHEMA.write(config)


def config_digest(config: LayerConfig, assets: Mapping[str, str] | None = None) -> str:
    """Return the digest of everything that determines the film.

    `assets` are digests of the sources' bytes, by URL. Equal digests mean equal films.
    """
    written = {k: v for k, v in write_config(config).items() if k not in _NOT_DIGESTED}
    return sha256_digest({"config": written, "assets": dict(assets or {})})


_REMOTE: Final = ("http://", "https://")


def read_stored_config(value: object) -> ParsedConfig:
    """Return a stored config; URLs that are not remote were uploaded with its request."""
    parsed = parse_config(value)
    assert isinstance(parsed, Mapping)
    files = {layer["id"]: layer.get("file") for layer in unread_layers(parsed)}
    uploads = {
        layer_id: address
        for layer_id, address in files.items()
        if isinstance(address, str) and not address.lower().startswith(_REMOTE)
    }
    return read_config(parsed, ReadOptions(uploads=uploads))


def has_own_length(layer: Layer) -> bool:
    """Whether a layer may have a duration of its own; its source decides."""
    if layer.trim.end_s is not None:
        return True
    if isinstance(layer, GroupLayer | SequenceLayer):
        return any(has_own_length(child) for child in layer.layers)
    if isinstance(layer, VideoLayer | AudioLayer | LottieLayer | ImageLayer):
        return True  # Whether an image is animated is known later.
    return isinstance(layer, WaveformLayer) and layer.file is not None
