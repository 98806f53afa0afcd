"""Chunks of an upload: what a request says it carries, and cutting its body into parts.

Pure, but for the function that is given to keep a part. Memory stays flat however long a body is.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from framekiln.files.errors import ChunkMismatch, UploadGap

PART_BYTES: Final = 8 << 20
KEPT_BYTES: Final = 64 << 10
"""Less than this is not worth a part when a connection breaks."""

Keep = Callable[[int, bytes], Awaitable[int]]
"""Takes the place of a part and its bytes; returns the next byte that is missing."""


@dataclass(frozen=True)
class Chunk:
    """What a request says of its body. Without an end it goes on until the body ends."""

    start: int = 0
    end: int | None = None
    """Not included."""
    total: int | None = None
    """How large the sender thinks the whole is."""
    length: int | None = None
    """How long the body is, where that is said beforehand."""

    def check(self, *, byte_size: int, next_byte: int) -> int:
        """Return where the body must end at the latest, or raise what does not fit."""
        if self.total is not None and self.total != byte_size:
            raise ChunkMismatch(
                f"the range says that there are {self.total} bytes in all; {byte_size} were"
                " declared",
                byte_size=byte_size,
            )
        end = self.end if self.end is not None else self.start + (self.length or 0)
        if end > byte_size:
            raise ChunkMismatch(
                f"the chunk ends at byte {end}, and the upload has {byte_size}",
                byte_size=byte_size,
            )
        if self.end is not None and self.length not in (None, self.end - self.start):
            raise ChunkMismatch(
                f"the range has {self.end - self.start} bytes, the body {self.length}"
            )
        if self.start > next_byte:
            raise UploadGap(
                f"the chunk begins at byte {self.start}, and byte {next_byte} is missing; go on"
                " there",
                next_byte=next_byte,
                byte_size=byte_size,
            )
        return self.end if self.end is not None else byte_size


class PartCutter:
    """Cuts a body into parts as it comes; leaves out what is there already.

    The last part is held back until the body has ended: a body that turns out too long must not
    complete an upload.
    """

    def __init__(self, keep: Keep, *, start: int, end: int, next_byte: int) -> None:
        self._keep = keep
        self._position = start
        self._end = end
        self._first = max(start, next_byte)
        self._buffer = bytearray()

    @property
    def position(self) -> int:
        """Up to which byte the body has come."""
        return self._position

    async def add(self, piece: bytes) -> None:
        """Take the next bytes of the body."""
        came_at = self._position
        if came_at + len(piece) > self._end:
            raise ChunkMismatch(f"the body goes on after byte {self._end}, where it should end")
        self._position += len(piece)
        known = self._first + len(self._buffer) - came_at
        self._buffer += piece[max(0, known) :]
        while len(self._buffer) > PART_BYTES:
            await self._pass_on(PART_BYTES)

    async def finish(self, *, at_least: int = 1) -> None:
        """Pass on what is left, if it is worth it."""
        if len(self._buffer) >= at_least:
            await self._pass_on(len(self._buffer))

    async def _pass_on(self, size: int) -> None:
        with memoryview(self._buffer) as view:
            part = bytes(view[:size])
        del self._buffer[:size]
        next_byte = await self._keep(self._first, part)
        self._first += size
        if next_byte > self._first:
            # Somebody else sends the same and is ahead of us.
            del self._buffer[: next_byte - self._first]
            self._first = next_byte
