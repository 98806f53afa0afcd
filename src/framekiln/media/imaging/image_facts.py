"""What an uploaded picture is, found by decoding it; to be run in a confined child.

Refuses what is cut off, what is larger than a browser could show, and drawings that would do more
than draw. Imports neither FFmpeg nor numpy: it is on the way of every picture that is uploaded.
"""

import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from PIL import Image

from framekiln.kit.errors import InvalidInput, TooLarge
from framekiln.media.imaging.image_header import stated_size
from framekiln.media.imaging.svg import check_svg
from framekiln.media.sniff import HEAD_BYTES, Kind, sniff

LARGEST_SIDE_PX: Final = 16_384
MOST_PIXELS: Final = 8192 * 8192

_DECODERS: Final = {
    "image/jpeg": "JPEG",
    "image/png": "PNG",
    "image/gif": "GIF",
    "image/webp": "WEBP",
}
_ORIENTATION_TAG: Final = 0x0112
_ON_ITS_SIDE: Final = {5, 6, 7, 8}


class BrokenImage(InvalidInput):
    """The file is no picture, or is cut off or damaged."""

    code = "broken_image"


class ImageTooLarge(TooLarge):
    """The picture has more pixels than are decoded."""

    code = "image_too_large"


@dataclass(frozen=True)
class ImageFacts:
    """A picture; sides are as it is shown, turned as its camera noted."""

    width_px: int
    height_px: int
    mime_type: str
    has_alpha: bool
    is_animated: bool


def task(args: dict[str, Any], _report: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Return the facts of the picture at `source`, for `run_confined`."""
    return asdict(image_facts(Path(args["source"])))


def image_facts(path: Path) -> ImageFacts:
    """Return what a picture is, or say why it cannot be taken."""
    with path.open("rb") as file:
        sniffed = sniff(file.read(HEAD_BYTES))
    if sniffed.kind is not Kind.IMAGE or sniffed.mime_type is None:
        found = f" (it looks like {sniffed.mime_type})" if sniffed.mime_type else ""
        raise BrokenImage(f"the file is no JPEG, PNG, GIF, WebP or SVG picture{found}")
    if sniffed.mime_type == "image/svg+xml":
        return _svg_facts(path)
    size = stated_size(path, sniffed.mime_type)
    if size is None:
        raise BrokenImage("the header of the picture is damaged or cut off")
    _check_size(*size)
    return _decode(path, sniffed.mime_type)


def _svg_facts(path: Path) -> ImageFacts:
    drawing = check_svg(path.read_bytes())
    _check_size(drawing.size.width_px, drawing.size.height_px)
    return ImageFacts(
        width_px=drawing.size.width_px,
        height_px=drawing.size.height_px,
        mime_type="image/svg+xml",
        has_alpha=True,
        is_animated=drawing.is_animated,
    )


def _decode(path: Path, mime_type: str) -> ImageFacts:
    try:
        # PIL warns of harmless oddities as well; what matters raises.
        with (
            warnings.catch_warnings(action="ignore"),
            Image.open(path, formats=[_DECODERS[mime_type]]) as picture,
        ):
            _check_size(*picture.size)
            is_animated = bool(getattr(picture, "is_animated", False))
            picture.load()
            return _facts(picture, mime_type, is_animated=is_animated)
    except Image.DecompressionBombError as error:
        raise ImageTooLarge(f"the picture has more than {MOST_PIXELS:,} pixels") from error
    except MemoryError:
        raise
    except (OSError, ValueError, SyntaxError, EOFError, IndexError, KeyError, TypeError) as error:
        raise BrokenImage(f"the picture is damaged or cut off: {error}") from error


def _facts(picture: Image.Image, mime_type: str, *, is_animated: bool) -> ImageFacts:
    width, height = picture.size
    if picture.getexif().get(_ORIENTATION_TAG) in _ON_ITS_SIDE:
        width, height = height, width
    return ImageFacts(
        width_px=width,
        height_px=height,
        mime_type=mime_type,
        has_alpha=picture.has_transparency_data,
        is_animated=is_animated,
    )


def _check_size(width_px: int, height_px: int) -> None:
    if min(width_px, height_px) < 1:
        raise BrokenImage(f"the picture is {width_px}x{height_px} pixels")
    if max(width_px, height_px) > LARGEST_SIDE_PX or width_px * height_px > MOST_PIXELS:
        raise ImageTooLarge(
            f"the picture is {width_px}x{height_px}; at most {LARGEST_SIDE_PX:,} pixels a side"
            f" and {MOST_PIXELS:,} in all are decoded",
            width=width_px,
            height=height_px,
        )
