"""What a render's output is: an MP4, or a still in one of three formats (spec 4.3)."""

from dataclasses import asdict, dataclass
from typing import Any, Final

from framekiln.media.imaging.stills import JpegFormat, PngFormat, StillFormat, WebpFormat


@dataclass(frozen=True)
class Mp4Format:
    """H.264 and AAC; there is nothing to choose."""


OutputFormat = Mp4Format | StillFormat

_FORMATS: Final[dict[str, type[OutputFormat]]] = {
    "mp4": Mp4Format,
    "jpeg": JpegFormat,
    "png": PngFormat,
    "webp": WebpFormat,
}


def container_of(output: OutputFormat) -> str:
    """Return the word for a format on the wire, which is also the ending of its files."""
    return next(name for name, kind in _FORMATS.items() if isinstance(output, kind))


def media_type_of(output: OutputFormat) -> str:
    """Return the media type of the output's bytes."""
    return "video/mp4" if isinstance(output, Mp4Format) else f"image/{container_of(output)}"


def output_as_json(output: OutputFormat) -> dict[str, Any]:
    """Return it as plain JSON."""
    return {"container": container_of(output), **asdict(output)}


def output_from_json(value: dict[str, Any]) -> OutputFormat:
    """Read what `output_as_json` wrote."""
    fields = {name: each for name, each in value.items() if name != "container"}
    return _FORMATS[value["container"]](**fields)
