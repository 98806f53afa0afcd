"""Splits a media file into one track file per track, and writes their fragment index.

Tracks that browsers play are copied packet by packet; others are re-encoded, and the reason is
reported. Video gets a scrub track and thumbnails. Cover art, subtitles, data and all video tracks
except the first are skipped. Runs in a confined child, because uploads are untrusted.

Each track file is described as ffprobe does, with one stream object. Numbers and strings are mixed
as in ffprobe: rates, times and `bit_rate` are strings.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from av.audio.stream import AudioStream
from av.stream import Stream
from av.video.stream import VideoStream

from framekiln.media.analysis.frame_overview import FrameOverview
from framekiln.media.container import open_media, translate_ffmpeg_errors
from framekiln.media.errors import UnreadableMedia
from framekiln.media.isobmff.index import SCRUB_TRACK_ID, Index, IndexEntry, index_entry
from framekiln.media.probe.media_file import MediaFacts, VideoFacts, probe_media
from framekiln.media.tracks.audio_tracks import encode_audio_track
from framekiln.media.tracks.packet_tally import tally_packets
from framekiln.media.tracks.progress import WorkProgress
from framekiln.media.tracks.track_copy import copy_track, encoded_fps
from framekiln.media.tracks.track_plan import PlannedTrack, SkippedTrack, plan_tracks
from framekiln.media.tracks.video_tracks import (
    VideoTrackSource,
    VideoTrackSpec,
    encode_video_tracks,
)

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


INDEX_NAME: Final = "index.json"
TRACKS_FOLDER: Final = "tracks"
SCRUB_REASON: Final = "small pictures for scrubbing"

# All packets are read once before the work begins.
_READING_SHARE: Final = Fraction(1, 50)

Report = Callable[[Fraction], None]


@dataclass(frozen=True)
class ProcessedTrack:
    """One track file. `reason` says why it was re-encoded; None if it was copied."""

    track_id: int
    type: str
    codec_name: str
    codec: str
    duration_ms: int
    byte_size: int
    probe_info: dict[str, Any]
    is_copied: bool
    reason: str | None

    @classmethod
    def of(
        cls, path: Path, entry: IndexEntry, *, reason: str | None, language: str | None = None
    ) -> "ProcessedTrack":
        """Describe a finished track file."""
        info = probe_info(path, entry)
        if language is not None:
            info["tags"] = {"language": language}
        return cls(
            track_id=entry["track"],
            type=entry["type"],
            codec_name=info["codec_name"],
            codec=entry["codec"],
            duration_ms=round(Fraction(entry["duration"] * 1000, entry["timescale"])),
            byte_size=path.stat().st_size,
            probe_info=info,
            is_copied=reason is None,
            reason=reason,
        )


@dataclass(frozen=True)
class ProcessedVideo:
    """The result. Width and height are as displayed; an audio file has none.

    The duration is that of the longest track.
    """

    width_px: int | None
    height_px: int | None
    duration_ms: int
    tracks: tuple[ProcessedTrack, ...]
    scrub: ProcessedTrack | None
    left_out: tuple[SkippedTrack, ...]


def duration_of_all_ms(facts: MediaFacts, entries: Iterable[IndexEntry]) -> int:
    """Return the end of the longest track: the facts do not count audio tracks after the first."""
    sounds = [entry for entry in entries if entry["type"] == "audio"]
    ends_ms = (
        Fraction((last["cts"] + last["duration"]) * 1000, entry["timescale"])
        for entry in sounds[1:]
        for last in entry["segments"][-1:]
    )
    return round(max([facts.duration_ms, *ends_ms]))


def track_path(folder: Path, track_id: int) -> Path:
    """Return the path of a track file; the scrub track has id -1."""
    return folder / TRACKS_FOLDER / f"{track_id}.mp4"


def process_video(
    source: Path, folder: Path, *, report: Report, has_overview: bool = True
) -> ProcessedVideo:
    """Write the track files and the index of `source` into `folder`.

    Without `has_overview` there are no scrub track, thumbnails and frame times. `report` gets the
    fraction of the work that is done, increasing, and 1 at the end. Raises `UnreadableMedia` with
    the reason.
    """
    done = WorkProgress(report)
    tallies = tally_packets(source, lambda part: done.read(part, share=_READING_SHARE))
    plan = plan_tracks(source, tallies)
    facts = probe_media(source)
    (folder / TRACKS_FOLDER).mkdir(parents=True, exist_ok=True)
    done.plan(sum(job.units for job in plan.planned_tracks))
    making = _TrackFiles(source, folder, done)
    scrub: ProcessedTrack | None = None
    if plan.video is not None and facts.video is not None:
        scrub = making.make_video(plan.video, facts, facts.video, has_overview=has_overview)
    for job in plan.sounds:
        making.make_sound(job)
    making.write_index()
    done.finish()
    return ProcessedVideo(
        width_px=facts.video.width_px if facts.video else None,
        height_px=facts.video.height_px if facts.video else None,
        duration_ms=duration_of_all_ms(facts, making.index.values()),
        tracks=tuple(sorted(making.tracks, key=lambda track: track.track_id)),
        scrub=scrub,
        left_out=plan.left_out,
    )


def split_task(args: dict[str, Any], report: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Run `process_video` for `run_confined` with `source`, `folder` and perhaps `has_overview`."""
    processed = process_video(
        Path(args["source"]),
        Path(args["folder"]),
        report=lambda part: report({"progress": float(part)}),
        has_overview=args.get("has_overview", True),
    )
    return asdict(processed)


