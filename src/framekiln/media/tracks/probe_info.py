"""Describes a track file as ffprobe does: one stream object.

Numbers and strings are mixed as in ffprobe: rates, times and `bit_rate` are strings.
"""

from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from av.audio.stream import AudioStream
from av.stream import Stream
from av.video.stream import VideoStream

from framekiln.media.container import open_media, translate_ffmpeg_errors
from framekiln.media.isobmff.index import IndexEntry

_UNKNOWN_PROFILE: Final = "unknown"


def probe_info(path: Path, entry: IndexEntry) -> dict[str, Any]:
    """Return the stream object of a track file with its index entry."""
    duration_s = Fraction(entry["duration"], entry["timescale"])
    with open_media(path) as container, translate_ffmpeg_errors(path):
        stream = container.streams[0]
        form = _video(stream) if isinstance(stream, VideoStream) else _sound(stream)
        context = stream.codec_context
        return {
            "index": 0,
            "codec_name": context.codec.canonical_name,
            "codec_long_name": context.codec.long_name,
            "profile": context.profile or _UNKNOWN_PROFILE,
            "codec_type": stream.type,
            "codec_tag_string": entry["codec"].split(".")[0],
            **form,
            "time_base": f"1/{entry['timescale']}",
            "start_pts": stream.start_time or 0,
            "start_time": _decimal((stream.start_time or 0) * Fraction(stream.time_base or 0)),
            "duration_ts": entry["duration"],
            "duration": _decimal(duration_s),
            "bit_rate": str(round(path.stat().st_size * 8 / duration_s) if duration_s else 0),
            "nb_frames": str(entry["sample_count"]),
        }


def _video(stream: VideoStream) -> dict[str, Any]:
    context = stream.codec_context
    return {
        "width": stream.width,
        "height": stream.height,
        "coded_width": context.coded_width or stream.width,
        "coded_height": context.coded_height or stream.height,
        "has_b_frames": context.reorder_depth,
        "sample_aspect_ratio": _ratio(stream.sample_aspect_ratio, ":") or "1:1",
        "pix_fmt": stream.pix_fmt,
        "level": context.level,
        "r_frame_rate": _ratio(stream.guessed_rate or stream.base_rate) or "0/0",
        "avg_frame_rate": _ratio(stream.average_rate) or "0/0",
    }


def _sound(stream: Stream) -> dict[str, Any]:
    assert isinstance(stream, AudioStream), "a track is of pictures or of sound"
    return {
        "sample_fmt": stream.format.name,
        "sample_rate": str(stream.rate),
        "channels": stream.channels,
        "channel_layout": stream.layout.name,
        "bits_per_sample": 0,
        "r_frame_rate": "0/0",
        "avg_frame_rate": "0/0",
    }


def _ratio(value: Fraction | int | None, sign: str = "/") -> str | None:
    if not value:
        return None
    ratio = Fraction(value)
    return f"{ratio.numerator}{sign}{ratio.denominator}"


def _decimal(seconds: Fraction) -> str:
    micros = round(seconds * 1_000_000)
    sign = "-" if micros < 0 else ""
    return f"{sign}{abs(micros) // 1_000_000}.{abs(micros) % 1_000_000:06d}"
