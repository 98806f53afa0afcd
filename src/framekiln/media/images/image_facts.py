"""The facts of an uploaded image, found by decoding it; runs in a confined child.

Refuses truncated images, images larger than a browser can show, and unsafe SVG. Imports neither
FFmpeg nor numpy, because every uploaded image waits for it.

The size in an image header is read before any decoder sees the file: a kilobyte can declare thirty
thousand pixels per side, and a decoder would allocate memory for them first.
"""

import struct
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, BinaryIO, Final

from PIL import Image

from framekiln.kit.errors import InvalidInput, TooLarge
from framekiln.media.images.frame_times import (
    MAX_FRAMES,
    FrameTimes,
    TooManyFrames,
    effective_ms,
    frame_times,
)
from framekiln.media.images.svg import check_svg
from framekiln.media.sniff import HEAD_BYTES, sniff

# Start-of-frame markers of JPEG; C4, C8 and CC have other meanings.
_JPEG_FRAMES: Final = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}
_JPEG_WITHOUT_LENGTH: Final = {0x01, *range(0xD0, 0xD9)}
_MAX_SEGMENTS: Final = 10_000


def declared_size(path: Path, mime_type: str) -> tuple[int, int] | None:
    """Return width and height in pixels; None if the header is broken or truncated."""
    with path.open("rb") as file:
        try:
            if mime_type == "image/jpeg":
                return _jpeg(file)
            head = file.read(32)
            if mime_type == "image/png":
                return _png(head)
            if mime_type == "image/gif":
                return struct.unpack("<HH", head[6:10])
            return _webp(head)
        except (struct.error, IndexError):
            return None


def _png(head: bytes) -> tuple[int, int] | None:
    if head[12:16] != b"IHDR":
        return None
    return struct.unpack(">II", head[16:24])


