"""From JSON to `LayerConfig`. Everything wrong is collected before anything is raised."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import floor
from typing import Any, Final

from framekiln.composition.layers.anchors import check_anchors
from framekiln.composition.layers.colours import BLACK
from framekiln.composition.layers.findings import Finding, InvalidConfig
from framekiln.composition.layers.kinds import (
    Address,
    Choice,
    ColourKind,
    Flag,
    FreeObject,
    FrozenJson,
    ListOf,
    Nested,
    Number,
    Seconds,
    Text,
    Whole,
)
from framekiln.composition.layers.layer_kinds import LayersKind
from framekiln.composition.layers.lengths import has_own_length
from framekiln.composition.layers.limits import MAX_FONTS, MAX_JSON_DEPTH, Limits
from framekiln.composition.layers.place import Place, Reading
from framekiln.composition.layers.schema import REFUSED, Field, Refused, Schema
from framekiln.composition.layers.styles import FontStyle
from framekiln.composition.layers.values import (
    Dimensions,
    Extension,
    Font,
    ImageLayer,
    Layer,
    LayerConfig,
    LottieLayer,
    MixSettings,
    OutputSettings,
    Quality,
    VideoLayer,
)
from framekiln.timeline import exact_rate

_PLACEHOLDER: Final = re.compile(r"\{\{[^{}]{1,200}\}\}|\{%[^{}]{1,200}%\}")
# Not shown as text, or spoken of elsewhere.
_FREE_FIELDS: Final = frozenset({"metadata", "lottie", "when", "repeat"})
_TO_FILL: Final = "create a template of this config (POST /v2/templates) and render it with data"


@dataclass(frozen=True)
class ReadConfig:
    """A config that can be rendered, as far as it can be told without its sources."""

    config: LayerConfig
    warnings: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class ReadingOptions:
    """How a config is read."""

    limits: Limits = field(default_factory=Limits)
    is_filled_template: bool = False
    """Numbers and booleans may then stand as text, and the other way round."""
    uploads: Mapping[str, str] = field(default_factory=dict)
    """Sources that came with the request: layer id to an address of ours."""


def read_config(value: object, options: ReadingOptions | None = None) -> ReadConfig:
    """Return the config that an object or a JSON text is, or raise `InvalidConfig`."""
    options = options or ReadingOptions()
    value = parse_config(value)
    reading = Reading(
        limits=options.limits,
        reads_numeric_strings=options.is_filled_template,
        uploads=options.uploads,
        layer_ids=frozenset(_ids_in(value)),
    )
    place = Place("", reading)
    config = _schema(options.limits).read(value, place)
    if isinstance(config, LayerConfig):
        _check_whole(config, place)
    if not options.is_filled_template:
        _warn_of_placeholders(value, place)
        reading.findings.hint_at_warned("templates_only", _TO_FILL)
    reading.findings.raise_issues()
    assert isinstance(config, LayerConfig)
    return ReadConfig(config, tuple(reading.findings.warnings))


def parse_config(value: object) -> object:
    """Return the JSON that a config is; it may have been sent as text."""
    if isinstance(value, bytes | bytearray):
        value = bytes(value).decode("utf-8", "replace")
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            raise InvalidConfig([Finding("", "type", "the config is not JSON")]) from None
    if depth_of(value) > MAX_JSON_DEPTH:
        raise InvalidConfig([Finding("", "out_of_range", "the config is nested too deep")])
    if not isinstance(value, Mapping):
        raise InvalidConfig([Finding("", "type", "the config must be an object")])
    return value


def depth_of(value: object) -> int:
    """Return how deep a value is nested, up to one more than is allowed."""
    level, depth = [value], 0
    while level and depth <= MAX_JSON_DEPTH:
        depth += 1
        level = [inner for item in level for inner in _inside(item)]
    return depth


def _warn_of_placeholders(value: object, place: Place) -> None:
    """Tell the author of texts that only a template would fill in."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if name not in _FREE_FIELDS:
                _warn_of_placeholders(inner, place.at(name))
    elif isinstance(value, list | tuple):
        for number, inner in enumerate(value):
            _warn_of_placeholders(inner, place.at(number))
    elif isinstance(value, str) and (found := _PLACEHOLDER.search(value)):
        if "<script" in value:
            return  # It may fill in its page itself.
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


def _ids_in(config: object) -> Iterator[str]:
    waiting = [config]
    while waiting:
        item = waiting.pop()
        layers = item.get("layers") if isinstance(item, Mapping) else None
        for layer in layers if isinstance(layers, list | tuple) else ():
            waiting.append(layer)
            layer_id = layer.get("id") if isinstance(layer, Mapping) else None
            if isinstance(layer_id, str):
                yield layer_id
            elif isinstance(layer_id, int) and abs(layer_id) <= 2**53:
                yield str(layer_id)


