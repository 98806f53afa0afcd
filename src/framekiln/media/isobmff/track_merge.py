"""Merges track files into one fragmented MP4 and renumbers their tracks.

Only numbers are changed, in place: samples are neither read nor moved, and every part keeps its
size. The input was verified when it arrived; nothing here opens a codec.
"""

import math
import struct
from collections.abc import Collection, Mapping
from fractions import Fraction
from typing import Final

from framekiln.media.errors import UnreadableMedia
from framekiln.media.isobmff.boxes import Mp4Box, boxes_in, read_header

_U32: Final = struct.Struct(">I")
_U64: Final = struct.Struct(">Q")
# Version and flags at the start of every full box.
_FULL_BYTES: Final = 4
# In tkhd, mvhd and similar boxes, two times come before the field.
_TIMES_BYTES: Final = {0: 8, 1: 16}
_ENTRY_BYTES: Final = {0: 12, 1: 20}
_WORDS: Final = {0: _U32, 1: _U64}
# 32 bits hold half a day of it.
_FINEST_CLOCK: Final = 100_000


def merge_init_segments(inits: Mapping[int, bytes]) -> bytes:
    """Return one init segment for tracks with these numbers, each given by its own init segment."""
    movies = {number: _movie(data) for number, data in sorted(inits.items())}
    clocks = {number: _timescale(movie.require("mvhd")) for number, movie in movies.items()}
    clock = _common(clocks.values())
    first = next(iter(movies.values()))
    parts = [_movie_header(first.require("mvhd"), clock=clock, next_number=max(movies) + 1)]
    defaults = bytearray()
    for number, movie in movies.items():
        parts.append(_track(movie.require("trak"), number, scale=Fraction(clock, clocks[number])))
        defaults += _numbered(movie.require("mvex", "trex"), number)
    parts.append(_boxed(b"mvex", defaults))
    brand = next(boxes_in(first.data))
    start = first.data[brand.start : brand.end] if brand.kind == "ftyp" else b""
    return start + bytes(_boxed(b"moov", b"".join(parts)))


class TrackRenumberer:
    """Changes the track number of a fragment as its bytes pass through; its size stays."""

    def __init__(self, number: int, *, sequence: int) -> None:
        self._number, self._sequence = number, sequence
        self._waiting = bytearray()
        self._head_bytes = 0
        self._is_through = False

    def feed(self, data: bytes) -> bytes:
        """Return bytes to pass on: none until everything before the samples has arrived."""
        if self._is_through:
            return data
        self._waiting += data
        while (header := read_header(self._waiting, self._head_bytes)) is not None:
            if header.kind == "mdat" or header.size_bytes == 0:
                self._is_through = True
                head = bytes(self._waiting[: self._head_bytes])
                return self._renumbered(head) + bytes(self._waiting[self._head_bytes :])
            self._head_bytes += header.size_bytes
        return b""

    def _renumbered(self, head: bytes) -> bytes:
        written = bytearray(head)
        for box in boxes_in(head):
            if box.kind == "sidx":
                # Its positions are wrong in the merged file.
                written[box.start + 4 : box.start + 8] = b"free"
            if box.kind == "moof":
                _U32.pack_into(written, box.require("mfhd").body + _FULL_BYTES, self._sequence)
                _U32.pack_into(
                    written, box.require("traf", "tfhd").body + _FULL_BYTES, self._number
                )
        return bytes(written)


def _movie(data: bytes) -> Mp4Box:
    movie = next((box for box in boxes_in(data) if box.kind == "moov"), None)
    if movie is None:
        raise UnreadableMedia("an init segment has no moov box")
    return movie


def _common(clocks: Collection[int]) -> int:
    """Return a clock on which all edits are exact, if it fits; otherwise the finest one."""
    exact = math.lcm(*clocks)
    return exact if exact <= _FINEST_CLOCK else max(clocks)


def _movie_header(header: Mp4Box, *, clock: int, next_number: int) -> bytearray:
    written = bytearray(header.data[header.start : header.end])
    at = _after_times(header) - header.start
    _U32.pack_into(written, at, clock)
    _forget_duration(written, at + 4, header)
    _U32.pack_into(written, len(written) - 4, next_number)
    return written


def _track(track: Mp4Box, number: int, *, scale: Fraction) -> bytearray:
    written = bytearray(track.data[track.start : track.end])
    header = track.require("tkhd")
    at = _after_times(header) - track.start
    _U32.pack_into(written, at, number)
    _forget_duration(written, at + 8, header)
    edits = track.find("edts", "elst")
    if edits is not None:
        _scale_edits(written, edits, at=edits.body - track.start, scale=scale)
    return written


def _forget_duration(written: bytearray, at: int, header: Mp4Box) -> None:
    """Clear the duration, which is unknown: fragments state their own."""
    version, _ = header.reader().version_and_flags()
    written[at : at + _WORDS[version].size] = bytes(_WORDS[version].size)


def _scale_edits(written: bytearray, edits: Mp4Box, *, at: int, scale: Fraction) -> None:
    """Scale edit durations, which are in the movie's clock, to the new clock."""
    fields = edits.reader()
    version, _ = fields.version_and_flags()
    word = _WORDS[version]
    for index in range(fields.u32()):
        place = at + 2 * _FULL_BYTES + index * _ENTRY_BYTES[version]
        (duration,) = word.unpack_from(written, place)
        word.pack_into(written, place, min(round(duration * scale), 256**word.size - 1))


def _numbered(box: Mp4Box, number: int) -> bytearray:
    written = bytearray(box.data[box.start : box.end])
    _U32.pack_into(written, box.body - box.start + _FULL_BYTES, number)
    return written


def _timescale(header: Mp4Box) -> int:
    return int(_U32.unpack_from(header.data, _after_times(header))[0])


def _after_times(header: Mp4Box) -> int:
    version, _ = header.reader().version_and_flags()
    return header.body + _FULL_BYTES + _TIMES_BYTES[version]


def _boxed(kind: bytes, body: bytes | bytearray) -> bytearray:
    return bytearray(_U32.pack(8 + len(body)) + kind + body)
