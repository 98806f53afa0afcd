"""Tracks of a media file: displayed size, frame rate, duration, audio.

For uploads and finished films; `probe_source` handles every kind of source and uses this module.
Decodes one frame, because headers are wrong about rotation, transparency and interlacing. Reads all
packets only if the header does not state the duration.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import av
from av.audio.stream import AudioStream
from av.container import InputContainer
from av.stream import Stream
from av.video.stream import VideoStream

from framekiln.kit.ranged_path import RangedPath
from framekiln.media.container import (
    is_mp4,
    open_media,
    timeline_shift,
    track_start_ms,
    translate_ffmpeg_errors,
    video_stream,
)
from framekiln.media.decode.frame_properties import Orientation, has_alpha, orientation_of
from framekiln.media.decode.video_decoder import VideoDecoder
from framekiln.media.errors import UnreadableMedia
from framekiln.media.last_frame import LastFrame, stated_track_end

# Their headers may lack a duration; FFmpeg then estimates it from the bit rate.
_LENGTH_MAY_BE_A_GUESS: Final = {"aac", "mp3", "gif"}
# Their headers state one duration, of the longest track of any type: subtitles may be longer.
_LENGTH_IS_OF_ANY_TRACK: Final = "matroska,webm"
# Their headers count the delay of an audio encoder, or that of the file's other track, too.
_LENGTH_MAY_INCLUDE_A_DELAY: Final = {"ogg", "avi"}
# A stated audio duration excludes the encoder's padding: it may be this much shorter than measured.
# The duration of a GIF counts frames of zero duration as if they had one.
_PADDING_MS: Final = 100


@dataclass(frozen=True)
class VideoFacts:
    """The video track. Width and height are as displayed: rotated, with square pixels."""

    width_px: int
    height_px: int
    rotation_degrees: int
    """Counter-clockwise, already applied to width and height."""
    is_upright: bool
    """Whether frames are stored as they are shown, neither rotated nor mirrored."""
    fps: Fraction
    """Mean rate; 0 if the file does not state it."""
    codec: str
    pix_fmt: str
    has_alpha: bool
    is_interlaced: bool
    start_ms: Fraction


@dataclass(frozen=True)
class AudioFacts:
    """The first audio track."""

    codec: str
    rate_hz: int
    channels: int
    start_ms: Fraction


@dataclass(frozen=True)
class MediaFacts:
    """One media file. `duration_ms` counts from source time zero to the end of the last track."""

    container: str
    duration_ms: Fraction
    video: VideoFacts | None
    audio: AudioFacts | None


def probe_media(path: Path) -> MediaFacts:
    """Return the facts of a file, or raise `UnreadableMedia`."""
    with open_media(path) as container, translate_ffmpeg_errors(path):
        video = video_stream(container)
        # A track with an unknown codec has no context at all.
        audio = next((s for s in container.streams.audio if s.codec_context is not None), None)
        if video is None and audio is None:
            raise UnreadableMedia(f"{path.name}: has neither a video nor an audio track")
        return MediaFacts(
            container=container.format.name,
            video=_video_facts(video, path) if video else None,
            audio=_audio_facts(audio) if audio else None,
            duration_ms=_duration_ms(path, container, [s for s in (video, audio) if s]),
        )


def _video_facts(stream: VideoStream, path: Path) -> VideoFacts:
    with VideoDecoder(path) as decoder:
        frame = decoder.read()
        is_interlaced = decoder.is_deinterlacing
    if frame is None:
        raise UnreadableMedia(f"{path.name}: no frame of its video track can be decoded")
    orientation = orientation_of(frame)
    width, height = round(frame.width * (stream.sample_aspect_ratio or 1)), frame.height
    if orientation.is_transposed:
        width, height = height, width
    return VideoFacts(
        width_px=width,
        height_px=height,
        rotation_degrees=orientation.rotation_degrees,
        is_upright=orientation == Orientation(),
        fps=Fraction(stream.average_rate or stream.guessed_rate or 0),
        codec=stream.codec_context.codec.canonical_name,
        pix_fmt=frame.format.name,
        has_alpha=has_alpha(frame),
        is_interlaced=is_interlaced,
        start_ms=track_start_ms(stream),
    )


def _audio_facts(stream: AudioStream) -> AudioFacts:
    return AudioFacts(
        codec=stream.codec_context.codec.canonical_name,
        rate_hz=stream.rate,
        channels=stream.channels,
        start_ms=track_start_ms(stream),
    )


def _duration_ms(path: Path, container: InputContainer, streams: list[Stream]) -> Fraction:
    stated_ms = _stated_ms(path, container, streams)
    if stated_ms and container.format.name == _LENGTH_IS_OF_ANY_TRACK:
        end_ms = _last_end_ms(container, streams)
        return end_ms if end_ms and stated_ms - end_ms > _PADDING_MS else stated_ms
    if stated_ms and container.format.name in _LENGTH_MAY_INCLUDE_A_DELAY:
        end_ms = _last_end_ms(container, streams)
        return min(end_ms, stated_ms) if end_ms else stated_ms
    if stated_ms and container.format.name not in _LENGTH_MAY_BE_A_GUESS:
        return stated_ms
    measured_ms = _measured_ms(container, streams)
    is_padded = any(stream.type == "audio" for stream in streams)
    if is_padded and stated_ms and 0 <= measured_ms - stated_ms <= _PADDING_MS:
        return stated_ms
    return measured_ms


def _stated_ms(path: Path, container: InputContainer, streams: list[Stream]) -> Fraction | None:
    ends_ms = [_stated_end_ms(path, container, stream) for stream in streams]
    known_ms = [end for end in ends_ms if end is not None]
    if len(known_ms) == len(streams):
        return max(known_ms)
    return Fraction(container.duration, 1000) if container.duration else None


def _stated_end_ms(path: Path, container: InputContainer, stream: Stream) -> Fraction | None:
    if not stream.duration or not stream.time_base:
        return None
    end_ms = track_start_ms(stream) + stream.duration * stream.time_base * 1000
    if not is_mp4(stream):
        return end_ms
    stated = stated_track_end(path, stream)
    if stated is None:
        # In fragments the duration counts from zero. All of a remote file would be fetched.
        is_known = isinstance(path, RangedPath)
    elif isinstance(stream, VideoStream) and stream.codec_context.has_b_frames:
        # It is the sum of the times between decoded frames.
        is_known = abs(stated.end_s * 1000 - end_ms) <= stated.tick_s * 1000
    else:
        is_known = True
    return end_ms if is_known else _last_frame_end_ms(path, container, stream) or end_ms


def _last_frame_end_ms(path: Path, container: InputContainer, stream: Stream) -> Fraction | None:
    """Return the end of the last frame, or of audio; None if the file is damaged there."""
    last = LastFrame()
    with suppress(av.FFmpegError):
        container.seek(container.duration or 0)
        for packet in container.demux(stream):
            last.add(packet)
    if last.pts is None:
        return None
    return (last.pts + last.measure(path, stream)) * Fraction(stream.time_base or 0) * 1000


def _last_end_ms(container: InputContainer, streams: list[Stream]) -> Fraction:
    """Return the end of the last packet, or 0 if the file is damaged there.

    Reads only the last part of a file with an index.
    """
    end_ms = Fraction(0)
    with suppress(av.FFmpegError):
        container.seek(container.duration or 0)
        end_ms = _measured_ms(container, streams)
    return end_ms


def _measured_ms(container: InputContainer, streams: list[Stream]) -> Fraction:
    end_ms = Fraction(0)
    for packet in container.demux(*streams):
        if packet.pts is None:
            continue
        end = (packet.pts + (packet.duration or 0)) * packet.time_base * 1000
        end_ms = max(end_ms, end - timeline_shift(packet.stream) * packet.time_base * 1000)
    return end_ms


def probe_media_task(
    args: dict[str, Any], _report: Callable[[dict[str, Any]], None]
) -> dict[str, Any]:
    """Probe `source`, for `run_confined`."""
    facts = probe_media(Path(args["source"]))
    video, audio = facts.video, facts.audio
    return {
        "video_codec": video.codec if video else None,
        "audio_codec": audio.codec if audio else None,
        "width_px": video.width_px if video else None,
        "height_px": video.height_px if video else None,
        "fps": str(video.fps if video else 0),
        "duration_ms": round(facts.duration_ms),
    }
