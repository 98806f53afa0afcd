"""Screenshots as Chromium sends them, checked before a decoder reads them.

A page may have taken Chromium over, and the decoder is in our process. So it gets only what our
Chromium writes: a PNG of the size of the window, with 8 bits a channel, and nothing but its pixels
in it. No profiles, no text, no animation, no other format, and no size that takes more memory.
"""

import base64
import binascii
import struct
from typing import Final

from framekiln.capture.errors import InvalidScreenshot
from framekiln.capture.page import FrameSize

_MAGIC: Final = b"\x89PNG\r\n\x1a\n"
_HEAD: Final = struct.Struct(">I4sIIBBBBB")
_CHUNK: Final = struct.Struct(">I4s")
_CHECKSUM_BYTES: Final = 4
_RGB, _RGBA = 2, 6
# Pixels that cannot be compressed take a little more than their bytes.
_SLACK: Final = 1.02
_SLACK_BYTES: Final = 1 << 16


def read_png(screenshot: str, size: FrameSize) -> bytes:
    """Return the PNG of a screenshot of the whole window; raise if it is anything else."""
    most_bytes = size.width_px * size.height_px * 4 * _SLACK + _SLACK_BYTES
    if len(screenshot) > most_bytes * 4 / 3 + 4:
        raise InvalidScreenshot(f"Chromium sent a screenshot of {len(screenshot)} characters")
    try:
        data = base64.b64decode(screenshot)
    except binascii.Error as error:
        raise InvalidScreenshot("Chromium sent a screenshot that is not base64") from error
    if not _is_plain(data, size):
        raise InvalidScreenshot(
            f"Chromium sent a screenshot that is not a plain PNG of"
            f" {size.width_px}x{size.height_px} pixels"
        )
    return data


def _is_plain(data: bytes, size: FrameSize) -> bool:
    at = len(_MAGIC)
    if not data.startswith(_MAGIC) or len(data) < at + _HEAD.size:
        return False
    length: int
    kind: bytes
    length, kind, width, height, depth, colours, *others = _HEAD.unpack_from(data, at)
    is_expected = (length, kind, depth) == (13, b"IHDR", 8) and colours in (_RGB, _RGBA)
    if not is_expected or any(others) or (width, height) != (size.width_px, size.height_px):
        return False
    at += _CHUNK.size + length + _CHECKSUM_BYTES
    while at + _CHUNK.size <= len(data):
        length, kind = _CHUNK.unpack_from(data, at)
        at += _CHUNK.size + length + _CHECKSUM_BYTES
        if kind != b"IDAT":
            return kind == b"IEND" and length == 0 and at == len(data)
    return False
