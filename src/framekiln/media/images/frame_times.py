"""The duration of each frame of an animated GIF, WebP or PNG, read without decoding.

Durations are those that browsers use: a frame of 10 ms or less lasts 100 ms.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import BinaryIO, Final

MAX_FRAMES: Final = 20_000
_MIN_FRAME_MS: Final = 10
_USUAL_MS: Final = Fraction(100)
_PICTURE, _CONTROL, _APPLICATION = b",", b"\xf9", b"\xff"
_HASTY: Final = b"\x01\x00"
_LOOPING: Final = ([b"NETSCAPE2.0"], [b"ANIMEXTS1.0"])
# A GIF of one gigabyte has about four million; a file of tiny parts would be read forever.
_MAX_PARTS: Final = 10_000_000


class TooManyFrames(ValueError):
    """The animation has more frames than are played."""


@dataclass(frozen=True)
class FrameTimes:
    """The frame times of an animation; empty for a still image."""

    frame_ms: tuple[Fraction, ...] = ()
    """Duration of each frame, in order."""
    plays: int | None = None
    """How often it plays; None means forever."""


def frame_times(path: Path, mime_type: str, *, most_parts: int = _MAX_PARTS) -> FrameTimes:
    """Return the frame times of an image file of this type; truncated frames do not count."""
    readers = {"image/gif": _gif, "image/webp": _webp, "image/png": _png}
    read = readers.get(mime_type)
    if read is None:
        return FrameTimes()
    with path.open("rb") as file:
        found = read(_Parts(file, most_parts))
    return found if len(found.frame_ms) > 1 else FrameTimes()


@dataclass
class _Parts:
    """A file that is read in a limited number of parts."""

    file: BinaryIO
    left: int

    def read(self, size: int) -> bytes:
        """Return the next bytes; fewer at the end of the file."""
        self.left -= 1
        if self.left < 0:
            raise TooManyFrames("the image has too many chunks")
        return self.file.read(size)

    def skip(self, size: int) -> None:
        """Skip bytes, also beyond the end."""
        self.file.seek(size, 1)


def effective_ms(stated_ms: Fraction) -> Fraction:
    """Return how long a frame with this stated duration is shown."""
    return stated_ms if stated_ms > _MIN_FRAME_MS else _USUAL_MS


def _checked(frames: list[Fraction]) -> tuple[Fraction, ...]:
    if len(frames) > MAX_FRAMES:
        raise TooManyFrames(f"the animation has more than {MAX_FRAMES:,} frames")
    return tuple(frames)


def _gif(file: _Parts) -> FrameTimes:
    frames: list[Fraction] = []
    plays: int | None = 1
    delay_ms = Fraction(0)
    for row in _gif_rows(file):
        if row.label == _CONTROL and row.blocks:
            delay_ms = Fraction(10 * int.from_bytes(row.blocks[0][1:3], "little"))
        elif row.label == _APPLICATION and row.blocks[:1] in _LOOPING:
            plays = _gif_plays(row.blocks[1:], plays)
        elif row.label == _PICTURE:
            frames.append(effective_ms(delay_ms))
            delay_ms = Fraction(0)
            if len(frames) > MAX_FRAMES:
                break
    return FrameTimes(_checked(frames), plays)


def short_delay_offsets(path: Path) -> list[int]:
    """Return the positions of the 10 ms delays in a GIF, two bytes each; browsers use 100 ms.

    FFmpeg follows browsers for delays of 0, but not for these.
    """
    with path.open("rb") as file:
        rows = _gif_rows(_Parts(file, _MAX_PARTS))
        controls = (row for row in rows if row.label == _CONTROL and row.blocks)
        # The block size and its flags come before the delay.
        return [row.at + 2 for row in controls if row.blocks[0][1:3] == _HASTY]


@dataclass(frozen=True)
class _Row:
    """A sequence of GIF blocks: an extension or an image. `at` is where its blocks begin."""

    label: bytes
    at: int
    blocks: list[bytes]


def _gif_rows(file: _Parts) -> Iterator[_Row]:
    """Yield all sequences of a GIF; a truncated image is left out."""
    _skip_palette(file, file.read(13)[10:11])
    while (mark := file.read(1)) not in (b"", b";"):
        if mark == b"!":
            label, at = file.read(1), file.file.tell()
            yield _Row(label, at, _gif_blocks(file) or [])
        elif mark == _PICTURE:
            _skip_palette(file, file.read(9)[8:])
            # Skip the LZW minimum code size.
            file.skip(1)
            at = file.file.tell()
            blocks = _gif_blocks(file)
            if blocks is None:
                return
            yield _Row(mark, at, blocks)


def _skip_palette(file: _Parts, flags: bytes) -> None:
    if flags and flags[0] & 0x80:
        file.skip(3 << (1 + (flags[0] & 7)))


def _gif_blocks(file: _Parts) -> list[bytes] | None:
    """Skip a sequence of blocks; return the first two, or None if it is truncated."""
    first: list[bytes] = []
    while (size := file.read(1)) not in (b"", b"\0"):
        if len(first) < 2:
            first.append(file.read(size[0]))
        else:
            file.skip(size[0])
    return first if size else None


def _gif_plays(blocks: list[bytes], plays: int | None) -> int | None:
    """Return the repeat count; 0 in the file means forever."""
    if not blocks or len(blocks[0]) != 3 or blocks[0][0] != 1:
        return plays
    repeats = int.from_bytes(blocks[0][1:], "little")
    return None if repeats == 0 else repeats + 1


def _webp(file: _Parts) -> FrameTimes:
    frames: list[Fraction] = []
    plays: int | None = None
    file.skip(12)
    for name, size in _chunks(file, "<4sI", frames):
        if name == b"ANIM" and size >= 6:
            plays = int.from_bytes(file.read(6)[4:], "little") or None
        elif name == b"ANMF" and size >= 16:
            stated = file.read(15)[12:]
            if len(stated) == 3:
                frames.append(effective_ms(Fraction(int.from_bytes(stated, "little"))))
    return FrameTimes(_checked(frames), plays)


def _png(file: _Parts) -> FrameTimes:
    frames: list[Fraction] = []
    stated_count, plays = 0, None
    file.skip(8)
    for name, _ in _chunks(file, ">I4s", frames):
        if name == b"IDAT" and not stated_count:
            break
        if name == b"acTL":
            body = file.read(8)
            if len(body) == 8:
                stated_count, repeats = struct.unpack(">II", body)
                plays = repeats or None
        elif name == b"fcTL":
            body = file.read(24)
            if len(body) == 24:
                part, whole = struct.unpack(">HH", body[20:24])
                frames.append(effective_ms(Fraction(1000 * part, whole or 100)))
    return FrameTimes(_checked(frames[:stated_count]), plays)


def _chunks(file: _Parts, form: str, frames: list[Fraction]) -> Iterator[tuple[bytes, int]]:
    """Yield the name and size of each chunk of a RIFF (`<4sI`) or PNG (`>I4s`) file."""
    is_riff = form.startswith("<")
    while len(frames) <= MAX_FRAMES and len(head := file.read(8)) == 8:
        name, size = struct.unpack(form, head) if is_riff else struct.unpack(form, head)[::-1]
        start = file.file.tell()
        yield name, size
        # RIFF chunks are padded to even sizes; PNG chunks have a checksum.
        file.file.seek(start + size + (size & 1 if is_riff else 4))
