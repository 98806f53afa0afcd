"""The frames of a video by number: when each is shown, and what it looks like.

The times are those that `media/redaction` gives its frames, except for the end of the last.
`FrameTimesBuilder` gets them while an upload is processed, whose frames are all decoded then.
Afterwards they are read from packets without decoding, where each packet is one frame; otherwise
the whole track is decoded again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from framekiln.media.analysis.frame_times import (
    MAX_FRAMES,
    ExactFrameTimes,
    shown_times,
    write_times,
)
from framekiln.media.container import open_media, translate_ffmpeg_errors, video_stream
from framekiln.media.decode.frame_source import FrameSource
from framekiln.media.decode.video_decoder import VideoDecoder
from framekiln.media.errors import UnreadableMedia
from framekiln.media.images.stills import BLACK, JpegFormat, encode_still
from framekiln.media.last_frame import LastFrame
from framekiln.media.probe.media_file import probe_media
from framekiln.media.tracks.track_copy import encoded_fps

_MAX_SIDE_PX: Final = 1920
_QUALITY: Final = 90
_RED_AND_BLUE_SWAPPED: Final = [2, 1, 0, 3]
# Others have packets without times or of half a frame; VP8 has packets that are not shown.
_INDEXED_CONTAINERS: Final = {"mov,mp4,m4a,3gp,3g2,mj2", "matroska,webm"}
_FRAME_PER_PACKET: Final = {"h264", "hevc", "av1", "vp9", "prores", "mjpeg", "ffv1"}


def frame_times(source: Path) -> ExactFrameTimes:
    """Return the times of all frames that are shown, in order."""
    facts = probe_media(source)
    if facts.video is None:
        raise UnreadableMedia(f"{source.name}: has no frames")
    found = _packet_stamps(source) or _decoded_stamps(source)
    if not found.stamps:
        raise UnreadableMedia(f"{source.name}: none of its frames can be decoded")
    fps = encoded_fps(facts.video.fps)
    return shown_times(found.stamps, found.tick_s, last_ticks=found.last_ticks, fps=fps)


def frame_times_task(
    args: dict[str, Any], _report: Callable[[dict[str, Any]], None]
) -> dict[str, Any]:
    """Write the times of the frames of `source` to `out` as JSON, in a confined child."""
    write_times(frame_times(Path(args["source"])), Path(args["out"]))
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
            bgra = rgba[..., _RED_AND_BLUE_SWAPPED]
            picture = encode_still(bgra, JpegFormat(quality=_QUALITY), background=BLACK)
            (folder / f"{number}.jpg").write_bytes(picture)
    return {}


@dataclass(frozen=True)
class _FrameStamps:
    """The timestamps of frames, and the duration of the last; 0 if the file does not say it."""

    tick_s: Fraction
    stamps: list[int]
    last_ticks: int


def _packet_stamps(source: Path) -> _FrameStamps | None:
    """Return the timestamps of frames; None where packets do not tell them."""
    with open_media(source) as container, translate_ffmpeg_errors(source):
        stream = video_stream(container)
        if stream is None or container.format.name not in _INDEXED_CONTAINERS:
            return None
        if stream.codec_context.codec.canonical_name not in _FRAME_PER_PACKET:
            return None
        stamps: list[int] = []
        last = LastFrame()
        for packet in container.demux(stream):
            # The last packet of a stream is empty. Discarded ones are outside of the edit list.
            if not packet.size or packet.is_discard:
                continue
            if packet.pts is None:
                return None
            last.add(packet)
            stamps.append(packet.pts)
            _check_count(source, stamps)
        last_ticks = last.measure(source, stream)
        return _FrameStamps(Fraction(stream.time_base or 0), sorted(set(stamps)), last_ticks)


def _decoded_stamps(source: Path) -> _FrameStamps:
    stamps: list[int] = []
    last_ticks = 0
    with VideoDecoder(source, is_rough=True) as decoder:
        while (frame := decoder.read()) is not None:
            assert frame.pts is not None
            if not stamps or frame.pts > stamps[-1]:
                stamps.append(frame.pts)
                last_ticks = frame.duration
                _check_count(source, stamps)
        return _FrameStamps(decoder.tick_s, stamps, last_ticks)


def _check_count(source: Path, stamps: Sequence[int]) -> None:
    if len(stamps) > MAX_FRAMES:
        raise UnreadableMedia(f"{source.name}: has more than {MAX_FRAMES:,} frames")
