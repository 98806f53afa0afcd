"""Slices and sounds by digest: kept for a day after their last use, up to a size.

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
from framekiln.renders.reuse import store
from framekiln.renders.reuse.store import KeptPart
from framekiln.storage.blob_store import BlobStore
from framekiln.storage.errors import BlobNotFound

log = structlog.get_logger(__name__)

RETENTION: Final = timedelta(days=1)
MOST_BYTES: Final = 2 << 30
"""For each organization."""
_REMOVED_AT_A_TIME: Final = 500


@dataclass(frozen=True)
class KeptParts:
    """The parts of all organizations; none sees another's."""

    database: Database
    blobs: BlobStore
    clock: Clock
    most_bytes: int = MOST_BYTES

    async def fetch(
        self, organization_id: OrganizationId, digest: str, *, to_key: str
    ) -> dict[str, Any] | None:
        """Copy a part to a key and return how it was made; None when there is none."""
        async with self.database.transaction() as connection:
            part = await store.use(connection, organization_id, digest, now=self.clock.now())
        if part is None:
            return None
        try:
            await self.blobs.copy(part.blob_key, to_key)
        except BlobNotFound:
            # Its maker died between the row and the bytes; the next one keeps it anew.
            async with self.database.transaction() as connection:
                await store.forget(connection, part)
            return None
        return part.record

    async def keep(
        self, organization_id: OrganizationId, digest: str, *, key: str, record: dict[str, Any]
    ) -> None:
        """Keep a copy of what is under a key. A film never fails for it."""
        try:
            await self._keep(organization_id, digest, key, record)
        except FramekilnError as error:
            log.warning("a part is not kept", digest=digest, reason=error.message)

    async def remove_unused(self) -> int:
        """Remove what was not used for long, or is too much; return how many parts went."""
        async with self.database.transaction() as connection:
            keys = await store.take_unused(
                connection,
                used_before=self.clock.now() - RETENTION,
                most_bytes=self.most_bytes,
                limit=_REMOVED_AT_A_TIME,
            )
        for key in keys:
            await self.blobs.delete(key)
        return len(keys)

    async def _keep(
        self, organization_id: OrganizationId, digest: str, key: str, record: dict[str, Any]
    ) -> None:
        info = await self.blobs.info(key)
        if info is None:
            return
        part = KeptPart(
            organization_id=organization_id,
            digest=digest,
            blob_key=f"org/{organization_id}/kept/{new_uuid()}",
            byte_size=info.size_bytes,
            record=record,
        )
        # The row first: no blob is left without one that leads to it.
        async with self.database.transaction() as connection:
            is_new = await store.insert(connection, part, now=self.clock.now())
        if not is_new:
            return
        await self.blobs.copy(key, part.blob_key)
        async with self.database.connection() as connection:
            is_kept = await store.holds(connection, part)
        if not is_kept:
            await self.blobs.delete(part.blob_key)
