"""What a render's output is: a film in one of four containers, or a still in one of three formats.

Renders of v1 are MP4 or stills (spec 4.3); the other films are made of layer configs.
"""

from dataclasses import asdict, dataclass
from typing import Any, Final

from framekiln.media.images.still_formats import JpegFormat, PngFormat, StillFormat, WebpFormat


@dataclass(frozen=True)
class Mp4Format:
    """H.264 and AAC; there is nothing to choose."""


@dataclass(frozen=True)
class WebmFormat:
    """VP9 and Opus."""


@dataclass(frozen=True)
class MovFormat:
    """ProRes and PCM."""


@dataclass(frozen=True)
class GifFormat:
    """Pictures without sound."""


FilmFormat = Mp4Format | WebmFormat | MovFormat | GifFormat
OutputFormat = FilmFormat | StillFormat

_FORMATS: Final[dict[str, type[OutputFormat]]] = {
    "mp4": Mp4Format,
    "webm": WebmFormat,
    "mov": MovFormat,
    "gif": GifFormat,
    "jpeg": JpegFormat,
    "png": PngFormat,
    "webp": WebpFormat,
}
_MEDIA_TYPES: Final = {"mp4": "video/mp4", "webm": "video/webm", "mov": "video/quicktime"}


def container_of(output: OutputFormat) -> str:
    """Return the word for a format on the wire, which is also the ending of its files."""
    return next(name for name, kind in _FORMATS.items() if isinstance(output, kind))


def media_type_of(output: OutputFormat) -> str:
    """Return the media type of the output's bytes."""
    container = container_of(output)
    return _MEDIA_TYPES.get(container, f"image/{container}")


def output_as_json(output: OutputFormat) -> dict[str, Any]:
    """Return it as plain JSON."""
    return {"container": container_of(output), **asdict(output)}


def output_from_json(value: dict[str, Any]) -> OutputFormat:
    """Read what `output_as_json` wrote."""
    fields = {name: each for name, each in value.items() if name != "container"}
    return _FORMATS[value["container"]](**fields)
