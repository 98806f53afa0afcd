"""The frames of a video by number: when each is shown, and what it looks like.

The times are those that `media/redaction` gives its frames. They are read from packets without
decoding, where each packet is one frame; otherwise the whole track is decoded.
"""

import json
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from framekiln.media.container import open_media, translate_ffmpeg_errors, video_stream
from framekiln.media.decode.frame_source import FrameSource
from framekiln.media.decode.video_decoder import VideoDecoder
from framekiln.media.errors import UnreadableMedia
from framekiln.media.images.stills import JpegFormat, encode_still
from framekiln.media.probe.media_file import probe_media
from framekiln.media.tracks.track_copy import encoded_fps

MAX_FRAMES: Final = 1_000_000
_MAX_SIDE_PX: Final = 1920
_QUALITY: Final = 90
_RED_AND_BLUE_SWAPPED: Final = [2, 1, 0, 3]
# Others have packets without times or of half a frame; VP8 has packets that are not shown.
_INDEXED_CONTAINERS: Final = {"mov,mp4,m4a,3gp,3g2,mj2", "matroska,webm"}
_FRAME_PER_PACKET: Final = {"h264", "hevc", "av1", "vp9", "prores", "mjpeg", "ffv1"}


@dataclass(frozen=True)
class ExactFrameTimes:
    """When frames begin, in ticks, and when the last one ends."""

    tick_s: Fraction
    starts: Sequence[int]
    end: int


def frame_times(source: Path) -> ExactFrameTimes:
    """Return the times of all frames that are shown, in order."""
    facts = probe_media(source)
    if facts.video is None:
        raise UnreadableMedia(f"{source.name}: has no frames")
    tick_s, stamps = _packet_stamps(source) or _decoded_stamps(source)
    frame_ticks = max(1, round(1 / encoded_fps(facts.video.fps) / tick_s))
    # The last frame that begins at zero or before it is the first that is shown.
    shown = stamps[max(0, bisect_right(stamps, 0) - 1) :]
    if not shown:
        raise UnreadableMedia(f"{source.name}: none of its frames can be decoded")
    return ExactFrameTimes(
        tick_s, [max(0, each) for each in shown], max(0, shown[-1]) + frame_ticks
    )


def frame_times_task(
    args: dict[str, Any], _report: Callable[[dict[str, Any]], None]
) -> dict[str, Any]:
    """Write the times of the frames of `source` to `out` as JSON, in a confined child."""
    times = frame_times(Path(args["source"]))
    described = {
        "frame_count": len(times.starts),
        "tick_s": [times.tick_s.numerator, times.tick_s.denominator],
        "end": times.end,
        "starts": times.starts,
    }
    Path(args["out"]).write_text(json.dumps(described, separators=(",", ":")))
    return {}


def exact_frames_task(
    args: dict[str, Any], _report: Callable[[dict[str, Any]], None]
) -> dict[str, Any]:
    """Write the frames of `source` that begin at `ticks` as 0.jpg, 1.jpg ... into `folder`."""
    source, folder, tick_s = Path(args["source"]), Path(args["folder"]), Fraction(*args["tick_s"])
    video = probe_media(source).video
    if video is None:
        raise UnreadableMedia(f"{source.name}: has no frames")
    shrink = min(1.0, _MAX_SIDE_PX / max(video.width_px, video.height_px))
    width, height = (max(2, round(side * shrink)) for side in (video.width_px, video.height_px))
    with FrameSource(source, width_px=width, height_px=height) as pictures:
        for number, ticks in enumerate(args["ticks"]):
            rgba = pictures.rgba_at(ticks * tick_s * 1000)
            picture = encode_still(rgba[..., _RED_AND_BLUE_SWAPPED], JpegFormat(quality=_QUALITY))
            (folder / f"{number}.jpg").write_bytes(picture)
    return {}


def _packet_stamps(source: Path) -> tuple[Fraction, list[int]] | None:
    """Return the tick and the timestamps of frames; None where packets do not tell them."""
    with open_media(source) as container, translate_ffmpeg_errors(source):
        stream = video_stream(container)
        if stream is None or container.format.name not in _INDEXED_CONTAINERS:
            return None
        if stream.codec_context.codec.canonical_name not in _FRAME_PER_PACKET:
            return None
        stamps: list[int] = []
        for packet in container.demux(stream):
            # The last packet of a stream is empty. Discarded ones are outside of the edit list.
            if not packet.size or packet.is_discard:
                continue
            if packet.pts is None:
                return None
            stamps.append(packet.pts)
            _check_count(source, stamps)
        return Fraction(stream.time_base or 0), sorted(set(stamps))


def _decoded_stamps(source: Path) -> tuple[Fraction, list[int]]:
    stamps: list[int] = []
    with VideoDecoder(source, is_rough=True) as decoder:
        while (frame := decoder.read()) is not None:
            assert frame.pts is not None
            if not stamps or frame.pts > stamps[-1]:
                stamps.append(frame.pts)
                _check_count(source, stamps)
        return decoder.tick_s, stamps


def _check_count(source: Path, stamps: Sequence[int]) -> None:
    if len(stamps) > MAX_FRAMES:
        raise UnreadableMedia(f"{source.name}: has more than {MAX_FRAMES:,} frames")
