"""Plans each track of a file: copied, re-encoded or skipped, and why."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from av.audio.stream import AudioStream
from av.container import InputContainer
from av.stream import Stream
from av.video.stream import VideoStream

from framekiln.media.container import open_media, translate_ffmpeg_errors, video_stream
from framekiln.media.errors import UnreadableMedia
from framekiln.media.isobmff.track_init import TrackType
from framekiln.media.tracks.copy_rules import audio_obstacle, video_obstacle
from framekiln.media.tracks.packet_tally import PacketTally

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
                jobs.append(_job(stream, tallies[stream.index]))
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


def _job(stream: Stream, tally: PacketTally) -> PlannedTrack:
    if isinstance(stream, VideoStream):
        return PlannedTrack(
            stream_index=stream.index,
            type="video",
            packet_count=tally.count,
            reason=video_obstacle(stream, tally),
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
