"""Which screenshots reach a decoder."""

import base64
import struct
import zlib
from collections.abc import Callable

import numpy as np
import pytest

from framekiln.capture.errors import InvalidScreenshot
from framekiln.capture.page import FrameSize
from framekiln.capture.screenshot import read_png
from framekiln.media.images.stills import JpegFormat, PngFormat, decode_bgra, encode_still

SIZE = FrameSize(16, 8)
PIXELS = np.random.default_rng(1).integers(0, 256, (8, 16, 4), np.uint8)
PLAIN = encode_still(PIXELS, PngFormat(transparency=True))
END = PLAIN[-12:]


def chunk(kind: bytes, data: bytes = b"") -> bytes:
    checksum = zlib.crc32(kind + data)
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", checksum)


def with_header(**changes: int) -> bytes:
    fields = {"width": 16, "height": 8, "depth": 8, "colours": 6, "z": 0, "f": 0, "laced": 0}
    header = struct.pack(">IIBBBBB", *(fields | changes).values())
    return PLAIN[:8] + chunk(b"IHDR", header) + PLAIN[33:]


def test_a_plain_png_of_the_window_passes() -> None:
    for data in (PLAIN, with_header()):
        passed = read_png(base64.b64encode(data).decode(), SIZE)
        assert np.array_equal(decode_bgra(passed), PIXELS)


HOSTILE: dict[str, Callable[[], bytes]] = {
    "nothing": lambda: b"",
    "another format": lambda: encode_still(PIXELS, JpegFormat()),
    "only a header": lambda: PLAIN[:33],
    "half a header": lambda: PLAIN[:20],
    "half a picture": lambda: PLAIN[: len(PLAIN) // 2],
    "more columns": lambda: with_header(width=30_000),
    "more rows": lambda: with_header(height=30_000),
    "16 bits": lambda: with_header(depth=16),
    "a palette": lambda: with_header(colours=3),
    "interlaced": lambda: with_header(laced=1),
    "a profile": lambda: PLAIN[:33] + chunk(b"iCCP", b"x\0\0" + zlib.compress(b"0")) + PLAIN[33:],
    "an animation": lambda: PLAIN[:33] + chunk(b"acTL", bytes(8)) + PLAIN[33:],
    "two headers": lambda: PLAIN[:33] + PLAIN[8:33] + PLAIN[33:],
    "more after its end": lambda: PLAIN + END,
    "no end": lambda: PLAIN[:-12],
    "a chunk beyond the end": lambda: PLAIN[:-12] + struct.pack(">I4s", 1 << 31, b"IDAT"),
    "too many bytes": lambda: PLAIN[:-12] + chunk(b"IDAT", bytes(1 << 17)) + END,
}


@pytest.mark.parametrize("make", HOSTILE.values(), ids=HOSTILE)
def test_anything_else_is_refused_before_it_is_decoded(make: Callable[[], bytes]) -> None:
    with pytest.raises(InvalidScreenshot, match="Chromium sent a screenshot"):
        read_png(base64.b64encode(make()).decode(), SIZE)


def test_text_that_is_no_base64_is_refused() -> None:
    with pytest.raises(InvalidScreenshot, match="not base64"):
        read_png("a", SIZE)
