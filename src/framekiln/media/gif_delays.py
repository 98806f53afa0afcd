"""GIFs for FFmpeg with browser timing: a frame of 10 ms lasts 100 ms (see `frame_times`).

Only the data that FFmpeg reads is changed, never the file.
"""

import io
import mmap
import os
from pathlib import Path
from typing import Final

from framekiln.kit.ranged_path import RangedPath
from framekiln.media.images.frame_times import TooManyFrames, short_delay_offsets

_MAGIC: Final = (b"GIF87a", b"GIF89a")
_USUAL_DELAY: Final = b"\x0a\x00"


def with_browser_delays(path: Path) -> "io.BytesIO | mmap.mmap | None":
    """Return the GIF data to read; None for a GIF without such frames and for other files."""
    # FFmpeg reports what is wrong with any other path; and opening a pipe could block forever.
    if not isinstance(path, RangedPath) and not (path.is_file() and os.access(path, os.R_OK)):
        return None
    with path.open("rb") as file:
        if file.read(6) not in _MAGIC:
            return None
        try:
            delays = short_delay_offsets(path)
        except TooManyFrames:
            return None
        if not delays:
            return None
        if isinstance(path, RangedPath):
            data = bytearray(path.read_bytes())
            _rewrite(data, delays)
            return io.BytesIO(data)
        # Uses memory only for the changed pages, not for the whole file.
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    _rewrite(mapped, delays)
    return mapped


def _rewrite(data: bytearray | mmap.mmap, delays: list[int]) -> None:
    for at in delays:
        data[at : at + 2] = _USUAL_DELAY
