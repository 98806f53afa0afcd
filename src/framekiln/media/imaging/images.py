"""Pictures of image files by time, as RGBA: stills, and animations by their own frame times.

Turned as their cameras noted. SVG is not decoded here: drawing it is a browser's work.
"""

import warnings
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from itertools import accumulate
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

from framekiln.media.closing import Closing
from framekiln.media.imaging.image_facts import MOST_PIXELS, BrokenImage, ImageTooLarge
from framekiln.media.sniff import HEAD_BYTES, sniff

Pixels = NDArray[np.uint8]

SVG_TYPE: Final = "image/svg+xml"
_FORMATS: Final = ["JPEG", "PNG", "GIF", "WEBP", "AVIF"]
_MOST_FRAMES: Final = 5_000
# Browsers do not believe a GIF that says that its frames last no time.
_SHORTEST_MS: Final = 10
_USUAL_MS: Final = 100


def image_type(path: Path) -> str | None:
    """Return the type of a file that is a picture, by its first bytes; None for anything else."""
    with path.open("rb") as file:
        found = sniff(file.read(HEAD_BYTES)).mime_type
    return found if found is not None and found.startswith("image/") else None


class ImageSource(Closing):
    """One image file. Owned by one thread; close it, or `with` it."""

    def __init__(self, path: Path) -> None:
        with _readable():
            self._image = Image.open(path, formats=_FORMATS)
            width, height = self._image.size
            if width * height > MOST_PIXELS:
                self._image.close()
                raise ImageTooLarge(f"the picture is {width}x{height}: that is too large")
            self._ends_ms = list(accumulate(_lengths_ms(self._image)))
        self._kept: tuple[int, Pixels] | None = None

    def close(self) -> None:
        """Free the file and the picture."""
        self._image.close()
        self._kept = None

    @property
    def duration_ms(self) -> int:
        """How long one run of an animation lasts; 0 for a still."""
        return self._ends_ms[-1] if len(self._ends_ms) > 1 else 0

    @property
    def size(self) -> tuple[int, int]:
        """Width and height as shown."""
        height, width = self.rgba(0).shape[:2]
        return width, height

    def number_at(self, ms: Fraction) -> int:
        """Return which picture is on at an instant; animations run for ever."""
        if not self.duration_ms:
            return 0
        return bisect_right(self._ends_ms, ms % self.duration_ms)

    def rgba(self, number: int) -> Pixels:
        """Return one picture: height x width x RGBA, alpha straight."""
        if self._kept is None or self._kept[0] != number:
            with _readable():
                self._image.seek(number)
                # Deep pictures and palettes become bytes here.
                turned = ImageOps.exif_transpose(self._image).convert("RGBA")
                self._kept = (number, np.asarray(turned, np.uint8))
        return self._kept[1]


def _lengths_ms(image: Image.Image) -> Iterator[int]:
    count = min(int(getattr(image, "n_frames", 1)), _MOST_FRAMES)
    if count == 1:
        yield 0
        return
    for number in range(count):
        image.seek(number)
        image.load()
        length_ms = round(image.info.get("duration", 0))
        yield length_ms if length_ms > _SHORTEST_MS else _USUAL_MS


@contextmanager
def _readable() -> Iterator[None]:
    try:
        # PIL warns of harmless oddities as well; what matters raises.
        with warnings.catch_warnings(action="ignore"):
            yield
    except Image.DecompressionBombError as error:
        raise ImageTooLarge(f"the picture has more than {MOST_PIXELS:,} pixels") from error
    except (OSError, ValueError, SyntaxError, EOFError, IndexError, KeyError, TypeError) as error:
        raise BrokenImage(f"the picture is damaged or cut off: {error}") from error