def _webp(head: bytes) -> tuple[int, int] | None:
    form, body = head[12:16], head[20:]
    if form == b"VP8X":
        return 1 + int.from_bytes(body[4:7], "little"), 1 + int.from_bytes(body[7:10], "little")
    if form == b"VP8L" and body[0] == 0x2F:
        bits = int.from_bytes(body[1:5], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if form == b"VP8 " and body[3:6] == b"\x9d\x01\x2a":
        width, height = struct.unpack("<HH", body[6:10])
        return width & 0x3FFF, height & 0x3FFF
    return None


def _jpeg(file: BinaryIO) -> tuple[int, int] | None:
    file.seek(2)
    for _ in range(_MAX_SEGMENTS):
        marker = _next_marker(file)
        if marker in _JPEG_FRAMES:
            height, width = struct.unpack(">3xHH", file.read(7))
            return width, height
        if marker in _JPEG_WITHOUT_LENGTH:
            continue
        (length,) = struct.unpack(">H", file.read(2))
        if length < 2:
            return None
        file.seek(length - 2, 1)
    return None


def _next_marker(file: BinaryIO) -> int:
    """Return the next marker; any number of fill bytes may come before it."""
    (byte,) = struct.unpack("B", file.read(1))
    if byte != 0xFF:
        raise struct.error("no marker")
    while byte == 0xFF:
        (byte,) = struct.unpack("B", file.read(1))
    return int(byte)


MAX_SIDE_PX: Final = 16_384
MAX_PIXELS: Final = 8192 * 8192
MAX_ANIMATED_PIXELS: Final = 4_000_000_000
"""Of all frames together: every frame is drawn on the whole canvas."""

DECODERS: Final = {
    "image/jpeg": "JPEG",
    "image/png": "PNG",
    "image/gif": "GIF",
    "image/webp": "WEBP",
    "image/avif": "AVIF",
}
SVG_TYPE: Final = "image/svg+xml"
_ORIENTATION_TAG: Final = 0x0112
_ON_ITS_SIDE: Final = {5, 6, 7, 8}
# Counter-clockwise; mirrored orientations count by their rotation.
_TURNED_DEGREES: Final = {3: 180, 4: 180, 5: 270, 6: 270, 7: 90, 8: 90}


_STILL: Final = FrameTimes()


class BrokenImage(InvalidInput):
    """The file is not an image, or is truncated or damaged."""

    code = "broken_image"


class ImageTooLarge(TooLarge):
    """The image has too many pixels."""

    code = "image_too_large"


@dataclass(frozen=True)
class ImageFacts:
    """An image; width and height are as displayed, after EXIF orientation."""

    width_px: int
    height_px: int
    mime_type: str
    has_alpha: bool
    is_animated: bool
    rotation_degrees: int = 0
    """Counter-clockwise, already applied to width and height."""
    times: FrameTimes = _STILL
    """Frame times of an animation that is decoded here; SVG has none."""

    @property
    def duration_ms(self) -> Fraction | None:
        """Duration of an animation played once; None for a still image."""
        return sum(self.times.frame_ms, Fraction(0)) or None


def image_facts_task(
    args: dict[str, Any], _report: Callable[[dict[str, Any]], None]
) -> dict[str, Any]:
    """Return the size and type of the image at `source`, for `run_confined`."""
    facts = image_facts(Path(args["source"]))
    return {
        "width_px": facts.width_px,
        "height_px": facts.height_px,
        "mime_type": facts.mime_type,
        "has_alpha": facts.has_alpha,
        "is_animated": facts.is_animated,
    }


def image_facts(path: Path) -> ImageFacts:
    """Return the facts of an image, or raise why it is refused."""
    with path.open("rb") as file:
        mime_type = sniff(file.read(HEAD_BYTES)).mime_type
        if mime_type == SVG_TYPE:
            return _svg_facts(path)
        return open_image(path, file)[1]


def open_image(path: Path, file: BinaryIO) -> tuple[Image.Image, ImageFacts]:
    """Return the first frame of an open image file, decoded, and its facts.

    Raises why it is refused; an SVG is, since it needs a browser.
    """
    file.seek(0)
    mime_type = sniff(file.read(HEAD_BYTES)).mime_type
    if mime_type == SVG_TYPE:
        raise BrokenImage("an SVG is drawn by a browser, not decoded")
    if mime_type not in DECODERS:
        found = f" (it looks like {mime_type})" if mime_type else ""
        raise BrokenImage(f"the file is not a JPEG, PNG, GIF, WebP, AVIF or SVG image{found}")
    if mime_type != "image/avif":
        size = declared_size(path, mime_type)
        if size is None:
            raise BrokenImage("the header of the image is damaged or truncated")
        check_size(*size)
    file.seek(0)
    with translate_image_errors():
        # Given a path, PIL would read the unfetched parts of a sparse file.
        image = Image.open(file, formats=[DECODERS[mime_type]])
        return image, _facts(image, path, mime_type)


def _svg_facts(path: Path) -> ImageFacts:
    drawing = check_svg(path.read_bytes())
    check_size(drawing.size.width_px, drawing.size.height_px)
    return ImageFacts(
        width_px=drawing.size.width_px,
        height_px=drawing.size.height_px,
        mime_type=SVG_TYPE,
        has_alpha=True,
        is_animated=drawing.is_animated,
    )


def _facts(image: Image.Image, path: Path, mime_type: str) -> ImageFacts:
    check_size(*image.size)
    is_animated = bool(getattr(image, "is_animated", False))
    times = _times(path, image, mime_type)
    image.seek(0)
    image.load()
    width, height = image.size
    orientation = image.getexif().get(_ORIENTATION_TAG, 1)
    if orientation in _ON_ITS_SIDE:
        width, height = height, width
    return ImageFacts(
        width_px=width,
        height_px=height,
        mime_type=mime_type,
        has_alpha=image.has_transparency_data,
        is_animated=is_animated,
        rotation_degrees=_TURNED_DEGREES.get(orientation, 0),
        times=times,
    )


def _times(path: Path, picture: Image.Image, mime_type: str) -> FrameTimes:
    if mime_type != "image/avif":
        times = frame_times(path, mime_type)
        _check_frames(len(times.frame_ms), picture.size)
        return times
    # The times are spread over the file and read frame by frame.
    count = int(getattr(picture, "n_frames", 1))
    if count > MAX_FRAMES:
        raise TooManyFrames(f"the animation has more than {MAX_FRAMES:,} frames")
    _check_frames(count, picture.size)
    lengths: list[Fraction] = []
    for number in range(count if count > 1 else 0):
        picture.seek(number)
        picture.load()
        lengths.append(effective_ms(Fraction(round(picture.info.get("duration", 0)))))
    return FrameTimes(tuple(lengths))


def _check_frames(count: int, size: tuple[int, int]) -> None:
    width, height = size
    if count > 1 and count * width * height > MAX_ANIMATED_PIXELS:
        raise ImageTooLarge(
            f"the animation has {count:,} frames of {width}x{height}; at most"
            f" {MAX_ANIMATED_PIXELS:,} pixels in all frames together are supported: make it"
            " smaller or shorter, or send it as a video"
        )


@contextmanager
def translate_image_errors() -> Iterator[None]:
    """Convert errors of image decoders inside the block to our own."""
    try:
        # PIL also warns about harmless problems; what matters raises an error.
        with warnings.catch_warnings(action="ignore"):
            yield
    except Image.DecompressionBombError as error:
        raise ImageTooLarge(f"the image has more than {MAX_PIXELS:,} pixels") from error
    except TooManyFrames as error:
        raise ImageTooLarge(str(error)) from error
    except (OSError, ValueError, SyntaxError, EOFError, IndexError, KeyError, TypeError) as error:
        raise BrokenImage(f"the image is damaged or truncated: {error}") from error


def check_size(width_px: int, height_px: int) -> None:
    """Refuse an image with more pixels than the limit."""
    if min(width_px, height_px) < 1:
        raise BrokenImage(f"the image is {width_px}x{height_px} pixels")
    if max(width_px, height_px) > MAX_SIDE_PX or width_px * height_px > MAX_PIXELS:
        raise ImageTooLarge(
            f"the image is {width_px}x{height_px}; at most {MAX_SIDE_PX:,} pixels a side"
            f" and {MAX_PIXELS:,} in total are supported",
            width=width_px,
            height=height_px,
        )
