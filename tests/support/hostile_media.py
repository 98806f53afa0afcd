"""Media made to do harm: bombs, absurd headers, and boxes that lie."""

import io
import struct
from fractions import Fraction
from pathlib import Path

from PIL import Image

from tests.support.clips import Clip, make_clip


def png_chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + bytes(4)


def png_bomb(side_px: int = 30_000) -> bytes:
    """Return a PNG whose header states enormous sides."""
    header = struct.pack(">IIBBBBB", side_px, side_px, 8, 6, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", header) + png_chunk(b"IEND", b"")


def gif_bomb(side_px: int = 65_535) -> bytes:
    """Return a GIF whose header states enormous sides."""
    size = struct.pack("<HH", side_px, side_px)
    return b"GIF89a" + size + b"\x80\0\0" + bytes(6) + b"\x2c" + bytes(20)


def gif_of_many_large_pictures() -> bytes:
    """Return a GIF that states a fair size, then pictures far outside of it."""
    file = io.BytesIO()
    Image.new("P", (4, 4)).save(file, "GIF")
    data = bytearray(file.getvalue())
    at = data.index(b"\x2c")
    data[at + 5 : at + 9] = b"\xff\xff\xff\xff"
    return bytes(data)


def wav(*, channels: int = 2, rate_hz: int = 48_000, states_bytes: int | None = None) -> bytes:
    """Return a WAV file of a thousand samples; its header may state more."""
    step_bytes = 2 * channels
    form = struct.pack("<HHIIHH", 1, channels, rate_hz, 1 << 20, step_bytes, 16)
    data = bytes(step_bytes * 1000)
    stated = len(data) if states_bytes is None else states_bytes
    body = b"WAVEfmt " + struct.pack("<I", len(form)) + form
    body += b"data" + struct.pack("<I", stated) + data
    return b"RIFF" + struct.pack("<I", len(body)) + body


def with_count(clip: bytes, table: bytes, *, skip: int = 8, value: int = 0x7FFF_FFFF) -> bytes:
    """Return an MP4 whose first table of a name states an absurd number."""
    at = clip.index(table) + skip
    return clip[:at] + struct.pack(">I", value) + clip[at + 4 :]


def mislabelled_sounds(folder: Path) -> dict[str, bytes]:
    """Sounds of a moment that say they are long."""
    path = folder / "a.m4a"
    clip = make_clip(path, Clip(duration_s=Fraction(1), video_codec=None)).read_bytes()
    return {
        "data": wav(states_bytes=0xFFFF_0000),
        "duration": with_count(clip, b"mdhd", skip=20, value=0xFFFF_FFFE),
        "samples": with_count(clip, b"stts", skip=12),
        "length of a sample": with_count(clip, b"stts", skip=16),
        "boxes": with_count(clip, b"mdat", skip=-4, value=0xFFFF_FFF0),
        "truncated": clip[: len(clip) // 2],
    }


def with_picture_size(clip: bytes, side_px: int = 65_000) -> bytes:
    """Return an MP4 of H.264 whose header states enormous pictures."""
    at = clip.index(b"avc1", clip.index(b"stsd")) + 28
    return clip[:at] + struct.pack(">HH", side_px, side_px) + clip[at + 4 :]


def many_cues(count: int) -> bytes:
    """Return WebVTT with cues that are all shown at the same time."""
    return b"WEBVTT\n\n" + b"0:00.000-->9:00.000\na\n\n" * count
