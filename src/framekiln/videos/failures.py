"""Failures of videos, with the layer that caused them. Pure.

A failure caused by a config begins with the path of the field, `layers.2.file: ...`. The layer is
then found in the stored config.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from framekiln.videos.model import Json, Video

_PATH: Final = re.compile(r"^((?:layers|fonts)\.\d+(?:\.[A-Za-z0-9_]+)*): ")


@dataclass(frozen=True)
class VideoFailure:
    """The failure that the owner sees."""

    code: str
    message: str
    path: str | None
    layer_id: str | None


def video_failure(video: Video) -> VideoFailure | None:
    """Return why a video failed; None if it has not."""
    failure = video.render.failure
    if failure is None:
        return None
    path = leading_path(failure.message)
    layer_id = innermost_layer_id(video.record.config, path) if path else None
    return VideoFailure(failure.code, failure.message, path, layer_id)


def leading_path(message: str) -> str | None:
    """Return the path at the start of a message."""
    found = _PATH.match(message)
    return found[1] if found else None


def innermost_layer_id(config: Json, path: str) -> str | None:
    """Return the id of the innermost layer on a dotted path."""
    here: Any = config
    layer_id: str | None = None
    parts = path.split(".")
    for name, number in zip(parts[::2], parts[1::2], strict=False):
        layers = here.get(name) if isinstance(here, Mapping) else None
        if name != "layers" or not isinstance(layers, list) or not number.isdecimal():
            break
        if int(number) >= len(layers):
            break
        here = layers[int(number)]
        layer_id = str(here["id"])
    return layer_id
