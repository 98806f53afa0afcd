"""Frames of image files by time, as RGBA: still images, and animations by their own frame times.

EXIF orientation is applied. SVG is not decoded here, because it needs a browser.
"""

from bisect import bisect_right
from fractions import Fraction
from itertools import accumulate
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

from framekiln.kit.cancellation import check_cancelled
from framekiln.kit.closeable import Closeable
from framekiln.media.images.gif_frames import GifFrames
from framekiln.media.images.image_facts import (
    DECODERS,
    BrokenImage,
    image_facts,
    translate_image_errors,
)

Pixels = NDArray[np.uint8]


class ImageSource(Closeable):
    """One image file. Owned by one thread; close it, or use `with`."""

    def __init__(self, path: Path) -> None:
        self.facts = image_facts(path)
        decoder = DECODERS.get(self.facts.mime_type)
        if decoder is None:
            raise BrokenImage("an SVG is drawn by a browser, not decoded")
        with translate_image_errors():
            # Given a path, PIL would read the unfetched parts of a sparse file.
            self._file = path.open("rb")
            self._image = Image.open(self._file, formats=[decoder])
            self._gif = GifFrames(path.read_bytes()) if decoder == "GIF" else None
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
        # Images with high bit depth or a palette become 8-bit here.
        turned = ImageOps.exif_transpose(self._image).convert("RGBA")
        return np.asarray(turned, np.uint8)
