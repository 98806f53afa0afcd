"""Pictures of image files by time, as RGBA: stills, and animations by their own frame times.

Turned as their cameras noted. SVG is not decoded here: drawing it is a browser's work.
"""

from bisect import bisect_right
from fractions import Fraction
from itertools import accumulate
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

from framekiln.media.closing import Closing
from framekiln.media.imaging.image_facts import (
    DECODERS,
    BrokenImage,
    image_facts,
    reading_image,
)

Pixels = NDArray[np.uint8]


class ImageSource(Closing):
    """One image file. Owned by one thread; close it, or `with` it."""

    def __init__(self, path: Path) -> None:
        self.facts = image_facts(path)
        decoder = DECODERS.get(self.facts.mime_type)
        if decoder is None:
            raise BrokenImage("a drawing is drawn by a browser, not decoded")
        with reading_image():
            self._image = Image.open(path, formats=[decoder])
        self._ends_ms = list(accumulate(self.facts.times.frame_ms))
        # A PNG may have a picture before those of its animation, for viewers that show no others.
        self._first = int(bool(self._ends_ms and getattr(self._image, "default_image", False)))
        self._kept: tuple[int, Pixels] | None = None

    def close(self) -> None:
        """Free the file and the picture."""
        self._image.close()
        self._kept = None

    @property
    def size(self) -> tuple[int, int]:
        """Width and height as shown."""
        return self.facts.width_px, self.facts.height_px

    def number_at(self, ms: Fraction) -> int:
        """Return which picture is on at an instant; animations run for ever."""
        if not self._ends_ms:
            return 0
        return bisect_right(self._ends_ms, ms % self._ends_ms[-1])

    def rgba(self, number: int) -> Pixels:
        """Return one picture: height x width x RGBA, alpha straight."""
        if self._kept is None or self._kept[0] != number:
            with reading_image():
                self._image.seek(self._first + number)
                # Deep pictures and palettes become bytes here.
                turned = ImageOps.exif_transpose(self._image).convert("RGBA")
                self._kept = (number, np.asarray(turned, np.uint8))
        return self._kept[1]
