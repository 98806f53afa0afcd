"""Reads a plain MP4 with sample tables, as our films and slices are. Nothing is decoded.

A film may have packets of a stranger's source in it, and FFmpeg would give them to its parsers.
Whatever a file declares, the result here is a value or `UnreadableMedia`, and no more is read than
the file has.

How many frames of an H.264 track are decoded ahead of presentation is read from its parameter sets
(the bitstream restriction of ITU-T H.264, annex E, as x264 writes it). Scaling lists and HRD
parameters, which our films do not have, are refused.
"""

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, pairwise, repeat
from pathlib import Path
from typing import BinaryIO, Final, Self

from framekiln.media.errors import UnreadableMedia
from framekiln.media.isobmff.boxes import (
    LONG_HEADER_BYTES,
    BoxReader,
    Mp4Box,
    boxes_in,
    read_header,
)
from framekiln.media.isobmff.codec_string import aac_config
from framekiln.media.isobmff.track_init import (
    TrackType,
    edit_shift,
    sample_entry,
    sound_form,
    timescale_of,
    type_of,
    video_form,
)

# Profiles whose parameter sets also state the sampling and the depth.
_HIGH_PROFILES: Final = {100, 110, 122, 244, 44, 83, 86, 118, 128}
_EXTENDED_ASPECT: Final = 255
_MAX_PREFIX_BITS: Final = 32


def reorder_depth(avcc: bytes) -> int:
    """Return the depth that the first parameter set of an avcC box states."""
    # Version, profile, compatibility, level, length size, count; then the length of the first set.
    length = int.from_bytes(avcc[6:8], "big")
    unit = avcc[8 : 8 + length]
    if len(unit) < 4 or len(unit) != length:
        raise UnreadableMedia("the MP4's avcC box has no parameter set")
    # Encoders insert a 3 where two zeros could be taken for a start code.
    bits = _Bits(unit[1:].replace(b"\0\0\3", b"\0\0"))
    _skip_picture_format(bits)
    if not bits.flag():
        raise _unstated()
    _skip_display(bits)
    if bits.flag() or bits.flag():
        raise UnreadableMedia("the MP4's parameter set has HRD parameters, which are not read here")
    bits.skip(1)
    if not bits.flag():
        raise _unstated()
    bits.skip(1)
    for _ in range(4):
        bits.golomb()
    return bits.golomb()


def _skip_picture_format(bits: "_Bits") -> None:
    profile = bits.number(8)
    bits.skip(16)
    bits.golomb()
    if profile in _HIGH_PROFILES:
        has_three_planes = bits.golomb() == 3
        bits.skip(1 if has_three_planes else 0)
        bits.golomb()
        bits.golomb()
        bits.skip(1)
        if bits.flag():
            raise UnreadableMedia("the MP4's parameter set has scaling lists, not read here")
    bits.golomb()
    order = bits.golomb()
    if order == 0:
        bits.golomb()
    elif order == 1:
        raise UnreadableMedia("the MP4's parameter set counts frames in cycles, not read here")
    bits.golomb()
    bits.skip(1)
    bits.golomb()
    bits.golomb()
    has_frames_only = bits.flag()
    bits.skip(1 if has_frames_only else 2)
    if bits.flag():
        for _ in range(4):
            bits.golomb()


def _skip_display(bits: "_Bits") -> None:
    if bits.flag() and bits.number(8) == _EXTENDED_ASPECT:
        bits.skip(32)
    if bits.flag():
        bits.skip(1)
    if bits.flag():
        bits.skip(4)
        if bits.flag():
            bits.skip(24)
    if bits.flag():
        bits.golomb()
        bits.golomb()
    if bits.flag():
        bits.skip(65)


def _unstated() -> UnreadableMedia:
    return UnreadableMedia("the MP4's parameter set does not say how many frames are reordered")


