"""Validates a posted config and its files into an accepted config. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final

from framekiln.composition.layers import (
    ConfigFinding,
    InvalidConfig,
    LayerConfig,
    ParsedConfig,
    ReadOptions,
    config_digest,
    read_config,
    write_config,
)
from framekiln.composition.layers.config_json import parse_config, unread_layers
from framekiln.composition.layers.values import Extension
from framekiln.media.images.still_formats import JpegFormat, PngFormat, WebpFormat
from framekiln.renders.output import FilmFormat, OutputFormat
from framekiln.videos.model import NewVideo, VideoRequest

_STILLS: Final[dict[Extension, OutputFormat]] = {
    Extension.JPG: JpegFormat(),
    Extension.PNG: PngFormat(transparency=True),
    Extension.WEBP: WebpFormat(transparency=True),
}


@dataclass(frozen=True)
class AcceptedConfig:
    """A config that is valid as far as it can be checked without its sources."""

    read: ParsedConfig
    new: NewVideo
    output: OutputFormat

    @property
    def config(self) -> LayerConfig:
        """The config as values."""
        return self.read.config


def accept_config(request: VideoRequest) -> AcceptedConfig:
    """Return the accepted config, or raise `InvalidConfig`. Slow if it is large: use a thread."""
    value = parse_config(request.config)
    assert isinstance(value, Mapping)
    if request.metadata is not None:
        value = {**value, "metadata": request.metadata}
    _check_layers_exist(value, request.uploads)
    read = read_config(
        value,
        ReadOptions(is_filled_template=request.is_filled_template, uploads=request.uploads),
    )
    config = write_config(read.config)
    new = NewVideo(
        config=config,
        digest=config_digest(read.config),
        metadata=read.config.metadata.thaw(),
        warnings=[*request.warnings, *(warning.as_json() for warning in read.warnings)],
        template_id=request.template_id,
        template_version=request.template_version,
    )
    return AcceptedConfig(read, new, output_format(read.config.extension))


def output_format(extension: Extension) -> OutputFormat:
    """Return the render's output format for an extension."""
    return _STILLS.get(extension) or FilmFormat(extension.value)


def as_frame_config(
    accepted: AcceptedConfig, extension: Extension, *, time_s: Fraction
) -> AcceptedConfig:
    """Return the same config, of a film or a still, with the image at a time as its output."""
    read = replace(accepted.read, config=replace(accepted.config, time_s=time_s))
    new = replace(accepted.new, config=write_config(read.config), digest=config_digest(read.config))
    return AcceptedConfig(read, new, output_format(extension))


def with_source_addresses(config: object, addresses: Mapping[str, str]) -> object:
    """Return a config whose layers use the files uploaded with it, by layer id."""
    if not addresses:
        return config
    value = parse_config(config)
    assert isinstance(value, Mapping)
    _check_layers_exist(value, addresses)
    return _placed(value, addresses)


def _placed(value: Mapping[str, Any], addresses: Mapping[str, str]) -> dict[str, Any]:
    placed = dict(value)
    address = addresses.get(str(value.get("id")))
    if address is not None:
        placed["file"] = address
    layers = value.get("layers")
    if isinstance(layers, list):
        placed["layers"] = [
            _placed(layer, addresses) if isinstance(layer, Mapping) else layer for layer in layers
        ]
    return placed


def _check_layers_exist(value: Mapping[str, Any], named: Mapping[str, str]) -> None:
    known = {str(layer["id"]) for layer in unread_layers(value) if layer.get("id") is not None}
    unknown = sorted(named.keys() - known)
    if unknown:
        raise InvalidConfig(
            [
                ConfigFinding(
                    "layers",
                    "unknown_layer",
                    f"a file was sent for layer {name[:100]}, which does not exist",
                )
                for name in unknown
            ]
        )
