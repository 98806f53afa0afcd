"""The init segment of a track file (ftyp and moov): the track's parameters before its samples.

Accepts one video or audio track, and an edit list that delays the track or cuts its beginning.
Anything else is not needed to play fragments, and is refused.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal

from framekiln.media.errors import UnreadableMedia
from framekiln.media.isobmff.boxes import BoxReader, Mp4Box, boxes_in
from framekiln.media.isobmff.codec_string import codec_string

TrackType = Literal["video", "audio"]

_TYPES: Final[dict[bytes, TrackType]] = {b"vide": "video", b"soun": "audio"}
_NOT_IN_MEDIA: Final = -1
_MAX_EDITS: Final = 16
_SAMPLE_ENTRY_BYTES: Final = 8


@dataclass(frozen=True)
class SampleDefaults:
    """Defaults for samples whose fragment does not override them (trex)."""

    duration: int
    size_bytes: int
    flags: int


@dataclass(frozen=True)
class VideoParameters:
    """Coded size of the frames."""

    width_px: int
    height_px: int


@dataclass(frozen=True)
class AudioParameters:
    """Audio parameters of the sample entry."""

    channel_count: int
    sample_rate_hz: int
    sample_size_bits: int


@dataclass(frozen=True)
class TrackInit:
    """One track. Times are in ticks of 1 / `timescale` second."""

    type: TrackType
    number: int
    """The track's number inside its file, which every fragment repeats."""
    timescale: int
    shift: int
    """Subtracted from composition times, by the edit list, to get presentation times."""
    codec: str
    parameters: VideoParameters | AudioParameters
    defaults: SampleDefaults
    size_bytes: int


def parse_init(data: bytes) -> TrackInit:
    """Return the contents of an init segment, or raise `UnreadableMedia`."""
    movie = next((box for box in boxes_in(data) if box.kind == "moov"), None)
    if movie is None:
        raise UnreadableMedia("the MP4 has no moov box, which describes its track")
    track = _only_track(movie)
    type_ = type_of(track)
    timescale = timescale_of(track.require("mdia", "mdhd"))
    entry = sample_entry(track)
    form, children_at = video_form(entry) if type_ == "video" else sound_form(entry)
    number = _number(track)
    return TrackInit(
        type=type_,
        number=number,
        timescale=timescale,
        shift=edit_shift(movie, track, timescale),
        codec=codec_string(entry, children_at),
        parameters=form,
        defaults=_defaults(movie, number),
        size_bytes=len(data),
    )


def _only_track(movie: Mp4Box) -> Mp4Box:
    tracks = [box for box in movie.children() if box.kind == "trak"]
    if len(tracks) != 1:
        raise UnreadableMedia(
            f"the MP4 has {len(tracks)} tracks; a track file must have exactly one"
        )
    return tracks[0]


def type_of(track: Mp4Box) -> TrackType:
    """Return whether a track is video or audio; raise if it is neither."""
    fields = track.require("mdia", "hdlr").reader()
    fields.skip(8)
    handler = fields.take(4)
    if handler not in _TYPES:
        name = handler.decode("latin-1")
        raise UnreadableMedia(f"the MP4's track is of kind {name!r}, neither video nor sound")
    return _TYPES[handler]


def _number(track: Mp4Box) -> int:
    fields = track.require("tkhd").reader()
    version, _ = fields.version_and_flags()
    fields.skip(16 if version else 8)
    return fields.u32()


def timescale_of(header: Mp4Box) -> int:
    """Return the timescale of an mdhd or mvhd box."""
    fields = header.reader()
    version, _ = fields.version_and_flags()
    fields.skip(16 if version else 8)
    timescale = fields.u32()
    if timescale == 0:
        raise UnreadableMedia(f"the MP4's {header.kind} box has a timescale of 0")
    return timescale


def edit_shift(movie: Mp4Box, track: Mp4Box, timescale: int) -> int:
    """Return what the edit list subtracts from composition times, in ticks."""
    edits = track.find("edts", "elst")
    if edits is None:
        return 0
    delay = Fraction(0)
    for duration, media_time in _edits(edits.reader()):
        if media_time != _NOT_IN_MEDIA:
            return media_time - round(delay)
        delay += Fraction(duration * timescale, timescale_of(movie.require("mvhd")))
    return -round(delay)


def _edits(fields: BoxReader) -> list[tuple[int, int]]:
    version, _ = fields.version_and_flags()
    count = fields.u32()
    if count > _MAX_EDITS:
        raise UnreadableMedia(f"the MP4's edit list has {count} parts; at most {_MAX_EDITS}")
    edits = []
    for _ in range(count):
        edits.append((fields.u64(), fields.i64()) if version else (fields.u32(), fields.i32()))
        fields.skip(4)
    if sum(media_time != _NOT_IN_MEDIA for _, media_time in edits) > 1:
        raise UnreadableMedia("the MP4's edit list assembles its track from several parts")
    return edits


def sample_entry(track: Mp4Box) -> Mp4Box:
    """Return the only sample description of a track."""
    table = track.require("mdia", "minf", "stbl", "stsd")
    fields = table.reader()
    fields.skip(8)
    entries = list(boxes_in(table.data, fields.at, table.end))
    if len(entries) != 1:
        raise UnreadableMedia(
            f"the MP4's track has {len(entries)} sample descriptions; a track file must have one"
        )
    return entries[0]


def video_form(entry: Mp4Box) -> tuple[VideoParameters, int]:
    """Return the parameters of a video track, and where the child boxes begin."""
    fields = entry.reader()
    fields.skip(_SAMPLE_ENTRY_BYTES + 16)
    video = VideoParameters(width_px=fields.u16(), height_px=fields.u16())
    fields.skip(50)
    return video, fields.at


def sound_form(entry: Mp4Box) -> tuple[AudioParameters, int]:
    """Return the parameters of an audio track, and where the child boxes begin."""
    fields = entry.reader()
    fields.skip(_SAMPLE_ENTRY_BYTES)
    version = fields.u16()
    fields.skip(6)
    channels, bits = fields.u16(), fields.u16()
    fields.skip(4)
    rate_hz = fields.u32() >> 16
    # QuickTime's longer entries, which some recorders write.
    fields.skip({1: 16, 2: 36}.get(version, 0))
    return AudioParameters(channels, rate_hz, bits), fields.at


def _defaults(movie: Mp4Box, number: int) -> SampleDefaults:
    for box in movie.require("mvex").children():
        if box.kind != "trex":
            continue
        fields = box.reader()
        fields.skip(4)
        if fields.u32() == number:
            fields.skip(4)
            return SampleDefaults(fields.u32(), fields.u32(), fields.u32())
    raise UnreadableMedia(f"the MP4's mvex box has no entry for its track {number}")