class _Bits:
    """Reads bits in sequence, never beyond the end."""

    def __init__(self, data: bytes) -> None:
        self._value = int.from_bytes(data, "big")
        self._left = 8 * len(data)

    def number(self, count: int) -> int:
        if count > self._left:
            raise UnreadableMedia("the MP4's parameter set is too short")
        self._left -= count
        return self._value >> self._left & ((1 << count) - 1)

    def flag(self) -> bool:
        return self.number(1) == 1

    def skip(self, count: int) -> None:
        self.number(count)

    def golomb(self) -> int:
        """Read an unsigned number whose length is the number of zeros before it."""
        for zeros in range(_MAX_PREFIX_BITS):
            if self.flag():
                return (1 << zeros) - 1 + self.number(zeros)
        raise UnreadableMedia("the MP4's parameter set has a number of more than 32 bits")


# Six hours at 120 frames a second have fewer.
_MAX_SAMPLES: Final = 4_000_000
_MAX_MOVIE_BYTES: Final = 128 << 20
_MAX_TOP_BOXES: Final = 64


@dataclass(frozen=True)
class FilmVideo:
    """The H.264 track of a film; `delay` is how many frames are decoded ahead of presentation."""

    width_px: int
    height_px: int
    avcc: bytes
    delay: int


@dataclass(frozen=True)
class FilmAudio:
    """The AAC track of a film; `config` is the AudioSpecificConfig."""

    channels: int
    rate_hz: int
    config: bytes


@dataclass(frozen=True)
class FilmSample:
    """One encoded frame; `shown` is its presentation time in ticks."""

    data: bytes
    shown: int
    is_sync: bool


class FilmFile:
    """An open film or slice; use `with`."""

    def __init__(self, path: Path) -> None:
        self._size_bytes = path.stat().st_size
        self._file: BinaryIO = path.open("rb")
        try:
            self._movie = self._find_movie()
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def video(self) -> FilmVideo:
        """Return the parameters of the video track."""
        entry = sample_entry(self._track("video"))
        form, children_at = video_form(entry)
        avcc = _child(entry, children_at, "avcC").reader().rest()
        return FilmVideo(form.width_px, form.height_px, avcc, reorder_depth(avcc))

    def audio(self) -> FilmAudio:
        """Return the parameters of the audio track."""
        entry = sample_entry(self._track("audio"))
        form, children_at = sound_form(entry)
        config = aac_config(_child(entry, children_at, "esds").reader())
        return FilmAudio(form.channel_count, form.sample_rate_hz, config)

    def timescale(self, type_: TrackType) -> int:
        """Return the ticks per second of a track."""
        return timescale_of(self._track(type_).require("mdia", "mdhd"))

    def samples(self, type_: TrackType) -> Iterator[FilmSample]:
        """Yield the samples of a track in decode order."""
        track = self._track(type_)
        shift = edit_shift(self._movie, track, self.timescale(type_))
        table = _SampleTable(track.require("mdia", "minf", "stbl"), self._size_bytes)
        for position, size_bytes, shown, is_sync in table.rows():
            if position + size_bytes > self._size_bytes:
                raise UnreadableMedia(f"the MP4 has a sample at byte {position}, beyond its end")
            self._file.seek(position)
            yield FilmSample(self._file.read(size_bytes), shown - shift, is_sync)

    def _track(self, type_: TrackType) -> Mp4Box:
        for box in self._movie.children():
            if box.kind == "trak" and type_of(box) == type_:
                return box
        raise UnreadableMedia(f"the MP4 has no {type_} track")

    def _find_movie(self) -> Mp4Box:
        at = 0
        for _ in range(_MAX_TOP_BOXES):
            self._file.seek(at)
            header = read_header(self._file.read(LONG_HEADER_BYTES))
            if header is None or not header.size_bytes:
                break
            if header.kind == "moov":
                if header.size_bytes > min(_MAX_MOVIE_BYTES, self._size_bytes - at):
                    raise UnreadableMedia(
                        f"the MP4 has a moov box of {header.size_bytes} bytes; that is too much"
                    )
                self._file.seek(at)
                return next(boxes_in(self._file.read(header.size_bytes)))
            at += header.size_bytes
            if at >= self._size_bytes:
                break
        raise UnreadableMedia("the MP4 has no moov box, which describes its tracks")


