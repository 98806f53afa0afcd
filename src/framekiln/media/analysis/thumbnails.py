"""A sprite sheet of a video: up to a hundred thumbnails at equal intervals, as one JPEG.

Thumbnail n is the frame at exactly n / count of the duration. Only for people to browse a video.
"""

from collections import deque
from dataclasses import asdict, dataclass
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import Any, Final

import numpy as np
from av.video.frame import VideoFrame

from framekiln.media.decode.frame_converter import FrameConverter
from framekiln.media.decode.frame_properties import Pixels
from framekiln.media.decode.frame_source import FrameSource, latest_due_ticks
from framekiln.media.images.stills import JpegFormat, encode_still
from framekiln.media.probe.media_file import MediaFacts, VideoFacts

COLUMNS: Final = 10
MAX_TILES: Final = 100
TILE_WIDTH_PX: Final = 160
_TALLEST_TILE_PX: Final = 320
_PER_SECOND: Final = 1
_QUALITY: Final = 75


@dataclass(frozen=True)
class ThumbnailSheet:
    """The layout of the tiles: row by row from the top left; `times_ms` has the time of each."""

    columns: int
    rows: int
    tile_width_px: int
    tile_height_px: int
    duration_ms: int
    times_ms: tuple[int, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the layout as JSON for clients that show the sheet."""
        return {**asdict(self), "count": len(self.times_ms), "times_ms": list(self.times_ms)}


def sheet_layout(facts: MediaFacts) -> ThumbnailSheet:
    """Return the layout of the thumbnail sheet of a video."""
    assert facts.video is not None, "only a video has pictures"
    times_ms = tile_times_ms(facts.duration_ms)
    width, height = tile_size(facts.video)
    columns = min(COLUMNS, len(times_ms))
    return ThumbnailSheet(
        columns=columns,
        rows=ceil(len(times_ms) / columns),
        tile_width_px=width,
        tile_height_px=height,
        duration_ms=round(facts.duration_ms),
        times_ms=tuple(round(time_ms) for time_ms in times_ms),
    )


def write_thumbnails(source: Path, facts: MediaFacts, target: Path) -> ThumbnailSheet:
    """Write the sheet of a video as a JPEG to `target` and return its layout."""
    sheet = sheet_layout(facts)
    tiles = _Tiles(sheet)
    with FrameSource(
        source, width_px=sheet.tile_width_px, height_px=sheet.tile_height_px
    ) as frames:
        for time_ms in tile_times_ms(facts.duration_ms):
            tiles.add(frames.rgba_at(time_ms))
    tiles.write(target)
    return sheet


class SheetBuilder:
    """Builds the sheet from a decoder that reads all frames of a video anyway."""

    def __init__(self, facts: MediaFacts) -> None:
        sheet = sheet_layout(facts)
        self._tiles = _Tiles(sheet)
        self._conversion = FrameConverter(sheet.tile_width_px, sheet.tile_height_px)
        self._waiting_ms = deque(tile_times_ms(facts.duration_ms))
        self._before: VideoFrame | None = None

    def add_frame(self, frame: VideoFrame, tick_s: Fraction) -> None:
        """Add the next frame, already upright; its timestamp is in units of `tick_s`."""
        assert frame.pts is not None
        while self._waiting_ms and latest_due_ticks(self._waiting_ms[0] / 1000, tick_s) < frame.pts:
            self._add(self._before or frame)
        self._before = frame if self._waiting_ms else None

    def write(self, target: Path) -> None:
        """Write the sheet; call it after the last frame."""
        while self._waiting_ms and self._before is not None:
            self._add(self._before)
        self._tiles.write(target)

    def _add(self, frame: VideoFrame) -> None:
        self._waiting_ms.popleft()
        self._tiles.add(self._conversion.to_rgba(frame))


class _Tiles:
    """The sheet itself, filled tile by tile; transparent areas are black."""

    def __init__(self, sheet: ThumbnailSheet) -> None:
        self._sheet = sheet
        self._count = 0
        size = (sheet.rows * sheet.tile_height_px, sheet.columns * sheet.tile_width_px, 4)
        self._pixels: Pixels = np.zeros(size, np.uint8)

    def add(self, rgba: Pixels) -> None:
        height, width = rgba.shape[:2]
        row, column = divmod(self._count, self._sheet.columns)
        tile = self._pixels[row * height :, column * width :][:height, :width]
        cover = rgba[..., 3:].astype(np.uint16)
        tile[..., :3] = (rgba[..., 2::-1] * cover + 127) // 255
        self._count += 1

    def write(self, target: Path) -> None:
        self._pixels[..., 3] = 255
        target.write_bytes(encode_still(self._pixels, JpegFormat(_QUALITY)))


def tile_times_ms(duration_ms: Fraction) -> list[Fraction]:
    """Return the thumbnail times: one per second, or fewer for a long video."""
    count = min(MAX_TILES, max(1, ceil(duration_ms / 1000 * _PER_SECOND)))
    return [duration_ms * number / count for number in range(count)]


def tile_size(video: VideoFacts) -> tuple[int, int]:
    """Return the size of one thumbnail: the video's aspect ratio within a fixed box."""
    scale = min(
        Fraction(TILE_WIDTH_PX, video.width_px), Fraction(_TALLEST_TILE_PX, video.height_px)
    )
    return max(1, round(video.width_px * scale)), max(1, round(video.height_px * scale))
