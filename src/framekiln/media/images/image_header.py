"""The size stated in an image header, read before any decoder sees the file.

A kilobyte can declare thirty thousand pixels per side, and a decoder would allocate memory for them
first.
"""

import struct
from pathlib import Path
from typing import BinaryIO, Final

# Start-of-frame markers of JPEG; C4, C8 and CC have other meanings.
_JPEG_FRAMES: Final = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}
_JPEG_WITHOUT_LENGTH: Final = {0x01, *range(0xD0, 0xD9)}
_MAX_SEGMENTS: Final = 10_000


def declared_size(path: Path, mime_type: str) -> tuple[int, int] | None:
    """Return width and height in pixels; None if the header is broken or truncated."""
    with path.open("rb") as file:
        try:
            if mime_type == "image/jpeg":
                return _jpeg(file)
            head = file.read(32)
            if mime_type == "image/png":
                return _png(head)
            if mime_type == "image/gif":
                return struct.unpack("<HH", head[6:10])
            return _webp(head)
        except (struct.error, IndexError):
            return None


def _png(head: bytes) -> tuple[int, int] | None:
    if head[12:16] != b"IHDR":
        return None
    return struct.unpack(">II", head[16:24])


def _webp(head: bytes) -> tuple[int, int] | None:
    form, body = head[12:16], head[20:]
    if form == b"VP8X":
        return 1 + int.from_bytes(body[4:7], "little"), 1 + int.from_bytes(body[7:10], "little")
    if form == b"VP8L" and body[0] == 0x2F:
        bits = int.from_bytes(body[1:5], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if form == b"VP8 " and body[3:6] == b"\x9d\x01\x2a":
        width, height = struct.unpack("<HH", body[6:10])
        return width & 0x3FFF, height & 0x3FFF
    return None


def _jpeg(file: BinaryIO) -> tuple[int, int] | None:
    file.seek(2)
    for _ in range(_MAX_SEGMENTS):
        marker = _next_marker(file)
        if marker in _JPEG_FRAMES:
            height, width = struct.unpack(">3xHH", file.read(7))
            return width, height
        if marker in _JPEG_WITHOUT_LENGTH:
            continue
        (length,) = struct.unpack(">H", file.read(2))
        if length < 2:
            return None
        file.seek(length - 2, 1)
    return None


def _next_marker(file: BinaryIO) -> int:
    """Return the next marker; any number of fill bytes may come before it."""
    (byte,) = struct.unpack("B", file.read(1))
    if byte != 0xFF:
        raise struct.error("no marker")
    while byte == 0xFF:
        (byte,) = struct.unpack("B", file.read(1))
    return int(byte)
