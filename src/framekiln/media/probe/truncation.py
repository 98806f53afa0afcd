"""Finds truncated media files, by the declared lengths of their top-level elements.

Decoders stop silently at the end of a file. Knows MP4, MOV, MKV, WebM, AVI and WAV; other formats
are not checked.
"""

from pathlib import Path
from typing import BinaryIO, Final

from framekiln.kit.ranged_path import RangedPath
from framekiln.media.errors import UnreadableMedia
from framekiln.media.isobmff.boxes import LONG_HEADER_BYTES, read_header

_FIRST_BOXES: Final = {"ftyp", "moov", "mdat", "free", "skip", "wide", "pnot", "styp"}
_MEDIA_BOXES: Final = {"moov", "moof", "mdat"}
# A file with this many fragments is certainly not a truncated download.
_MAX_BOXES: Final = 100_000

_EBML: Final = b"\x1a\x45\xdf\xa3"
_SEGMENT: Final = b"\x18\x53\x80\x67"
_MAX_NUMBER_BYTES: Final = 8

_RIFF: Final = b"RIFF"
# The chunks of AVI and WAV that hold the media; the first is a list, with its type.
_MEDIA_CHUNKS: Final = {(b"AVI ", b"LIST", b"movi"), (b"WAVE", b"data", b"")}
_RIFF_HEADER_BYTES: Final = 12
_CHUNK_HEADER_BYTES: Final = 8
_MAX_CHUNKS: Final = 1_000
# Streams state any size that large, or none.
_UNKNOWN_FROM: Final = 0x7FFF_0000
# Some programs count their own headers.
_MISCOUNTED_BYTES: Final = 4096


def check_complete(path: Path) -> None:
    """Refuse a file whose end is missing.

    Of a remote file that is read in parts, fragments are not checked: each would be a request.
    """
    size_bytes = path.stat().st_size
    if size_bytes == 0:
        raise UnreadableMedia(f"{path.name}: the file is empty")
    with path.open("rb") as file:
        start = file.read(LONG_HEADER_BYTES)
        if start[4:8].decode("latin-1") in _FIRST_BOXES:
            is_remote = isinstance(path, RangedPath)
            wrong = _missing_of_mp4(file, size_bytes, has_fragments_checked=not is_remote)
        elif start.startswith(_EBML):
            wrong = _missing_of_matroska(file, size_bytes)
        elif start.startswith(_RIFF):
            wrong = _missing_of_riff(file, size_bytes)
        else:
            return
    if wrong is not None:
        raise UnreadableMedia(f"{path.name}: the file is truncated: {wrong}; copy it again")


def _missing_of_mp4(file: BinaryIO, size_bytes: int, *, has_fragments_checked: bool) -> str | None:
    at = 0
    has_index = False
    for _ in range(_MAX_BOXES):
        file.seek(at)
        header = read_header(file.read(LONG_HEADER_BYTES))
        if header is None or (header.kind == "moof" and not has_fragments_checked):
            break
        length = header.size_bytes or size_bytes - at
        has_index = has_index or header.kind == "moov"
        if at + length > size_bytes:
            # Trailing garbage can declare any size; only boxes that hold media are trusted.
            if header.kind not in _MEDIA_BOXES:
                break
            return (
                f"its {header.kind} box at byte {at} has {length} bytes, of which"
                f" {size_bytes - at} are there"
            )
        at += length
    return None if has_index else "it has no moov box, which says where its tracks are"


def _missing_of_matroska(file: BinaryIO, size_bytes: int) -> str | None:
    file.seek(len(_EBML))
    header_bytes = _read_number(file)
    if header_bytes is None:
        return None
    file.seek(header_bytes, 1)
    if file.read(len(_SEGMENT)) != _SEGMENT:
        return None
    segment_bytes = _read_number(file)
    at = file.tell()
    if segment_bytes is None or at + segment_bytes <= size_bytes:
        return None
    return f"it should have {at + segment_bytes} bytes, of which {size_bytes} are there"


def _missing_of_riff(file: BinaryIO, size_bytes: int) -> str | None:
    file.seek(0)
    form = file.read(_RIFF_HEADER_BYTES)[8:]
    at = _RIFF_HEADER_BYTES
    for _ in range(_MAX_CHUNKS):
        file.seek(at)
        header = file.read(_RIFF_HEADER_BYTES)
        if len(header) < _CHUNK_HEADER_BYTES:
            break
        kind, length = header[:4], int.from_bytes(header[4:8], "little")
        list_type = header[8:] if kind == b"LIST" else b""
        at += _CHUNK_HEADER_BYTES
        if (form, kind, list_type) in _MEDIA_CHUNKS:
            is_missing = at + length > size_bytes + _MISCOUNTED_BYTES
            if length >= _UNKNOWN_FROM or not is_missing:
                return None
            return f"it should have {at + length} bytes, of which {size_bytes} are there"
        # Chunks begin at even positions.
        at += length + length % 2
    return None


def _read_number(file: BinaryIO) -> int | None:
    """Read a Matroska number; None if it is "unknown" or invalid."""
    first = file.read(1)
    if not first or first == b"\0":
        return None
    length = 1 + _MAX_NUMBER_BYTES - first[0].bit_length()
    rest = file.read(length - 1)
    value_bits = 7 * length
    value = int.from_bytes(first + rest) & ((1 << value_bits) - 1)
    return None if value == (1 << value_bits) - 1 else value
