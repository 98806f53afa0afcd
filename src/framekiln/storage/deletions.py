"""Deletes blobs after their rows, also when the store fails or the process dies in between.

The transaction that deletes the row also records which blobs are left (`add`). They are deleted
right after it (`run`), and what fails then is tried again by the schedule (`run_all`). So is what
`NewBlobs` stored and nobody recorded.

A folder is deleted again a day later: a process that was still at work for the deleted owner may
have stored something there, and died before it noticed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import structlog

from framekiln.db.pool import Connection, Database
from framekiln.kit.clock import Clock
from framekiln.kit.errors import Unavailable
from framekiln.storage import deletion_store
from framekiln.storage.blob_store import BlobStore

_AT_A_TIME: Final = 500
_WORK_ENDS_WITHIN: Final = timedelta(days=1)
REFUSED_FOR: Final = timedelta(days=7)
"""For so long it is known what may not be recorded any more: its process may have been stopped."""

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


@dataclass(frozen=True)
class BlobDeletions:
    """Blobs to delete, by path: a key, or a prefix that ends with `/`."""

    database: Database
    blobs: BlobStore
    clock: Clock

    async def add(self, connection: Connection, *paths: str) -> None:
        """Record what to delete, in the transaction that deletes its rows.

        Nothing that is needed may be stored in a folder from then on.
        """
        if paths:
            again_at = self.clock.now() + _WORK_ENDS_WITHIN
            await deletion_store.insert(connection, paths, again_at=again_at)

    async def run(self, *paths: str) -> None:
        """Delete recorded blobs; what fails stays recorded."""
        try:
            await self._delete(paths)
        except Unavailable as error:
            log.warning("storage.deletion_failed", reason=error.message)

    async def run_all(self) -> None:
        """Delete what earlier attempts left, and what was not recorded in time."""
        now = self.clock.now()
        async with self.database.connection() as connection:
            await deletion_store.give_up(connection, now=now, limit=_AT_A_TIME)
            # Again: a process that was stopped while it stored a blob may have gone on since.
            before = now - REFUSED_FOR
            await deletion_store.forget_given_up(connection, before=before, limit=_AT_A_TIME)
            paths = await deletion_store.list_next(connection, limit=_AT_A_TIME)
        await self.run(*paths)

    async def _delete(self, paths: Sequence[str]) -> None:
        keys = [path for path in paths if not path.endswith("/")]
        done = await self._delete_together(keys)
        left = [path for path in paths if path.endswith("/")] if done else paths
        try:
            for path in left:
                await self._delete_path(path)
                done.append(path)
        finally:
            if done:
                async with self.database.connection() as connection:
                    await deletion_store.delete(connection, done)

    async def _delete_together(self, keys: list[str]) -> list[str]:
        """Delete blobs in few requests; if one fails, none, and each is tried on its own."""
        try:
            await self.blobs.delete_all(keys)
        except Unavailable:
            return []
        return keys

    async def _delete_path(self, path: str) -> None:
        try:
            if path.endswith("/"):
                await self.blobs.delete_prefix(path)
            else:
                await self.blobs.delete(path)
        except Unavailable:
            # Others go first next time: one that always fails must not stop them.
            async with self.database.connection() as connection:
                await deletion_store.count_attempt(connection, path)
            raise
