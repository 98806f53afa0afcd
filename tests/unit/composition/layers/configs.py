"""Configs for these tests, and short ways to read them."""

from fractions import Fraction
from typing import Any

from framekiln.composition.layers import (
    ConfigFinding,
    InvalidConfig,
    LayerConfig,
    PixelSize,
    ReadOptions,
    ResolvedLayer,
    ResolvedTimeline,
    SourceFacts,
    read_config,
    resolve,
)
from framekiln.kit.media_kind import MediaKind

VIDEO = "https://media.example/clip.mp4"
MUSIC = "https://media.example/music.mp3"
PICTURE = "https://media.example/picture.png"
CAPTIONS = "https://media.example/said.vtt"
MEDIA = {
    VIDEO: SourceFacts(MediaKind.VIDEO, PixelSize(640, 360), Fraction(10), has_sound=True),
    MUSIC: SourceFacts(MediaKind.AUDIO, None, Fraction(3), has_sound=True),
    PICTURE: SourceFacts(MediaKind.IMAGE, PixelSize(400, 200)),
    CAPTIONS: SourceFacts(MediaKind.CAPTION),
}


def config_of(*layers: dict[str, Any], **top: Any) -> dict[str, Any]:
    """Return a config of these layers on a canvas of 1280 x 720."""
    return {"dimensions": {"width": 1280, "height": 720}, "layers": list(layers), **top}


def video(**fields: Any) -> dict[str, Any]:
    return {"type": "video", "id": "v", "file": VIDEO, **fields}


def image(**fields: Any) -> dict[str, Any]:
    return {"type": "image", "id": "i", "file": PICTURE, "trim": {"end": 4}, **fields}


def text(**fields: Any) -> dict[str, Any]:
    return {"type": "text", "id": "t", "text": {"text": "Hello"}, "trim": {"end": 4}, **fields}


def read(*layers: dict[str, Any], **top: Any) -> LayerConfig:
    return read_config(config_of(*layers, **top)).config


def issues_of(config: object, options: ReadOptions | None = None) -> dict[str, str]:
    """Return the codes of all issues by path."""
    try:
        read_config(config, options)
    except InvalidConfig as error:
        return {issue["path"]: issue["code"] for issue in error.details["issues"]}
    return {}


def warnings_of(config: object) -> dict[str, ConfigFinding]:
    return {warning.path: warning for warning in read_config(config).warnings}


def film(*layers: dict[str, Any], **top: Any) -> ResolvedTimeline:
    return resolve(read(*layers, **top), MEDIA)


def layer_of(resolved: ResolvedTimeline, layer_id: str) -> ResolvedLayer:
    return next(layer for layer in resolved.every_layer() if layer.id == layer_id)
