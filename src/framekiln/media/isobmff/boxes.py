"""Boxes: the nested structure of an ISO base media file.

Reads only the given memory: whatever a size or a count declares, the result is a value or
`UnreadableMedia`.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from framekiln.media.errors import UnreadableMedia

SHORT_HEADER_BYTES: Final = 8
LONG_HEADER_BYTES: Final = 16
MAX_SIBLINGS: Final = 10_000
"""A film has a dozen boxes beside each other; millions would only take time."""
_LONG_SIZE_FOLLOWS: Final = 1
_TO_THE_END: Final = 0

_U16: Final = struct.Struct(">H")
_U32: Final = struct.Struct(">I")
_U64: Final = struct.Struct(">Q")
_I32: Final = struct.Struct(">i")
_I64: Final = struct.Struct(">q")


class BoxHeader(NamedTuple):
    """The header of a box; `size_bytes` includes the header, and 0 means to the end of the file."""

    kind: str
    header_bytes: int
    size_bytes: int


@dataclass(frozen=True)
class Mp4Box:
    """One box and its position in `data`."""

    data: bytes
    kind: str
    start: int
    body: int
    end: int

    @property
    def size_bytes(self) -> int:
        """Size including the header."""
        return self.end - self.start

    def reader(self) -> "BoxReader":
        """Return a reader for the contents of the box."""
        return BoxReader(self.data, self.body, self.end, self.kind)

    def children(self) -> Iterator["Mp4Box"]:
        """Yield the child boxes."""
        return boxes_in(self.data, self.body, self.end)

    def find(self, *path: str) -> "Mp4Box | None":
        """Return the first box at the path of kinds, or None."""
        box: Mp4Box | None = self
        for kind in path:
            box = None if box is None else next((b for b in box.children() if b.kind == kind), None)
        return box

    def require(self, *path: str) -> "Mp4Box":
        """Return the first box at the path; raise `UnreadableMedia` if it is missing."""
        box = self.find(*path)
        if box is None:
            raise UnreadableMedia(f"the MP4 has no {'/'.join((self.kind, *path))} box")
        return box


def read_header(data: bytes | bytearray, start: int = 0) -> BoxHeader | None:
    """Return the header at `start`, or None if its bytes are incomplete."""
    if len(data) - start < SHORT_HEADER_BYTES:
        return None
    size_bytes: int = _U32.unpack_from(data, start)[0]
    kind = bytes(data[start + 4 : start + 8]).decode("latin-1")
    header_bytes = SHORT_HEADER_BYTES
    if size_bytes == _LONG_SIZE_FOLLOWS:
        if len(data) - start < LONG_HEADER_BYTES:
            return None
        size_bytes = _U64.unpack_from(data, start + SHORT_HEADER_BYTES)[0]
        header_bytes = LONG_HEADER_BYTES
    if size_bytes < header_bytes and size_bytes != _TO_THE_END:
        raise UnreadableMedia(f"a box {kind!r} of the MP4 declares a size of {size_bytes} bytes")
    return BoxHeader(kind, header_bytes, size_bytes)


def boxes_in(data: bytes, start: int = 0, end: int | None = None) -> Iterator[Mp4Box]:
    """Yield the consecutive boxes between two positions; they must fill the range."""
    end = len(data) if end is None else end
    for _ in range(MAX_SIBLINGS):
        if start >= end:
            return
        header = read_header(data[start : min(end, start + LONG_HEADER_BYTES)])
        if header is None:
            raise UnreadableMedia(f"the MP4 has {end - start} extra bytes at byte {start}")
        size_bytes = header.size_bytes or end - start
        if size_bytes > end - start or size_bytes < header.header_bytes:
            raise UnreadableMedia(
                f"a box {header.kind!r} of the MP4 declares {size_bytes} bytes at byte {start},"
                f" but {end - start} are left"
            )
        yield Mp4Box(data, header.kind, start, start + header.header_bytes, start + size_bytes)
        start += size_bytes
    if start < end:
        raise UnreadableMedia(f"the MP4 has more than {MAX_SIBLINGS} boxes beside each other")


class BoxReader:
    """Reads numbers in sequence, never beyond the end of their box."""

    def __init__(self, data: bytes, at: int, end: int, kind: str = "") -> None:
        self._data, self._at, self._end, self._kind = data, at, end, kind

    @property
    def left_bytes(self) -> int:
        """The number of unread bytes in the box."""
        return self._end - self._at

    @property
    def at(self) -> int:
        """The position of the next number in the whole data."""
        return self._at

    def version_and_flags(self) -> tuple[int, int]:
        """Read the version and flags of a full box."""
        word = self.u32()
        return word >> 24, word & 0xFFFFFF

    def u8(self) -> int:
        return self._data[self._step(1)]

    def u16(self) -> int:
        return int(_U16.unpack_from(self._data, self._step(2))[0])

    def u32(self) -> int:
        return int(_U32.unpack_from(self._data, self._step(4))[0])

    def u64(self) -> int:
        return int(_U64.unpack_from(self._data, self._step(8))[0])

    def i32(self) -> int:
        return int(_I32.unpack_from(self._data, self._step(4))[0])

    def i64(self) -> int:
        return int(_I64.unpack_from(self._data, self._step(8))[0])

    def take(self, count: int) -> bytes:
        """Read some bytes unchanged."""
        start = self._step(count)
        return self._data[start : start + count]

    def skip(self, count: int) -> None:
        """Skip some bytes."""
        self._step(count)

    def rest(self) -> bytes:
        """Read all remaining bytes."""
        return self.take(self.left_bytes)

    def _step(self, count: int) -> int:
        at = self._at
        if not 0 <= count <= self._end - at:
            raise UnreadableMedia(
                f"a box {self._kind!r} of the MP4 is too short: it ends at byte {self._end}"
            )
        self._at = at + count
        return at
