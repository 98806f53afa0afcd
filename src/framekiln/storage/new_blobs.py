"""Stores blobs before a transaction records them: what is never recorded is deleted.

A process can die between both. So the key of a new blob is registered before it is written. The
transaction that writes the key into a row takes the registration away, by a trigger on the column
(migration 0050); so nobody can forget it. A day later `BlobDeletions.run_all` deletes the blobs of
the registrations that are left. Nothing can be recorded from then on: the trigger refuses it.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final

import structlog

from framekiln.db.pool import Database
from framekiln.kit.clock import Clock
from framekiln.kit.errors import Unavailable
from framekiln.storage import deletion_store
from framekiln.storage.blob_store import BlobStore
from framekiln.storage.deletions import BlobDeletions
from framekiln.storage.keys import NewKey, TrackedKey, check_key, check_prefix

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)

RECORDED_WITHIN: Final = timedelta(days=1)
"""Longer than it takes to store any blob: it is registered right before that."""


@dataclass(frozen=True)
class NewBlobs:
    """Stores blobs under new keys, which a row must name within a day."""

    database: Database
    blobs: BlobStore
    clock: Clock

    async def put(self, key: NewKey, data: bytes) -> None:
        """Register the key and store `data`."""
        [tracked] = await self.register(key)
        await self.blobs.put(tracked, data)

    async def put_file(self, key: NewKey, path: Path) -> None:
        """Register the key and store the content of a local file."""
        [tracked] = await self.register(key)
        await self.blobs.put_file(tracked, path)

    async def copy(self, key: str, to_key: NewKey) -> None:
        """Register the other key and copy a blob to it."""
        [tracked] = await self.register(to_key)
        await self.blobs.copy(key, tracked)

    @asynccontextmanager
    async def recording(self, *paths: str) -> AsyncIterator[None]:
        """Wrap what records new blobs, or the owner of a folder: discard them if it fails."""
        try:
            yield
        except Unavailable:
            # The database or the store would fail again; what is not recorded is deleted later.
            raise
        except Exception:
            await self.discard(*paths)
            raise

    async def discard(self, *paths: str) -> None:
        """Delete new blobs that nobody wants to record any more; those that are recorded stay."""
        try:
            async with self.database.connection() as connection:
                unrecorded = await deletion_store.take_unrecorded(connection, paths)
        except Unavailable as error:
            # It is deleted later, like anything that is not recorded.
            log.warning("storage.deletion_failed", reason=error.message)
            return
        await BlobDeletions(self.database, self.blobs, self.clock).run(*unrecorded)

    async def register(self, *keys: NewKey) -> list[TrackedKey]:
        """Register keys in one statement; return them as keys to store blobs under."""
        tracked = [TrackedKey(check_key(key)) for key in keys]
        await self._register(tracked)
        return tracked

    async def register_folders(self, *folders: str) -> None:
        """Register folders of owners whose rows are inserted later, in one statement.

        The trigger of the owner's table takes the registration away. Until then, all under them is
        deleted after a day.
        """
        await self._register([f"{check_prefix(folder)}/" for folder in folders])

    async def _register(self, paths: Sequence[str]) -> None:
        if not paths:
            return
        delete_at = self.clock.now() + RECORDED_WITHIN
        async with self.database.connection() as connection:
            await deletion_store.register(connection, paths, delete_at=delete_at)
