"""Plans each track of a file: copied, re-encoded or skipped, and why.

A track is copied if every current browser plays its codec and each keyframe is a clean start.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Final

from av.audio.stream import AudioStream
from av.container import InputContainer
from av.stream import Stream
from av.video.stream import VideoStream

from framekiln.media.container import (
    has_alpha_track,
    has_decode_times_only,
    open_media,
    translate_ffmpeg_errors,
    video_stream,
)
from framekiln.media.decode.frame_properties import HDR_CURVES
from framekiln.media.decode.video_decoder import VideoDecoder
from framekiln.media.errors import UnreadableMedia
from framekiln.media.isobmff.track_init import TrackType
from framekiln.media.tracks.packet_tally import PacketTally

# The usual 250 frames at 24 frames per second are 10.4 s.
MAX_GROUP_S: Final = Fraction(21, 2)

_PIXELS: Final = {
    "h264": {"yuv420p", "yuvj420p"},
    "vp9": {"yuv420p"},
    "av1": {"yuv420p", "yuv420p10le"},
}
_AAC_LC: Final = "LC"


def video_obstacle(path: Path, stream: VideoStream, tally: PacketTally) -> str | None:
    """Return why the video track of a file cannot be copied; None if it can."""
    allowed = _PIXELS.get(tally.codec)
    if allowed is None:
        return f"browsers do not all play {tally.codec}"
    checks = (
        (stream.pix_fmt not in allowed, f"browsers do not all play {stream.pix_fmt} pictures"),
        (
            stream.codec_context.color_trc in HDR_CURVES,
            "not every screen shows its high dynamic range",
        ),
        (has_alpha_track(stream), "MP4 cannot hold its transparency"),
        (
            has_decode_times_only(stream) and stream.codec_context.has_b_frames,
            "its container does not say when its B-frames are shown",
        ),
        (tally.problem is not None, tally.problem or ""),
        (not tally.is_clean, "its groups of pictures are open: not every keyframe starts afresh"),
        (
            tally.longest_group_s > MAX_GROUP_S,
            f"its keyframes are up to {float(tally.longest_group_s):.1f} s apart",
        ),
    )
    stated = next((why for is_so, why in checks if is_so), None)
    return stated or ("its pictures are interlaced" if _is_interlaced(path) else None)


def _is_interlaced(path: Path) -> bool:
    """Return whether the first frame of a file consists of two fields from different instants.

    It is decoded, because containers may state the contrary.
    """
    with VideoDecoder(path) as decoder:
        decoder.read()
        return decoder.is_deinterlacing


def audio_obstacle(stream: AudioStream, tally: PacketTally) -> str | None:
    """Return why an audio track cannot be copied; None if it can."""
    if tally.codec == "opus":
        return tally.problem
    if tally.codec != "aac":
        return f"browsers do not all play {tally.codec} in MP4"
    if stream.profile != _AAC_LC:
        return f"browsers do not all play AAC of profile {stream.profile}"
    return tally.problem


# Measured work in units of one copied packet: decoding costs more, encoding most.
_SCRUB_UNITS: Final = 50
_PICTURE_UNITS: Final = 400
_SOUND_UNITS: Final = 10


@dataclass(frozen=True)
class PlannedTrack:
    """One track to make. `reason` says why it is re-encoded; None if it is copied."""

    stream_index: int
    type: TrackType
    packet_count: int
    reason: str | None
    language: str | None = None

    @property
    def track_id(self) -> int:
        """The track number in the API."""
        return self.stream_index + 1

    @property
    def packet_units(self) -> int:
        """The work of one packet, without scrubbing."""
        if self.reason is None:
            return 1
        return _PICTURE_UNITS if self.type == "video" else _SOUND_UNITS

    @property
    def scrub_units(self) -> int:
        """The work of one frame of the scrub track."""
        return _SCRUB_UNITS if self.type == "video" else 0

    @property
    def units(self) -> int:
        """The total work."""
        return self.packet_count * (self.packet_units + self.scrub_units)

    def reencode_reason(self, reason: str) -> "PlannedTrack":
        """Return the job for a track that could not be copied after all."""
        return replace(self, reason=reason)


@dataclass(frozen=True)
class SkippedTrack:
    """A track of the source that gets no track file."""

    track_id: int
    type: str
    reason: str


@dataclass(frozen=True)
class TrackPlan:
    """At most one video track and any number of audio tracks, at least one in total."""

    video: PlannedTrack | None
    sounds: tuple[PlannedTrack, ...]
    left_out: tuple[SkippedTrack, ...]

    @property
    def planned_tracks(self) -> tuple[PlannedTrack, ...]:
        """All tracks to make."""
        return self.sounds if self.video is None else (self.video, *self.sounds)


def plan_tracks(path: Path, tallies: dict[int, PacketTally]) -> TrackPlan:
    """Plan every track; refuse a file without any usable track."""
    with open_media(path) as container, translate_ffmpeg_errors(path):
        moving = video_stream(container)
        jobs: list[PlannedTrack] = []
        left_out: list[SkippedTrack] = []
        for stream in container.streams:
            why = _why_left_out(stream, moving, tallies)
            if why is not None:
                left_out.append(SkippedTrack(stream.index + 1, stream.type, why))
            else:
                jobs.append(_job(path, stream, tallies[stream.index]))
        if not jobs:
            raise UnreadableMedia(f"{path.name}: {_nothing_there(container, left_out)}")
        return TrackPlan(
            video=next((job for job in jobs if job.type == "video"), None),
            sounds=tuple(job for job in jobs if job.type == "audio"),
            left_out=tuple(left_out),
        )


def _why_left_out(
    stream: Stream, moving: VideoStream | None, tallies: dict[int, PacketTally]
) -> str | None:
    if not isinstance(stream, AudioStream | VideoStream):
        return "neither pictures nor sound"
    if isinstance(stream, VideoStream) and stream is not moving:
        return "cover art, or a second video track"
    if stream.codec_context is None:
        return "in a codec that cannot be decoded"
    return "empty" if stream.index not in tallies else None


def _job(path: Path, stream: Stream, tally: PacketTally) -> PlannedTrack:
    if isinstance(stream, VideoStream):
        return PlannedTrack(
            stream_index=stream.index,
            type="video",
            packet_count=tally.count,
            reason=video_obstacle(path, stream, tally),
            language=stream.language,
        )
    assert isinstance(stream, AudioStream), "nothing else is kept"
    return PlannedTrack(
        stream_index=stream.index,
        type="audio",
        packet_count=tally.count,
        reason=audio_obstacle(stream, tally),
        language=stream.language,
    )


def _nothing_there(container: InputContainer, left_out: list[SkippedTrack]) -> str:
    if not len(container.streams):
        return "has no tracks"
    reasons = ", ".join(f"track {track.track_id} is {track.reason}" for track in left_out)
    return f"has neither a picture nor a sound track that can be used: {reasons}"