class _TrackFiles:
    """The track files of one source while they are made."""

    def __init__(self, source: Path, folder: Path, done: WorkProgress) -> None:
        self._source, self._folder, self._done = source, folder, done
        self.index: Index = {}
        self.tracks: list[ProcessedTrack] = []

    def make_video(
        self, job: PlannedTrack, facts: MediaFacts, video: VideoFacts, *, has_overview: bool
    ) -> ProcessedTrack | None:
        """Make the video track, the overview of its frames, and the scrub track: return that."""
        job = self._copy(job)
        orders: list[VideoTrackSpec] = []
        units = 0
        if has_overview:
            scrub_out = track_path(self._folder, SCRUB_TRACK_ID)
            orders.append(VideoTrackSpec.scrub(scrub_out, video.width_px, video.height_px))
            units += job.scrub_units
        if job.reason is not None:
            out = track_path(self._folder, job.track_id)
            orders.append(VideoTrackSpec.full_size(out, video.width_px, video.height_px))
            units += job.packet_units
        overview = FrameOverview(facts, encoded_fps(video.fps)) if has_overview else None
        if orders:
            encode_video_tracks(
                VideoTrackSource(self._source, video.fps),
                orders,
                tick=lambda: self._done.add(units),
                viewer=overview.add_frame if overview else None,
            )
        self.tracks.append(self._describe(job.track_id, job.reason, job.language))
        if overview is None:
            return None
        overview.write(self._folder)
        return self._describe(SCRUB_TRACK_ID, SCRUB_REASON, None)

    def make_sound(self, job: PlannedTrack) -> None:
        """Make one audio track."""
        job = self._copy(job)
        if job.reason is not None:
            encode_audio_track(
                self._source,
                job.stream_index,
                track_path(self._folder, job.track_id),
                tick=lambda: self._done.add(job.packet_units),
            )
        self.tracks.append(self._describe(job.track_id, job.reason, job.language))

    def write_index(self) -> None:
        """Write the index of all tracks."""
        text = json.dumps(dict(sorted(self.index.items())), separators=(",", ":"))
        (self._folder / INDEX_NAME).write_text(text, encoding="utf-8")

    def _copy(self, job: PlannedTrack) -> PlannedTrack:
        """Copy the track if planned; return the updated job."""
        if job.reason is not None:
            return job
        out = track_path(self._folder, job.track_id)
        try:
            copy_track(self._source, job.stream_index, out, tick=lambda: self._done.add(1))
            count = index_entry(job.track_id, out)["sample_count"]
        except UnreadableMedia as error:
            # The whole file was read before, so only the copy can have failed.
            return job.reencode_reason(f"its packets do not fit into an MP4 ({error.message})")
        if count != job.packet_count:
            raise UnreadableMedia(
                f"{self._source.name}: the file is damaged: track {job.track_id} has"
                f" {job.packet_count} packets when it is surveyed, but {count} when it is copied"
            )
        return job

    def _describe(self, track_id: int, reason: str | None, language: str | None) -> ProcessedTrack:
        path = track_path(self._folder, track_id)
        entry = index_entry(track_id, path)
        self.index[str(track_id)] = entry
        return ProcessedTrack.of(path, entry, reason=reason, language=language)
