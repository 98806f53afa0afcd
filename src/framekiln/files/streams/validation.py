"""Validates the init segments and fragments of a streamed upload.

Only the sample tables are read, from a local file, not the samples. Nothing is decoded: a broken
frame is found when the stream is assembled.
"""

import re
from fractions import Fraction
from pathlib import Path
from typing import Final

from framekiln.files.model import TrackType
from framekiln.files.streams.errors import InvalidFragment, UnsupportedCoding
from framekiln.media.errors import UnreadableMedia
from framekiln.media.isobmff.boxes import (
    LONG_HEADER_BYTES,
    MAX_SIBLINGS,
    BoxHeader,
    boxes_in,
    read_header,
)
from framekiln.media.isobmff.fragments import MovieFragment, read_fragment
from framekiln.media.isobmff.track_file import MAX_HEAD_BYTES
from framekiln.media.isobmff.track_init import TrackInit, parse_init

# Profiles that every browser plays, 8 bit 4:2:0; the same ones are copied from whole files.
_CODECS: Final[dict[TrackType, re.Pattern[str]]] = {
    "video": re.compile(r"avc[13]\.(42|4d|58|64)[0-9a-f]{4}|vp09\.00\..*|av01\.0\..*"),
    "audio": re.compile(r"mp4a\.40\.2|opus"),
}
_CODEC_NAMES: Final[dict[TrackType, str]] = {
    "video": "H.264, VP9 or AV1 in 4:2:0",
    "audio": "AAC-LC or Opus",
}
_SAMPLE_BOXES: Final = {"moof", "mdat"}
# Muxers round; a missing fragment leaves a longer gap.
MAX_GAP_MS: Final = 100
MAX_DURATION_MS: Final = 24 * 3_600_000


def check_init(data: bytes, track_type: TrackType) -> TrackInit:
    """Return the parsed init segment, or raise when it is invalid."""
    try:
        if any(box.kind in _SAMPLE_BOXES for box in boxes_in(data)):
            raise InvalidFragment("an init segment has no samples: send fragments separately")
        init = parse_init(data)
    except UnreadableMedia as error:
        raise InvalidFragment(error.message) from error
    if init.type != track_type:
        raise InvalidFragment(f"this is a track of {init.type}, but {track_type} was declared")
    if not _CODECS[track_type].fullmatch(init.codec):
        raise UnsupportedCoding(
            f"{init.codec} cannot be streamed: {track_type} must be {_CODEC_NAMES[track_type]};"
            " upload the file whole, and it is re-encoded",
            codec=init.codec,
        )
    return init


def check_fragment(init: TrackInit, path: Path, *, end_dts: int | None) -> MovieFragment:
    """Return the parsed fragment of a file, or raise `InvalidFragment`.

    `end_dts` is the end of the previous fragment; None for the first.
    """
    try:
        fragment = _read(init, path)
    except UnreadableMedia as error:
        raise InvalidFragment(error.message) from error
    if max(fragment.end_dts, fragment.end_cts) * 1000 > MAX_DURATION_MS * init.timescale:
        raise InvalidFragment("it ends more than 24 hours after the start of the file")
    if end_dts is not None:
        _check_follows(init, fragment.dts - end_dts)
    return fragment


def presentation_ms(init: TrackInit, ticks: int) -> int:
    """Return a presentation time of the track, at least zero."""
    return max(0, int(Fraction(ticks * 1000, init.timescale)))


def _read(init: TrackInit, path: Path) -> MovieFragment:
    size_bytes = path.stat().st_size
    head = bytearray()
    with path.open("rb") as file:
        for _ in range(MAX_SIBLINGS):
            header = _header(file.read(LONG_HEADER_BYTES), size_bytes - len(head))
            if header.kind == "mdat":
                break
            if len(head) + header.size_bytes > MAX_HEAD_BYTES:
                raise InvalidFragment(f"its sample table has more than {MAX_HEAD_BYTES} bytes")
            file.seek(len(head))
            head += file.read(header.size_bytes)
        else:
            raise InvalidFragment(f"it has more than {MAX_SIBLINGS} boxes before its mdat box")
    if len(head) + header.size_bytes != size_bytes:
        raise InvalidFragment("it continues after its mdat box: send each fragment separately")
    return read_fragment(init, bytes(head), header, offset=0)


def _header(start: bytes, left_bytes: int) -> BoxHeader:
    header = read_header(start)
    if header is None:
        raise InvalidFragment("it ends before its mdat box: a fragment is a moof and an mdat box")
    if not 0 < header.size_bytes <= left_bytes:
        raise InvalidFragment(
            f"its {header.kind!r} box declares {header.size_bytes} bytes, but {left_bytes} are left"
        )
    return header


def _check_follows(init: TrackInit, gap_ticks: int) -> None:
    gap_ms = Fraction(gap_ticks * 1000, init.timescale)
    if gap_ms < 0:
        raise InvalidFragment(
            f"it begins {float(-gap_ms):.1f} ms before the end of the previous fragment: fragments"
            " must be sent in order"
        )
    if gap_ms > MAX_GAP_MS:
        raise InvalidFragment(
            f"it begins {float(gap_ms):.1f} ms after the end of the previous fragment: one is"
            " missing between them"
        )
