"""Downloads sources by URL, once per organization and hour, for all its renders.

Every download goes through the guarded fetcher. Nothing is decoded here.
"""

import asyncio
import tempfile
from datetime import timedelta
from pathlib import Path
from typing import Final

from framekiln.db.advisory_locks import AdvisoryLocks
from framekiln.db.pool import Database
from framekiln.engine.assets import DOWNLOAD_WITHIN_S, MAX_ASSET_BYTES
from framekiln.files import ingested_asset_store
from framekiln.files.model import IngestedAsset, ingested_asset_key
from framekiln.kit.clock import Clock
from framekiln.kit.fair_places import FairPlaces
from framekiln.kit.fetch import GuardedFetcher
from framekiln.kit.ids import OrganizationId, new_uuid
from framekiln.quotas.service import Quotas
from framekiln.storage.blob_store import BlobStore
from framekiln.storage.deletions import BlobDeletions
from framekiln.storage.new_blobs import NewBlobs

RETENTION: Final = timedelta(hours=1)
# A slow server may take all places of an organization, and nobody else's: jobs end long before the
# organizations with slow servers are so many that they fill all places.
_DOWNLOADS_AT_A_TIME: Final = 64
_OF_AN_ORGANIZATION: Final = 4
_REMOVED_AT_A_TIME: Final = 200


class Ingest:
    """Downloads sources, or finds those that are already stored."""

    def __init__(
        self,
        database: Database,
        *,
        locks: AdvisoryLocks,
        blobs: BlobStore,
        fetcher: GuardedFetcher,
        clock: Clock,
        quotas: Quotas,
    ) -> None:
        self.quotas = quotas
        self._database = database
        self._fetcher = fetcher
        self._clock = clock
        self._deletions = BlobDeletions(database, blobs, clock)
        self._new_blobs = NewBlobs(database, blobs, clock)
        self._locks = locks
        self._places = FairPlaces(_DOWNLOADS_AT_A_TIME, most_of_owner=_OF_AN_ORGANIZATION)

    async def get(self, organization_id: OrganizationId, url: str) -> IngestedAsset:
        """Return the asset of a URL; raises the errors of the fetcher."""
        if found := await self.find(organization_id, url):
            return found
        async with (
            self._places.place(organization_id),
            self._locks.lock(f"ingest:{organization_id}:{url}"),
        ):
            # Another download may have finished while this one waited.
            return await self.find(organization_id, url) or await self._download(
                organization_id, url
            )

    async def remove_expired(self) -> int:
        """Delete expired assets; return how many."""
        async with self._database.transaction() as connection:
            keys = await ingested_asset_store.delete_expired(
                connection, now=self._clock.now(), limit=_REMOVED_AT_A_TIME
            )
            await self._deletions.add(connection, *keys)
        await self._deletions.run(*keys)
        return len(keys)

    async def find(self, organization_id: OrganizationId, url: str) -> IngestedAsset | None:
        """Return the stored asset of a URL, if there is one."""
        async with self._database.connection() as connection:
            return await ingested_asset_store.find_valid(
                connection, organization_id, url, now=self._clock.now()
            )

    async def store(
        self,
        organization_id: OrganizationId,
        url: str,
        path: Path,
        *,
        content_type: str | None,
        retention: timedelta,
    ) -> IngestedAsset:
        """Store a local file as what is behind a URL."""
        asset_id = new_uuid()
        key = ingested_asset_key(organization_id, asset_id)
        size_bytes = (await asyncio.to_thread(path.stat)).st_size
        await self._new_blobs.put_file(key, path)
        now = self._clock.now()
        asset = IngestedAsset(
            id=asset_id,
            organization_id=organization_id,
            url=url,
            blob_key=key,
            content_type=content_type or "application/octet-stream",
            byte_size=size_bytes,
            created_at=now,
            expires_at=now + retention,
        )
        async with (
            self._new_blobs.recording(key),
            self._database.transaction() as connection,
        ):
            await ingested_asset_store.insert(connection, asset)
        return asset

    async def _download(self, organization_id: OrganizationId, url: str) -> IngestedAsset:
        await self.quotas.check_downloads(organization_id)
        with tempfile.TemporaryDirectory(prefix="framekiln-ingest-") as folder:
            path = Path(folder) / "asset"
            fetched = await self._fetcher.download(
                url, path, max_bytes=MAX_ASSET_BYTES, within_s=DOWNLOAD_WITHIN_S
            )
            await self.quotas.record_download(organization_id, path.stat().st_size)
            return await self.store(
                organization_id,
                url,
                path,
                content_type=fetched.content_type,
                retention=RETENTION,
            )