class _SampleTable:
    """Where the samples of a track are, and when they are shown."""

    def __init__(self, table: Mp4Box, file_bytes: int) -> None:
        self._table = table
        self._sizes = _sizes(table.require("stsz").reader())
        if sum(self._sizes) > file_bytes:
            raise UnreadableMedia("the MP4's samples are larger than the file")

    def rows(self) -> Iterator[tuple[int, int, int, bool]]:
        """Yield position, size, composition time and whether it is a keyframe, of each sample."""
        sync = self._sync_numbers()
        times = zip(self._decode_times(), self._offsets(), strict=False)
        rows = zip(self._positions(), self._sizes, times, strict=False)
        for number, (position, size_bytes, (decoded, offset)) in enumerate(rows, 1):
            yield position, size_bytes, decoded + offset, sync is None or number in sync

    def _decode_times(self) -> Iterator[int]:
        decoded = 0
        for duration in self._spread(_runs(self._table.require("stts"), ">II"), "stts"):
            yield decoded
            decoded += duration

    def _offsets(self) -> Iterator[int]:
        offsets = self._table.find("ctts")
        return repeat(0) if offsets is None else self._spread(_runs(offsets, ">Ii"), "ctts")

    def _spread(self, runs: Sequence[tuple[int, int]], kind: str) -> Iterator[int]:
        if sum(count for count, _ in runs) != len(self._sizes):
            raise UnreadableMedia(f"the MP4's {kind} box is not about {len(self._sizes)} samples")
        return chain.from_iterable(repeat(value, count) for count, value in runs)

    def _positions(self) -> Iterator[int]:
        """Yield where each sample begins: those of a chunk follow each other."""
        sizes = iter(self._sizes)
        count = 0
        for start, samples in zip(self._chunks(), self._chunk_lengths(), strict=False):
            position = start
            for size_bytes in islice(sizes, samples):
                yield position
                position += size_bytes
                count += 1
        if count != len(self._sizes):
            raise UnreadableMedia(f"the MP4's chunks have {count} of {len(self._sizes)} samples")

    def _chunks(self) -> list[int]:
        short = self._table.find("stco")
        if short is not None:
            return [start for (start,) in _rows(short, ">I")]
        return [start for (start,) in _rows(self._table.require("co64"), ">Q")]

    def _chunk_lengths(self) -> Iterator[int]:
        """Yield how many samples each chunk has; the last run has no end."""
        runs = [
            (first, samples) for first, samples, _ in _rows(self._table.require("stsc"), ">III")
        ]
        for (first, samples), (end, _) in pairwise(runs):
            yield from repeat(samples, max(0, end - first))
        if runs:
            yield from repeat(runs[-1][1])

    def _sync_numbers(self) -> set[int] | None:
        """Return the numbers of keyframes, from 1; None if all are."""
        sync = self._table.find("stss")
        return None if sync is None else {number for (number,) in _rows(sync, ">I")}


def _sizes(fields: BoxReader) -> Sequence[int]:
    fields.skip(4)
    common, count = fields.u32(), fields.u32()
    if count > _MAX_SAMPLES:
        raise UnreadableMedia(f"the MP4 has {count} samples; at most {_MAX_SAMPLES} are read")
    if common:
        return [common] * count
    return [size for (size,) in struct.iter_unpack(">I", fields.take(4 * count))]


def _runs(box: Mp4Box, form: str) -> list[tuple[int, int]]:
    return [(count, value) for count, value in _rows(box, form)]


def _rows(box: Mp4Box, form: str) -> Iterator[tuple[int, ...]]:
    """Return the rows of a table box."""
    fields = box.reader()
    fields.skip(4)
    count = fields.u32()
    return struct.iter_unpack(form, fields.take(struct.calcsize(form) * count))


def _child(entry: Mp4Box, children_at: int, kind: str) -> Mp4Box:
    for box in boxes_in(entry.data, children_at, entry.end):
        if box.kind == kind:
            return box
    raise UnreadableMedia(f"the MP4's {entry.kind} box has no {kind} box")
