"""A sprite sheet of a video: up to a hundred small pictures at even distances, as one JPEG.

Picture n is what is on screen at n / count of the length, exactly. For looking through a video
by eye; never a source of anything else.
"""

from dataclasses import asdict, dataclass
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from framekiln.media.imaging.stills import JpegFormat, encode_still
from framekiln.media.probe import MediaFacts, VideoFacts
from framekiln.media.watching.frames import FrameSource

COLUMNS: Final = 10
MOST_TILES: Final = 100
TILE_WIDTH_PX: Final = 160
_TALLEST_TILE_PX: Final = 320
_PER_SECOND: Final = 1
_QUALITY: Final = 75
_RED_AND_BLUE_SWAPPED: Final = [2, 1, 0, 3]


@dataclass(frozen=True)
class Sheet:
    """How the tiles lie: row by row from the top left; `times_ms` has the time of each."""

    columns: int
    rows: int
    tile_width_px: int
    tile_height_px: int
    duration_ms: int
    times_ms: tuple[int, ...]

    def as_json(self) -> dict[str, Any]:
        """Return it for those who show the sheet."""
        return {**asdict(self), "count": len(self.times_ms), "times_ms": list(self.times_ms)}


def write_thumbnails(source: Path, facts: MediaFacts, target: Path) -> Sheet:
    """Write the sheet of a video as a JPEG to `target` and return how it is laid out."""
    assert facts.video is not None, "only a video has pictures"
    times_ms = tile_times_ms(facts.duration_ms)
    width, height = tile_size(facts.video)
    columns = min(COLUMNS, len(times_ms))
    rows = ceil(len(times_ms) / columns)
    pixels: NDArray[np.uint8] = np.zeros((rows * height, columns * width, 4), np.uint8)
    with FrameSource(source, width_px=width, height_px=height) as frames:
        for number, time_ms in enumerate(times_ms):
            top, left = number // columns * height, number % columns * width
            tile = frames.rgba_at(time_ms)[..., _RED_AND_BLUE_SWAPPED]
            pixels[top : top + height, left : left + width] = tile
    target.write_bytes(encode_still(pixels, JpegFormat(_QUALITY)))
    return Sheet(
        columns=columns,
        rows=rows,
        tile_width_px=width,
        tile_height_px=height,
        duration_ms=round(facts.duration_ms),
        times_ms=tuple(round(time_ms) for time_ms in times_ms),
    )


def tile_times_ms(duration_ms: Fraction) -> list[Fraction]:
    """Return when the pictures are taken: one for each second, or fewer of a long video."""
    count = min(MOST_TILES, max(1, ceil(duration_ms / 1000 * _PER_SECOND)))
    return [duration_ms * number / count for number in range(count)]


def tile_size(video: VideoFacts) -> tuple[int, int]:
    """Return the size of one picture: of the video's shape, inside a fixed box."""
    scale = min(
        Fraction(TILE_WIDTH_PX, video.width_px), Fraction(_TALLEST_TILE_PX, video.height_px)
    )
    return max(1, round(video.width_px * scale)), max(1, round(video.height_px * scale))
