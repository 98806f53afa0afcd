"""A ZIP file that is sent while it is made: no file is held whole, in memory or on disk."""

import zipfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

# Members of this size need the long form of their header, which some programs do not read.
_LONG_BYTES: Final = 1 << 31


@dataclass(frozen=True)
class ArchiveMember:
    """One file of an archive."""

    name: str
    size_bytes: int
    content: AsyncIterator[bytes]


class _Output:
    """Takes what `zipfile` writes; without `tell`, it does not try to go back."""

    def __init__(self) -> None:
        self._written: list[bytes] = []

    def write(self, data: bytes, /) -> int:
        self._written.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        """Do nothing: `take` does it."""

    def close(self) -> None:
        """Do nothing: there is nothing open."""

    def take(self) -> bytes:
        data = b"".join(self._written)
        self._written.clear()
        return data


async def stream_archive(
    members: AsyncIterator[ArchiveMember], *, at: datetime
) -> AsyncIterator[bytes]:
    """Yield an archive of the members, uncompressed: films are compressed already."""
    output = _Output()
    with zipfile.ZipFile(output, "w", zipfile.ZIP_STORED) as archive:
        async for member in members:
            info = zipfile.ZipInfo(member.name, at.timetuple()[:6])
            info.file_size = member.size_bytes
            is_long = member.size_bytes >= _LONG_BYTES
            with archive.open(info, "w", force_zip64=is_long) as target:
                async for chunk in member.content:
                    target.write(chunk)
                    yield output.take()
            yield output.take()
    yield output.take()
