"""Reads a whole track file from disk: its init segment, then its fragments.

Only the sample tables are read; the samples themselves are skipped, so a large file costs little.
The checks are those of `FragmentSplitter`.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from framekiln.media.errors import UnreadableMedia
from framekiln.media.isobmff.boxes import LONG_HEADER_BYTES, BoxHeader, read_header
from framekiln.media.isobmff.fragments import MovieFragment, check_follows, read_fragment
from framekiln.media.isobmff.splitter import MAX_HEAD_BYTES, TRAILING
from framekiln.media.isobmff.track_init import TrackInit, parse_init


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
