"""Opens a track file for writing: one track, fragmented MP4, with timestamps unchanged.

Muxers tend to move each track so that it begins at zero, each by a different amount. Here every
packet keeps its time: an edit list states what is decoded ahead or starts late. The same packets
give the same bytes.
"""

from fractions import Fraction
from pathlib import Path
from typing import Final

import av
from av.container import OutputContainer

# With finer clocks, a sample of one minute would not fit into its 32-bit duration.
_FINEST_HZ: Final = 50_000_000
_COARSEST_HZ: Final = 10_000
_ROUND_HZ: Final = 1_000_000

_USUAL_FPS: Final = Fraction(30)
_FASTEST_FPS: Final = 240

_ALWAYS: Final = {
    "fflags": "+bitexact",
    "avoid_negative_ts": "disabled",
    "write_tmcd": "0",
}
# delay_moov: the edit list can be written only when the first packet is known.
_MOVFLAGS: Final = "delay_moov+default_base_moof+skip_trailer"


def clock_hz(time_base: Fraction) -> int:
    """Return a clock for a track on which every multiple of `time_base` is a whole tick."""
    hz = time_base.denominator
    if hz > _FINEST_HZ:
        return _ROUND_HZ
    while hz < _COARSEST_HZ:
        hz *= 2
    return hz


def encoded_fps(fps: Fraction) -> Fraction:
    """Return the rate to encode at: that of the source, or 30 if it is not plausible."""
    return fps if 1 <= fps <= _FASTEST_FPS else _USUAL_FPS


def even_px(side_px: int) -> int:
    """Return the side for 4:2:0, whose chroma needs even sides."""
    return max(2, side_px - side_px % 2)


def open_video_track(out: Path, hz: int, *, fragment_s: int = 0) -> OutputContainer:
    """Open a file whose fragments begin at keyframes: each, or the first after `fragment_s`."""
    return _open(
        out,
        {
            "movflags": f"frag_keyframe+{_MOVFLAGS}",
            "min_frag_duration": str(fragment_s * 1_000_000),
            "video_track_timescale": str(hz),
            "movie_timescale": str(hz),
        },
    )


def open_audio_track(out: Path, rate_hz: int, *, fragment_s: int = 2) -> OutputContainer:
    """Open a file with fragments of about equal duration; its clock counts samples."""
    return _open(
        out,
        {
            "movflags": _MOVFLAGS,
            "frag_duration": str(fragment_s * 1_000_000),
            "movie_timescale": str(rate_hz),
        },
    )


def _open(out: Path, options: dict[str, str]) -> OutputContainer:
    return av.open(f"file:{out}", "w", format="mp4", options=_ALWAYS | options)
