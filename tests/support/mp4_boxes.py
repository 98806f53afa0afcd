"""Builds ISO base media files byte by byte, valid or invalid, without a muxer."""

import struct
from dataclasses import dataclass, field

SYNC, NOT_SYNC = 0x2000000, 0x1010000
AVCC = bytes([1, 0x64, 0x00, 0x1F, 0xFF, 0xE0, 0])
# AAC-LC in MPEG-4 descriptors: stream, decoder, its configuration of two bytes.
ESDS = bytes([0, 0, 0, 0, 3, 22, 0, 1, 0, 4, 17, 0x40, 0x15, *[0] * 11, 5, 2, 0x11, 0x90])


def box(kind: str, *parts: bytes) -> bytes:
    """Return a box of these parts."""
    body = b"".join(parts)
    return struct.pack(">I4s", 8 + len(body), kind.encode("latin-1")) + body


def full_box(kind: str, flags: int, *parts: bytes, version: int = 0) -> bytes:
    """Return a box that begins with a version and flags."""
    return box(kind, struct.pack(">I", version << 24 | flags), *parts)


def numbers(*values: int) -> bytes:
    """Return 32-bit numbers one after the other; negative ones in two's complement."""
    return b"".join(struct.pack(">i" if value < 0 else ">I", value) for value in values)


@dataclass(frozen=True)
class BoxTrack:
    """The content of an init segment."""

    timescale: int = 1000
    movie_timescale: int = 600
    number: int = 1
    handler: bytes = b"vide"
    entry: bytes = field(default_factory=lambda: video_entry("avc1", box("avcC", AVCC)))
    #: Duration in the movie's ticks and media time (-1 for none) of each edit.
    edits: tuple[tuple[int, int], ...] = ()
    defaults: tuple[int, int, int] = (40, 10, SYNC)
    #: Sample tables, of a file without fragments.
    tables: bytes = b""


def video_entry(kind: str, *inner: bytes, width: int = 640, height: int = 360) -> bytes:
    """Return the sample entry of video."""
    return box(kind, bytes(24), struct.pack(">HH", width, height), bytes(50), *inner)


def sound_entry(kind: str, *inner: bytes, channels: int = 2, rate_hz: int = 48_000) -> bytes:
    """Return the sample entry of audio."""
    shape = struct.pack(">HHII", channels, 16, 0, rate_hz << 16)
    return box(kind, bytes(16), shape, *inner)


def init_segment(track: BoxTrack | None = None) -> bytes:
    """Return ftyp and moov of a file with one track."""
    return box("ftyp", b"iso5") + movie(track or BoxTrack())


def movie(*tracks: BoxTrack) -> bytes:
    """Return a moov box."""
    clock = tracks[0].movie_timescale if tracks else 1000
    return box(
        "moov",
        full_box("mvhd", 0, numbers(0, 0, clock, 0), bytes(80)),
        *(_track_box(track) for track in tracks),
        box("mvex", *(full_box("trex", 0, _defaults(track)) for track in tracks)),
    )


def _defaults(track: BoxTrack) -> bytes:
    return numbers(track.number, 1, *track.defaults)


def _track_box(track: BoxTrack) -> bytes:
    edits = b"".join(numbers(duration, at, 1 << 16) for duration, at in track.edits)
    edit_list = box("edts", full_box("elst", 0, numbers(len(track.edits)), edits))
    table = full_box("stsd", 0, numbers(1), track.entry)
    return box(
        "trak",
        full_box("tkhd", 0, numbers(0, 0, track.number), bytes(68)),
        edit_list if track.edits else b"",
        box(
            "mdia",
            full_box("mdhd", 0, numbers(0, 0, track.timescale, 0), bytes(4)),
            full_box("hdlr", 0, bytes(4), track.handler, bytes(13)),
            box("minf", box("stbl", table, track.tables)),
        ),
    )


@dataclass(frozen=True)
class SampleRun:
    """Samples of a fragment; each is (duration, size, flags, composition offset)."""

    dts: int = 0
    samples: tuple[tuple[int, int, int, int], ...] = ((40, 10, SYNC, 0),)
    number: int = 1
    header_flags: int = 0x20000
    #: The declared number of samples, if it is wrong.
    count: int | None = None
    data_offset: int | None = None
    mdat_bytes: int | None = None


def fragment(run: SampleRun | None = None) -> bytes:
    """Return moof and mdat."""
    run = run or SampleRun()
    moof = _moof(run, 0)
    offset = len(moof) + 8 if run.data_offset is None else run.data_offset
    total = sum(size for _, size, _, _ in run.samples)
    return _moof(run, offset) + box(
        "mdat", bytes(total if run.mdat_bytes is None else run.mdat_bytes)
    )


def _moof(run: SampleRun, offset: int) -> bytes:
    count = len(run.samples) if run.count is None else run.count
    rows = b"".join(numbers(*sample) for sample in run.samples)
    return box(
        "moof",
        full_box("mfhd", 0, numbers(1)),
        box(
            "traf",
            full_box("tfhd", run.header_flags, numbers(run.number)),
            full_box("tfdt", 0, struct.pack(">Q", run.dts), version=1),
            full_box("trun", 0xF01, numbers(count, offset), rows, version=1),
        ),
    )
