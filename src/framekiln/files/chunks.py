"""Chunks of an upload: the declared range of a request, and the cutting of its body into parts.

Pure, except for the function that stores a part. Memory stays constant for a body of any size.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from framekiln.files.errors import ChunkMismatch, UploadGap

PART_BYTES: Final = 8 << 20
KEPT_BYTES: Final = 64 << 10
"""When a connection breaks, fewer bytes than this are not stored as a part."""

Keep = Callable[[int, bytes], Awaitable[int]]
"""Takes the offset and the bytes of a part; returns the next missing byte."""


@dataclass(frozen=True)
class Chunk:
    """The declared range of a request's body. Without an end it ends with the body."""

    start: int = 0
    end: int | None = None
    """Not included."""
    total: int | None = None
    """The total size, according to the client."""
    length: int | None = None
    """The length of the body, if declared."""

    @property
    def buffered_bytes(self) -> int:
        """What the body takes in memory at most: a part, and its copy while it is stored."""
        most = 2 * PART_BYTES
        return most if self.length is None else min(self.length, most)

    def check(self, *, byte_size: int, next_byte: int) -> int:
        """Return the last possible end of the body, or raise `ChunkMismatch` or `UploadGap`."""
        if self.total is not None and self.total != byte_size:
            raise ChunkMismatch(
                f"the range has a total of {self.total} bytes, but {byte_size} were declared",
                byte_size=byte_size,
            )
        end = self.end if self.end is not None else self.start + (self.length or 0)
        if end > byte_size:
            raise ChunkMismatch(
                f"the chunk ends at byte {end}, but the upload has {byte_size}",
                byte_size=byte_size,
            )
        if self.end is not None and self.length not in (None, self.end - self.start):
            raise ChunkMismatch(
                f"the range has {self.end - self.start} bytes, the body {self.length}"
            )
        if self.start > next_byte:
            raise UploadGap(
                f"the chunk begins at byte {self.start}, but byte {next_byte} is missing;"
                " continue there",
                next_byte=next_byte,
                byte_size=byte_size,
            )
        return self.end if self.end is not None else byte_size


class PartCutter:
    """Cuts a body into parts while it is received; skips bytes that are already stored.

    The last part is held back until the body has ended: a body that is too long must not complete
    an upload.
    """

    def __init__(self, keep: Keep, *, start: int, end: int, next_byte: int) -> None:
        self._keep = keep
        self._position = start
        self._end = end
        self._first = max(start, next_byte)
        self._buffer = bytearray()

    @property
    def position(self) -> int:
        """The end of the received bytes."""
        return self._position

    async def add(self, data: bytes) -> None:
        """Add the next bytes of the body."""
        came_at = self._position
        if came_at + len(data) > self._end:
            raise ChunkMismatch(f"the body continues after byte {self._end}, where it should end")
        self._position += len(data)
        known = self._first + len(self._buffer) - came_at
        self._buffer += data[max(0, known) :]
        while len(self._buffer) > PART_BYTES:
            await self._pass_on(PART_BYTES)

    async def finish(self, *, at_least: int = 1) -> None:
        """Store the remaining bytes, if there are at least `at_least`."""
        if len(self._buffer) >= at_least:
            await self._pass_on(len(self._buffer))

    async def _pass_on(self, size: int) -> None:
        with memoryview(self._buffer) as view:
            part = bytes(view[:size])
        del self._buffer[:size]
        next_byte = await self._keep(self._first, part)
        self._first += size
        if next_byte > self._first:
            # Another request sends the same bytes and is ahead.
            del self._buffer[: next_byte - self._first]
            self._first = next_byte