@dataclass(frozen=True)
class _DimensionsKind:
    limits: Limits

    def read(self, value: object, place: Place) -> Dimensions | Refused:
        side = Number(2, self.limits.side_px)
        fields = tuple(Field(name, name, side, is_required=True) for name in ("width", "height"))
        read = Schema[dict[str, Any]](dict, fields).read(value, place)
        if isinstance(read, Refused):
            return read
        sides = {name: even(Fraction(number)) for name, number in read.items()}
        for name, number in read.items():
            if sides[name] != number:
                place.at(name).warn("adjusted", f"must be even; {sides[name]} is used")
        if sides["width"] * sides["height"] <= self.limits.area_px:
            return Dimensions(sides["width"], sides["height"])
        place.issue("out_of_range", f"must be at most {self.limits.area_px} pixels in all")
        return REFUSED

    def write(self, value: Dimensions) -> dict[str, int]:
        return {"width": value.width_px, "height": value.height_px}


def even(side: Fraction) -> int:
    """Return a side in whole pixels, odd ones raised: 4:2:0 pictures have even sides."""
    whole = floor(side + Fraction(1, 2))
    return whole + whole % 2


@dataclass(frozen=True)
class _RateKind:
    def read(self, value: object, place: Place) -> Fraction | Refused:
        number = Number(1, 120).read_exactly(value, place)
        return number if isinstance(number, Refused) else exact_rate(float(number))

    def write(self, value: Fraction) -> Any:
        return Number().write(value)


_FONT: Final = Schema(
    Font,
    (
        Field("family", "family", Text(100, is_css=True), is_required=True),
        Field("src", "src", Address(("https", "http")), is_required=True),
        Field("weight", "weight", Whole(1, 1000)),
        Field("style", "style", Choice(FontStyle)),
    ),
)
_MIX: Final = Schema(
    MixSettings,
    (
        Field("normalize", "normalize", Flag(), False),
        Field("target", "target_lufs", Number(-70, 0), -16.0),
        Field("limiter", "limiter", Flag(), True),
    ),
)
_OUTPUT: Final = Schema(
    OutputSettings,
    (
        Field("quality", "quality", Choice(Quality), Quality.STANDARD),
        Field("crf", "crf", Number(0, 51)),
        Field("videoBitrate", "video_bitrate", Whole(10_000, 200_000_000)),
    ),
)


def _schema(limits: Limits) -> Schema[LayerConfig]:
    return Schema(
        LayerConfig,
        (
            Field("backgroundColor", "background", ColourKind(), BLACK),
            Field("dimensions", "dimensions", _DimensionsKind(limits)),
            Field("duration", "duration_s", Seconds(0, limits.duration_s, over=True)),
            Field("fps", "fps", _RateKind(), Fraction(30)),
            Field("extension", "extension", Choice(Extension), Extension.MP4),
            Field("time", "time_s", Seconds(0, limits.duration_s), Fraction(0)),
            Field("filename", "filename", Text(255)),
            Field("metadata", "metadata", FreeObject(limits.metadata_bytes), FrozenJson()),
            Field("layers", "layers", LayersKind(), ()),
            Field("shouldWatermark", "should_watermark", Flag(), False),
            Field("fonts", "fonts", ListOf(Nested(_FONT), MAX_FONTS), ()),
            Field("audio", "audio", Nested(_MIX), MixSettings()),
            Field("output", "output", Nested(_OUTPUT), OutputSettings()),
            Field("callback", "callback", Address(("https", "http"))),
        ),
        elsewhere={"width": "dimensions.width", "height": "dimensions.height"},
    )


WRITTEN: Final = _schema(Limits())
"""For writing only: limits play no part there."""


def _check_whole(config: LayerConfig, place: Place) -> None:
    check_anchors(config.layers, place)
    if config.dimensions is None and len(sized_layers(config.layers)) != 1:
        place.at("dimensions").issue(
            "required", "is missing, and there is not exactly one video or image to take it from"
        )
    _warn_of_output(config, place)
    can_end = config.duration_s is not None or config.extension.is_still
    if not can_end and not any(has_own_length(layer) for layer in config.layers):
        place.at("duration").issue(
            "duration_required", "is missing, and no layer has a length of its own"
        )


def _warn_of_output(config: LayerConfig, place: Place) -> None:
    """Say what of `output` has no effect."""
    output = config.output
    given = {"crf": output.crf, "videoBitrate": output.video_bitrate}
    for name in (name for name, value in given.items() if value is not None):
        here = place.at("output").at(name)
        if config.extension not in (Extension.MP4, Extension.WEBM):
            here.warn("no_effect", f"has no effect on {config.extension}")
        elif name == "crf" and output.video_bitrate is not None:
            here.warn("no_effect", "has no effect beside videoBitrate")


def sized_layers(layers: tuple[Layer, ...]) -> list[Layer]:
    """Return the layers whose sources have a size that the canvas can take over."""
    return [layer for layer in layers if isinstance(layer, VideoLayer | ImageLayer | LottieLayer)]
