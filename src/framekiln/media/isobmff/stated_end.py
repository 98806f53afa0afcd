"""When a track of an MP4 ends, as the headers of the file state it.

Reads only a few headers, wherever they are: the sample tables are skipped, and so are the samples.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from framekiln.media.errors import UnreadableMedia
from framekiln.media.isobmff.boxes import LONG_HEADER_BYTES, Mp4Box, read_header
from framekiln.media.isobmff.track_init import timescale_of

# A file has at most 32 tracks, and a track a dozen boxes.
_MAX_SIBLINGS: Final = 100
_MAX_HEADER_BYTES: Final = 1 << 10
_UNKNOWN: Final = {0, (1 << 32) - 1, (1 << 64) - 1}


@dataclass(frozen=True)
class StatedEnd:
    """The end of a track on the timeline of its file, rounded to a tick of that timeline."""

    end_s: Fraction
    tick_s: Fraction


def stated_end(path: Path, track_number: int, *, start_s: Fraction) -> StatedEnd | None:
    """Return the end of a track that starts at `start_s`; None if the file does not state it."""
    with suppress(UnreadableMedia), path.open("rb") as file:
        movie = _child(file, _Span(0, path.stat().st_size), "moov")
        header = movie and _child(file, movie, "mvhd")
        if movie is None or header is None:
            return None
        tick_s = Fraction(1, timescale_of(_read(file, header, "mvhd")))
        for track in _children(file, movie, "trak"):
            place = _child(file, track, "tkhd")
            if place is None:
                continue
            number, ticks = _number_and_duration(_read(file, place, "tkhd"))
            if number == track_number:
                # An edit list counts from time zero: with it, so does the duration.
                has_edits = _child(file, track, "edts") is not None
                end_s = ticks * tick_s + (0 if has_edits else start_s)
                return None if ticks in _UNKNOWN else StatedEnd(end_s, tick_s)
    return None


class _Span(NamedTuple):
    """The content of a box: where it begins and ends in the file."""

    start: int
    end: int


def _child(file: BinaryIO, parent: _Span, kind: str) -> _Span | None:
    return next(_children(file, parent, kind), None)


def _children(file: BinaryIO, parent: _Span, kind: str) -> Iterator[_Span]:
    """Yield the boxes of a kind."""
    at = parent.start
    for _ in range(_MAX_SIBLINGS):
        file.seek(at)
        header = read_header(file.read(min(LONG_HEADER_BYTES, parent.end - at)))
        if header is None:
            return
        end = at + (header.size_bytes or parent.end - at)
        if end > parent.end:
            return
        if header.kind == kind:
            yield _Span(at + header.header_bytes, end)
        at = end


def _read(file: BinaryIO, span: _Span, kind: str) -> Mp4Box:
    size = min(_MAX_HEADER_BYTES, span.end - span.start)
    file.seek(span.start)
    data = file.read(size)
    return Mp4Box(data, kind, start=0, body=0, end=len(data))


def _number_and_duration(header: Mp4Box) -> tuple[int, int]:
    fields = header.reader()
    version, _ = fields.version_and_flags()
    fields.skip(16 if version else 8)
    number = fields.u32()
    fields.skip(4)
    return number, fields.u64() if version else fields.u32()
