"""The frame of an image file at a time, like `FrameSource` for videos.

It uses the frame times of browsers (`frame_times`) and plays once: after the end the last frame
stays.
"""

from bisect import bisect_right
from fractions import Fraction
from pathlib import Path

import numpy as np
from av.video.frame import VideoFrame

from framekiln.kit.closeable import Closeable
from framekiln.media.decode.frame_converter import FrameConverter
from framekiln.media.decode.frame_properties import Pixels
from framekiln.media.images.image_source import ImageSource


class PictureFrames(Closeable):
    """Frames of one image file by time. Owned by one thread; close it, or use `with`."""

    def __init__(self, path: Path, *, width_px: int, height_px: int) -> None:
        self._image = ImageSource(path)
        self._conversion = FrameConverter(width_px, height_px)
        self._kept: tuple[int, Pixels] | None = None

    def close(self) -> None:
        """Free the file and the frame."""
        self._image.close()
        self._kept = None

    def shown_ms(self, ms: Fraction) -> Fraction:
        """Return when the frame shown at `ms` starts; equal for equal frames."""
        number = self._number_at(ms)
        return self._image.ends_ms[number - 1] if number else Fraction(0)

    def rgba_at(self, ms: Fraction) -> Pixels:
        """Return the frame at source time `ms`: height x width x RGBA, straight alpha.

        The array is read-only and may be returned again for the next instant.
        """
        number = self._number_at(ms)
        if self._kept is None or self._kept[0] != number:
            frame = VideoFrame.from_ndarray(np.ascontiguousarray(self._image.rgba(number)), "rgba")
            # A copy, because the rows of a frame belong to it.
            pixels = self._conversion.to_rgba(frame).copy()
            pixels.flags.writeable = False
            self._kept = (number, pixels)
        return self._kept[1]

    def write_rgba(self, ms: Fraction, onto: Pixels) -> None:
        """Write what `rgba_at` returns."""
        onto[...] = self.rgba_at(ms)

    def _number_at(self, ms: Fraction) -> int:
        ends_ms = self._image.ends_ms
        return min(bisect_right(ends_ms, ms), len(ends_ms) - 1) if ends_ms else 0
