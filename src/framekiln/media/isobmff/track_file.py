"""Splits track files into init segment and verified fragments: as bytes arrive, or from disk.

From disk, only the sample tables are read; the samples themselves are skipped, so a large file
costs little. The checks are those of `FragmentSplitter`.

`FragmentSplitter` accepts chunks of any size. Each complete part is returned at once, checked
against the previous ones. It holds at most one fragment in memory.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from framekiln.media.errors import UnreadableMedia
from framekiln.media.isobmff.boxes import LONG_HEADER_BYTES, BoxHeader, read_header
from framekiln.media.isobmff.fragments import MovieFragment, check_follows, read_fragment
from framekiln.media.isobmff.track_init import TrackInit, parse_init

# Far more than the moov or moof of one track needs.
MAX_HEAD_BYTES: Final = 16 << 20
MAX_FRAGMENT_BYTES: Final = 256 << 20
# Boxes that may come at the end of a file or between fragments, but are not part of the media.
TRAILING: Final = {"mfra", "free", "skip", "meta", "udta"}


@dataclass(frozen=True)
class InitSegment:
    """The beginning of the file, up to the first fragment."""

    data: bytes
    facts: TrackInit


@dataclass(frozen=True)
class FragmentSegment:
    """One fragment, to be stored unchanged."""

    data: bytes
    facts: MovieFragment


TrackSegment = InitSegment | FragmentSegment


class FragmentSplitter:
    """Splits a stream of bytes. To resume, pass the init segment and the last stored fragment."""

    def __init__(
        self, init: TrackInit | None = None, previous: MovieFragment | None = None
    ) -> None:
        self._init, self._previous = init, previous
        self._offset = _end_of(init, previous)
        self._waiting = bytearray()
        self._head_bytes = 0
        self._kinds: list[str] = []

    def feed(self, data: bytes) -> Iterator[TrackSegment]:
        """Yield the parts that these bytes complete; exhaust it before feeding more."""
        self._waiting += data
        while (header := read_header(self._waiting, self._head_bytes)) is not None:
            self._check_size(header)
            end = self._head_bytes + header.size_bytes
            if len(self._waiting) < end:
                return
            if header.kind == "moov":
                yield self._take_init(end)
            elif header.kind == "mdat":
                yield self._take_fragment(header, end)
            else:
                self._kinds.append(header.kind)
                self._head_bytes = end

    def finish(self) -> None:
        """Signal the end of the data; refuse a file that ends inside a fragment."""
        if self._init is None:
            raise UnreadableMedia("the MP4 ended before its moov box")
        is_whole = len(self._waiting) == self._head_bytes
        if not is_whole or not TRAILING.issuperset(self._kinds):
            raise UnreadableMedia(
                f"the MP4 ended inside the fragment that begins at byte {self._offset}"
            )

    def _check_size(self, header: BoxHeader) -> None:
        if header.size_bytes == 0:
            raise UnreadableMedia(f"a box {header.kind!r} of the MP4 has no length")
        most = MAX_FRAGMENT_BYTES if header.kind == "mdat" else MAX_HEAD_BYTES
        if self._head_bytes + header.size_bytes > most:
            raise UnreadableMedia(
                f"a box {header.kind!r} of the MP4 has {header.size_bytes} bytes;"
                f" at most {most} are accepted before the next fragment"
            )

    def _take_init(self, end: int) -> InitSegment:
        if self._init is not None:
            raise UnreadableMedia(f"the MP4 has a second moov box, after byte {self._offset}")
        data = self._take(end)
        self._init = parse_init(data)
        return InitSegment(data, self._init)

    def _take_fragment(self, header: BoxHeader, end: int) -> FragmentSegment:
        if self._init is None:
            raise UnreadableMedia("the MP4 has samples before its moov box: it is not fragmented")
        offset = self._offset
        head = bytes(self._waiting[: self._head_bytes])
        fragment = read_fragment(self._init, head, header, offset=offset)
        check_follows(fragment, self._previous)
        self._previous = fragment
        return FragmentSegment(self._take(end), fragment)

    def _take(self, end: int) -> bytes:
        data = bytes(self._waiting[:end])
        del self._waiting[:end]
        self._offset += end
        self._head_bytes = 0
        self._kinds.clear()
        return data


def _end_of(init: TrackInit | None, previous: MovieFragment | None) -> int:
    if previous is not None:
        return previous.offset + previous.size_bytes
    return 0 if init is None else init.size_bytes


class TrackFile:
    """An open track file; use `with`. Error messages begin with the file's name."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: BinaryIO = path.open("rb")
        self._size_bytes = path.stat().st_size

    def __enter__(self) -> "TrackFile":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def read_init(self) -> TrackInit:
        """Return the parsed init segment."""
        self._file.seek(0)
        head = bytearray()
        while (header := self._next_header(len(head))) is not None:
            if header.kind in ("moof", "mdat"):
                break
            head += self._read(header, len(head))
            if header.kind == "moov":
                return parse_init(bytes(head))
        raise UnreadableMedia("the MP4 has no moov box before its samples: it is not fragmented")

    def fragments(self, init: TrackInit) -> Iterator[MovieFragment]:
        """Yield every verified fragment."""
        self._file.seek(init.size_bytes)
        at, head, kinds = init.size_bytes, bytearray(), list[str]()
        previous: MovieFragment | None = None
        while (header := self._next_header(at + len(head))) is not None:
            if header.kind != "mdat":
                head += self._read(header, len(head))
                kinds.append(header.kind)
                continue
            previous, before = read_fragment(init, bytes(head), header, offset=at), previous
            check_follows(previous, before)
            yield previous
            at += previous.size_bytes
            self._file.seek(at)
            head.clear()
            kinds.clear()
        if not TRAILING.issuperset(kinds):
            raise UnreadableMedia(f"the MP4 ends inside the fragment that begins at byte {at}")

    def _next_header(self, at: int) -> BoxHeader | None:
        """Peek at the next box; None at the end of the file."""
        left = self._size_bytes - at
        if left <= 0:
            return None
        start = self._file.read(min(left, LONG_HEADER_BYTES))
        self._file.seek(at)
        header = read_header(start)
        if header is None or not 0 < header.size_bytes <= left:
            kind = "" if header is None else f" {header.kind!r}"
            raise UnreadableMedia(f"the MP4 ends inside a box{kind} that begins at byte {at}")
        return header

    def _read(self, header: BoxHeader, before_bytes: int) -> bytes:
        if before_bytes + header.size_bytes > MAX_HEAD_BYTES:
            raise UnreadableMedia(
                f"a box {header.kind!r} of the MP4 has {header.size_bytes} bytes;"
                f" at most {MAX_HEAD_BYTES} are read"
            )
        return self._file.read(header.size_bytes)
