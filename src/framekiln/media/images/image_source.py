"""Frames of image files by time, as RGBA: still images, and animations by their own frame times.

EXIF orientation and colour profiles are applied. SVG is not decoded here, because it needs a
browser.

GIFs are composed as in browsers. A GIF is drawn part by part on a canvas that is initially
transparent. Before the next part, the last one is kept, cleared, or replaced by what was there
before. PIL decodes each part as a separate GIF, because PIL fills the canvas with a colour where
browsers leave it transparent.
"""

import io
import struct
from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

from framekiln.kit.cancellation import check_cancelled
from framekiln.kit.closeable import Closeable
from framekiln.media.images.colour_profile import ColourProfile
from framekiln.media.images.frame_times import MAX_FRAMES
from framekiln.media.images.image_facts import (
    MAX_PIXELS,
    open_image,
    translate_image_errors,
)

Pixels = NDArray[np.uint8]

_EXTENSION: Final = 0x21
_PART: Final = 0x2C
_TRAILER: Final = b"\x3b"
_CONTROL: Final = 0xF9
_HAS_TABLE: Final = 0x80
_CLEARED: Final = 2
_GIVEN_BACK: Final = 3


@dataclass(frozen=True)
class _Part:
    """The position of a part on the canvas and in the file, and its disposal method."""

    left: int
    top: int
    file: bytes
    """A GIF of this part alone."""
    disposal: int


class GifFrames:
    """All frames of one file; access in order is cheapest."""

    def __init__(self, data: bytes) -> None:
        width, height = struct.unpack("<HH", data[6:10])
        self.size = (width, height)
        self._parts: list[_Part] = []
        self._control = bytes(4)
        self._read(data)
        if not self._parts or not width or not height:
            raise ValueError("it has no frames")
        self._begin()

    def rgba(self, number: int) -> Pixels:
        """Return one frame: height x width x RGBA, straight alpha."""
        if number < self._drawn - 1:
            self._begin()
        while self._drawn <= number:
            check_cancelled()
            self._draw(self._parts[self._drawn])
        return self._canvas.copy()

    def _begin(self) -> None:
        width, height = self.size
        self._canvas = np.zeros((height, width, 4), np.uint8)
        self._after = self._canvas
        self._drawn = 0

    def _draw(self, part: _Part) -> None:
        self._canvas = self._after.copy()
        pixels = _decode(part.file)
        height, width = pixels.shape[:2]
        place = self._canvas[part.top : part.top + height, part.left : part.left + width]
        pixels = pixels[: place.shape[0], : place.shape[1]]
        place[...] = np.where(pixels[..., 3:] > 0, pixels, place)
        if part.disposal != _GIVEN_BACK:
            self._after = self._canvas.copy()
        if part.disposal == _CLEARED:
            self._after[part.top : part.top + height, part.left : part.left + width] = 0
        self._drawn += 1

    def _read(self, data: bytes) -> None:
        """Find all parts; a truncated part at the end is left out."""
        at = 13 + _table_bytes(data[10])
        table = data[13:at]
        flags = data[10]
        try:
            while data[at : at + 1] != _TRAILER and len(self._parts) < MAX_FRAMES:
                if data[at] == _EXTENSION:
                    at = self._read_extension(data, at)
                elif data[at] == _PART:
                    at = self._read_part(data, at, flags, table)
                else:
                    return
        except (IndexError, struct.error):
            return

    def _read_extension(self, data: bytes, at: int) -> int:
        end, blocks = _blocks(data, at + 2)
        if data[at + 1] == _CONTROL and blocks and len(blocks[0]) >= len(self._control):
            self._control = blocks[0][:4]
        return end

    def _read_part(self, data: bytes, at: int, flags: int, table: bytes) -> int:
        left, top, width, height, own = struct.unpack("<HHHHB", data[at + 1 : at + 10])
        body = at + 10 + _table_bytes(own)
        end, _ = _blocks(data, body + 1)
        if width * height > MAX_PIXELS:
            raise ValueError(f"a part of it is {width}x{height}")
        head = b"GIF89a" + struct.pack("<HHBBB", width, height, flags, 0, 0) + table
        described = b"\x2c" + struct.pack("<HHHHB", 0, 0, width, height, own)
        extension = b"\x21\xf9\x04" + self._control + b"\x00"
        file = head + extension + described + data[at + 10 : end] + _TRAILER
        self._parts.append(_Part(left, top, file, self._control[0] >> 2 & 7))
        self._control = bytes(4)
        return end


def _decode(file: bytes) -> Pixels:
    """Return the decoded part; an empty array if it is damaged."""
    try:
        with Image.open(io.BytesIO(file), formats=["GIF"]) as picture:
            return np.asarray(picture.convert("RGBA"), np.uint8)
    except (OSError, ValueError, EOFError, IndexError):
        return np.zeros((0, 0, 4), np.uint8)


def _table_bytes(flags: int) -> int:
    return 3 << ((flags & 7) + 1) if flags & _HAS_TABLE else 0


def _blocks(data: bytes, at: int) -> tuple[int, list[bytes]]:
    """Return where a sequence of blocks ends, and the blocks."""
    blocks = []
    while size := data[at]:
        blocks.append(data[at + 1 : at + 1 + size])
        at += 1 + size
    return at + 1, blocks


class ImageSource(Closeable):
    """One image file. Owned by one thread; close it, or use `with`."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        try:
            self._image, self.facts = open_image(path, self._file)
            with translate_image_errors():
                is_gif = self._image.format == "GIF"
                self._gif = GifFrames(path.read_bytes()) if is_gif else None
                self._profile = ColourProfile.read(self._image.info.get("icc_profile"))
        except BaseException:
            self._file.close()
            raise
        self.ends_ms = list(accumulate(self.facts.times.frame_ms))
        """Where each picture of an animation ends, in one run; empty for a still."""
        # A PNG may have a separate image before its animation, for viewers without animation
        # support.
        self._first = int(bool(self.ends_ms and getattr(self._image, "default_image", False)))
        self._kept: tuple[int, Pixels] | None = None

    def close(self) -> None:
        """Free the file and the image."""
        self._image.close()
        self._file.close()
        self._kept = None

    @property
    def size(self) -> tuple[int, int]:
        """Width and height as shown."""
        return self.facts.width_px, self.facts.height_px

    def number_at(self, ms: Fraction) -> int:
        """Return the number of the frame shown at an instant; animations repeat forever."""
        if not self.ends_ms:
            return 0
        return bisect_right(self.ends_ms, ms % self.ends_ms[-1])

    def rgba(self, number: int) -> Pixels:
        """Return one frame: height x width x RGBA, straight alpha."""
        if self._kept is None or self._kept[0] != number:
            with translate_image_errors():
                self._kept = (number, self._gif.rgba(number) if self._gif else self._seek(number))
        return self._kept[1]

    def _seek(self, number: int) -> Pixels:
        check_cancelled()
        self._image.seek(self._first + number)
        turned = _in_8_bits(ImageOps.exif_transpose(self._image))
        profile = self._profile
        rgba = profile.to_rgba(turned) if profile else turned.convert("RGBA")
        return np.asarray(rgba, np.uint8)


def _in_8_bits(image: Image.Image) -> Image.Image:
    """Scale greys of 16 bits, which Pillow clips when it converts them."""
    if not image.mode.startswith("I"):
        return image
    return Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
