"""Cache of slices and sounds by digest.

Entries expire a day after their last use, or when the organization's limit is exceeded.

Whoever uses one gets a copy under a key of its own, so nothing that is removed here is missed.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import structlog

from framekiln.db.pool import Database
from framekiln.kit.clock import Clock
from framekiln.kit.errors import FramekilnError
from framekiln.kit.ids import OrganizationId, new_uuid
from framekiln.renders import part_cache_store
from framekiln.renders.part_cache_store import CachedPart
from framekiln.storage.blob_store import BlobStore
from framekiln.storage.errors import BlobNotFound

log = structlog.get_logger(__name__)

RETENTION: Final = timedelta(days=1)
MAX_BYTES: Final = 2 << 30
"""For each organization."""
_REMOVED_AT_A_TIME: Final = 500


@dataclass(frozen=True)
class PartCache:
    """The parts of all organizations; none sees another's."""

    database: Database
    blobs: BlobStore
    clock: Clock
    max_bytes: int = MAX_BYTES

    async def copy_to(
        self, organization_id: OrganizationId, digest: str, *, to_key: str
    ) -> dict[str, Any] | None:
        """Copy a part to a key and return how it was made; None when there is none."""
        async with self.database.transaction() as connection:
            part = await part_cache_store.find_and_touch(
                connection, organization_id, digest, now=self.clock.now()
            )
        if part is None:
            return None
        try:
            await self.blobs.copy(part.blob_key, to_key)
        except BlobNotFound:
            # Its maker died between the row and the bytes; the next one keeps it anew.
            async with self.database.transaction() as connection:
                await part_cache_store.delete(connection, part)
            return None
        return part.record

    async def add(
        self, organization_id: OrganizationId, digest: str, *, key: str, record: dict[str, Any]
    ) -> None:
        """Keep a copy of what is under a key. A film never fails for it."""
        try:
            await self._add(organization_id, digest, key, record)
        except FramekilnError as error:
            log.warning("could not cache a part", digest=digest, reason=error.message)

    async def evict_unused(self) -> int:
        """Remove what was not used for long, or is too much; return how many parts went."""
        async with self.database.transaction() as connection:
            keys = await part_cache_store.delete_unused(
                connection,
                used_before=self.clock.now() - RETENTION,
                most_bytes=self.max_bytes,
                limit=_REMOVED_AT_A_TIME,
            )
        for key in keys:
            await self.blobs.delete(key)
        return len(keys)

    async def _add(
        self, organization_id: OrganizationId, digest: str, key: str, record: dict[str, Any]
    ) -> None:
        info = await self.blobs.info(key)
        if info is None:
            return
        part = CachedPart(
            organization_id=organization_id,
            digest=digest,
            blob_key=f"org/{organization_id}/kept/{new_uuid()}",
            byte_size=info.size_bytes,
            record=record,
        )
        # The row first: no blob is left without one that leads to it.
        async with self.database.transaction() as connection:
            is_new = await part_cache_store.insert(connection, part, now=self.clock.now())
        if not is_new:
            return
        await self.blobs.copy(key, part.blob_key)
        async with self.database.connection() as connection:
            is_kept = await part_cache_store.is_cached(connection, part)
        if not is_kept:
            await self.blobs.delete(part.blob_key)
