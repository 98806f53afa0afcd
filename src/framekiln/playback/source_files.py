"""Sources on the disk of a worker: fetched once, cached while there is space, shared by its jobs.

Without it every segment would cost a download of the whole source. Blobs in a folder on the same
file system are not copied.
"""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from uuid import uuid4

from framekiln.storage.blob_store import BlobStore

MAX_BYTES: Final = 4 << 30


@dataclass
class _Kept:
    """One source; its lock is held while it is fetched."""

    path: Path
    size_bytes: int = 0
    users: int = 0
    fetching: asyncio.Lock = field(default_factory=asyncio.Lock)


class SourceFiles:
    """Caches sources in its own folder."""

    def __init__(self, blobs: BlobStore, folder: Path, *, max_bytes: int = MAX_BYTES) -> None:
        self._blobs = blobs
        self._folder = folder
        self._max_bytes = max_bytes
        self._kept: OrderedDict[str, _Kept] = OrderedDict()

    @asynccontextmanager
    async def local(self, key: str) -> AsyncIterator[Path]:
        """Yield the path of a blob's content, which is read-only and stays during the block."""
        kept = self._kept.setdefault(key, _Kept(self._folder / uuid4().hex))
        self._kept.move_to_end(key)
        kept.users += 1
        try:
            async with kept.fetching:
                if not kept.size_bytes:
                    await self._fetch(key, kept)
            yield kept.path
        finally:
            kept.users -= 1
            self._make_room()

    async def _fetch(self, key: str, kept: _Kept) -> None:
        await self._blobs.get_to_read(key, kept.path)
        kept.size_bytes = kept.path.stat().st_size

    def _make_room(self) -> None:
        """Remove the least recently used sources until the rest fits."""
        total = sum(kept.size_bytes for kept in self._kept.values())
        for key, kept in list(self._kept.items()):
            if kept.users or (total <= self._max_bytes and kept.size_bytes):
                continue
            kept.path.unlink(missing_ok=True)
            total -= kept.size_bytes
            del self._kept[key]
