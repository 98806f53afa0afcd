"""Remote files that are read like local ones: only the parts that are read are fetched.

A `RangedPath` is the path of a sparse copy. `open` and the read methods of `Path` return the bytes
of the original: missing blocks are fetched first, and kept. Several threads may read at once.
Another program that opens the path would see holes: `media/container.py` gives FFmpeg a reader
instead.
"""

import io
import os
import threading
import weakref
from collections.abc import Callable
from pathlib import Path, PosixPath
from typing import IO, Any, Final, Protocol

BLOCK_BYTES: Final = 256 << 10
MAX_AHEAD: Final = 16
"""Blocks fetched at once for a sequential reader: 4 MiB."""

GetPart = Callable[[int, int], bytes]
"""Fetches the bytes from one position up to, not including, another; may block."""


class FileBlocks(Protocol):
    """A file of which some blocks may have to be fetched."""

    size_bytes: int

    def read(self, start: int, count: int, *, ahead: int) -> bytes:
        """Return bytes from `start` on, at least one except at the end."""
        ...

    def has(self, start: int, end: int) -> bool:
        """Return whether all bytes from `start` up to, not including, `end` are present."""
        ...

    def stat(self) -> os.stat_result:
        """Return the status of the file."""
        ...


class RangedPath(PosixPath):
    """Created by `ranged_path`. Paths derived from it are ordinary ones."""

    blocks: "FileBlocks | None" = None

    def open(self, mode: str = "r", *args: Any, **options: Any) -> IO[Any]:  # type: ignore[override]
        """Open the original for reading."""
        if self.blocks is None:
            return super().open(mode, *args, **options)
        if mode != "rb":
            raise ValueError(f"{self}: can only be read as bytes, not opened as {mode!r}")
        return io.BufferedReader(RangedReader(self.blocks), BLOCK_BYTES)

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        """Return the status of the copy, which may not be reachable by its path."""
        if self.blocks is None:
            return super().stat(follow_symlinks=follow_symlinks)
        return self.blocks.stat()

    def reader(self) -> "RangedReader":
        """Return a reader that fetches missing blocks; for FFmpeg."""
        assert self.blocks is not None
        return RangedReader(self.blocks)


def ranged_path(path: Path, blocks: FileBlocks) -> RangedPath:
    """Return the path of a file that is read through its blocks."""
    ranged = RangedPath(path)
    ranged.blocks = blocks
    return ranged


class SparseCopy:
    """The sparse copy itself, and its present blocks."""

    def __init__(self, path: Path, size_bytes: int, get: GetPart) -> None:
        self.size_bytes = size_bytes
        self._get = get
        # An existing file may have other hard links: it is unlinked, never changed.
        path.unlink(missing_ok=True)
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        weakref.finalize(self, os.close, self._file)
        self._readable = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        weakref.finalize(self, os.close, self._readable)
        os.ftruncate(self._file, size_bytes)
        self._have = bytearray(-(-size_bytes // BLOCK_BYTES))
        self._lock = threading.Lock()

    def put(self, start: int, data: bytes) -> None:
        """Store bytes that begin at a block and end at a block or the end of the file."""
        os.pwrite(self._file, data, start)
        first, end = start // BLOCK_BYTES, -(-(start + len(data)) // BLOCK_BYTES)
        self._have[first:end] = b"\1" * (end - first)

    def read(self, start: int, count: int, *, ahead: int) -> bytes:
        """Return bytes from `start` on, at least one except at the end.

        If blocks are missing, `ahead` of them are fetched at once.
        """
        count = min(count, self.size_bytes - start)
        if count <= 0:
            return b""
        number = start // BLOCK_BYTES
        with self._lock:
            if not self._have[number]:
                self._fetch(number, ahead)
        end = number + 1
        while end * BLOCK_BYTES < start + count and self._have[end]:
            end += 1
        return os.pread(self._file, min(count, end * BLOCK_BYTES - start), start)

    def has(self, start: int, end: int) -> bool:
        """Return whether all bytes from `start` up to, not including, `end` are present."""
        return all(self._have[start // BLOCK_BYTES : -(-end // BLOCK_BYTES)])

    def stat(self) -> os.stat_result:
        """Return the status of the copy."""
        return os.fstat(self._file)

    def open(self) -> int:
        """Return a descriptor of the copy, only for reading; the caller closes it."""
        return os.dup(self._readable)

    def present(self) -> bytes:
        """Return one byte per block: 1 if it is present."""
        return bytes(self._have)

    def fetch(self, number: int, ahead: int) -> int:
        """Fetch a block if it is missing; return the end of the present blocks that follow it."""
        with self._lock:
            if not self._have[number]:
                self._fetch(number, ahead)
            missing = self._have.find(0, number)
        return missing if missing >= 0 else len(self._have)

    def _fetch(self, first: int, ahead: int) -> None:
        end = first + 1
        while end < min(first + ahead, len(self._have)) and not self._have[end]:
            end += 1
        start = first * BLOCK_BYTES
        self.put(start, self._get(start, min(end * BLOCK_BYTES, self.size_bytes)))


class RangedReader(io.RawIOBase):
    """Reads from its position. Owned by one thread.

    The longer it reads without a seek, the more it fetches at a time.
    """

    def __init__(self, blocks: FileBlocks) -> None:
        self._blocks = blocks
        self._at = 0
        self._missed_at = -1
        self._ahead = 1
        self.is_local_only = False
        """Whether what is missing is read as zeros, and not fetched."""

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the position."""
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Set the position."""
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._blocks.size_bytes}
        self._at = max(0, base[whence] + offset)
        return self._at

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes: all of them, or at most `size`."""
        if size < 0:
            return self.readall()
        data = self._next(size)
        self._at += len(data)
        return data

    def has(self, start: int, end: int) -> bool:
        """Return whether bytes are present without a fetch."""
        return self._blocks.has(start, end)

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer, or a part of it."""
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def _next(self, size: int) -> bytes:
        blocks, at = self._blocks, self._at
        if at >= blocks.size_bytes or blocks.has(at, at + 1):
            return blocks.read(at, size, ahead=1)
        if self.is_local_only:
            left = min(blocks.size_bytes, (at // BLOCK_BYTES + 1) * BLOCK_BYTES) - at
            return bytes(min(size, left))
        self._ahead = min(2 * self._ahead, MAX_AHEAD) if self._reads_on(at) else 1
        self._missed_at = at
        return blocks.read(at, size, ahead=self._ahead)

    def _reads_on(self, at: int) -> bool:
        """Return whether this miss follows closely after the last fetch."""
        passed = at - self._missed_at
        return self._missed_at >= 0 and 0 <= passed <= (self._ahead + 1) * BLOCK_BYTES
