"""The output formats of `framekiln render`, by file extension, and the time of a still."""

import re
from fractions import Fraction
from pathlib import Path
from typing import Final

from framekiln.engine.film_bounds import MAX_DURATION_MS
from framekiln.kit.errors import InvalidInput
from framekiln.media.film_containers import FILM_CONTAINERS
from framekiln.media.images.still_formats import JpegFormat, PngFormat, StillFormat, WebpFormat

FILMS: Final = tuple(FILM_CONTAINERS)
STILLS: Final = ("png", "jpg", "jpeg", "webp")
PAGE_FILM: Final = "mp4"
_EXTENSIONS: Final = {"jpeg": "jpg"}
_TIME: Final = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*(ms|s|min|m|h)?")
_UNITS_MS: Final = {None: 1, "ms": 1, "s": 1000, "m": 60_000, "min": 60_000, "h": 3_600_000}


class UnknownFormat(InvalidInput):
    """The extension of the output is not a supported format."""

    code = "unknown_format"


def format_of(output: Path) -> str:
    """Return the format for an output's extension, or raise an error that lists all formats."""
    ending = output.suffix.lower().removeprefix(".")
    if ending not in (*FILMS, *STILLS):
        raise UnknownFormat(
            f"--output {output}: the name must end in .{', .'.join(FILMS)} for a film,"
            f" or in .{', .'.join(STILLS)} for a still"
        )
    return "jpeg" if ending == "jpg" else ending


def page_format_of(output: Path) -> str:
    """Return the format of a page that the service renders; it makes no other films of pages."""
    found = format_of(output)
    if found not in (PAGE_FILM, *STILLS):
        raise UnknownFormat(
            f"--output {output}: the service makes .{PAGE_FILM} films and stills of pages;"
            f" framekiln render makes .{found}"
        )
    return found


def extension_of(output: Path) -> str:
    """Return the format for an output's extension, as layer configs name it."""
    return _EXTENSIONS.get(found := format_of(output), found)


def require_extension(output: Path, made: str, *, resource: str) -> None:
    """Raise if the name of a file says that it has another format than the one it would get."""
    made = _EXTENSIONS.get(made, made)
    if extension_of(output) != made:
        raise UnknownFormat(f"--output {output}: {resource} is .{made}: end the name in .{made}")


def still_format(name: str, *, is_transparent: bool) -> StillFormat | None:
    """Return the encoding of a still; None for films."""
    if is_transparent and name not in ("png", "webp"):
        raise InvalidInput("--transparent works only for stills: .png or .webp")
    match name:
        case "jpeg":
            return JpegFormat()
        case "png":
            return PngFormat(transparency=is_transparent)
        case "webp":
            return WebpFormat(transparency=is_transparent)
    return None


def read_time(text: str) -> int:
    """Return the milliseconds of `--at`: a number, or a number with its unit, as in 1.5s."""
    match = _TIME.fullmatch(text.strip())
    at_ms = round(Fraction(match[1]) * _UNITS_MS[match[2]]) if match else -1
    if not 0 <= at_ms <= MAX_DURATION_MS:
        raise InvalidInput(
            f"--at {text}: must be milliseconds or a time such as 1.5s or 2m, up to"
            f" {MAX_DURATION_MS} ms"
        )
    return at_ms


def still_time(at: str | None, *, is_film: bool) -> int | None:
    """Return the milliseconds of `--at`, 0 without it; None for a film, which has none."""
    if is_film:
        if at is not None:
            raise InvalidInput(
                "--at works only for stills: --output must end in .png, .jpg or .webp"
            )
        return None
    return 0 if at is None else read_time(at)
