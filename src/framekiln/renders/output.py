"""Output formats of renders: a film in one of several containers, or a still.

Renders of v1 are MP4 or stills (spec 4.3); the other containers are for layer configs.
"""

from dataclasses import asdict, dataclass
from typing import Any, Final

from framekiln.composition.render_preset import RenderPreset
from framekiln.media.film_containers import FILM_CONTAINERS
from framekiln.media.images.still_formats import JpegFormat, PngFormat, StillFormat, WebpFormat


@dataclass(frozen=True)
class FilmFormat:
    """A film; `container` is a key of `FILM_CONTAINERS`."""

    container: str
    preset: RenderPreset = RenderPreset.STANDARD
    """Of a page's film; a layer config has its own."""


OutputFormat = FilmFormat | StillFormat

MP4: Final = FilmFormat("mp4")

_STILLS: Final[dict[str, type[StillFormat]]] = {
    "jpeg": JpegFormat,
    "png": PngFormat,
    "webp": WebpFormat,
}


def container_of(output: OutputFormat) -> str:
    """Return the name of a format in the API, which is also its file extension."""
    if isinstance(output, FilmFormat):
        return output.container
    return next(name for name, kind in _STILLS.items() if isinstance(output, kind))


def is_mp4_film(output: OutputFormat) -> bool:
    """Whether it is an MP4, with any preset."""
    return container_of(output) == MP4.container


def media_type_of(output: OutputFormat) -> str:
    """Return the media type of an output."""
    if isinstance(output, FilmFormat):
        return FILM_CONTAINERS[output.container].media_type
    return f"image/{container_of(output)}"


def preset_of(output: OutputFormat) -> RenderPreset:
    """Return the preset of a page's film; stills have none."""
    return output.preset if isinstance(output, FilmFormat) else RenderPreset.STANDARD


def output_as_json(output: OutputFormat) -> dict[str, Any]:
    """Return an output format as plain JSON."""
    made = {"container": container_of(output), **asdict(output)}
    # Rows and digests from before there were presets have none.
    return {name: value for name, value in made.items() if value is not RenderPreset.STANDARD}


def output_from_json(value: dict[str, Any]) -> OutputFormat:
    """Read what `output_as_json` wrote."""
    container = value["container"]
    if container in FILM_CONTAINERS:
        return FilmFormat(container, RenderPreset(value.get("preset", RenderPreset.STANDARD)))
    return _STILLS[container](**{name: each for name, each in value.items() if name != "container"})
