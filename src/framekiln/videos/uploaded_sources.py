"""Sources that come with a request: kept like those that were downloaded, for a day.

Their addresses are ours and mean nothing to anybody else; renders find them where they look for
everything that was fetched.
"""

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final

from framekiln.db.pool import Database
from framekiln.files import ingested_asset_store
from framekiln.files.model import IngestedAsset, ingested_asset_key
from framekiln.kit.clock import Clock
from framekiln.kit.ids import OrganizationId, new_uuid
from framekiln.storage.blob_store import BlobStore, delete_unless_recorded

SCHEME: Final = "upload:"
RETENTION: Final = timedelta(days=1)


@dataclass(frozen=True)
class UploadedSource:
    """A file that came with a request; what it is called is not believed."""

    path: Path
    content_type: str | None


def new_upload_address() -> str:
    """Return an address for a source that is about to be kept."""
    return f"{SCHEME}{new_uuid()}"


@dataclass(frozen=True)
class UploadedSources:
    """Keeps what was uploaded for one video."""

    database: Database
    blobs: BlobStore
    clock: Clock

    async def store(
        self, organization_id: OrganizationId, upload: UploadedSource, *, address: str
    ) -> None:
        """Store a file under an address from `new_upload_address`."""
        asset_id = new_uuid()
        path = upload.path
        now = self.clock.now()
        asset = IngestedAsset(
            id=asset_id,
            organization_id=organization_id,
            url=address,
            blob_key=ingested_asset_key(organization_id, asset_id),
            content_type=upload.content_type or "application/octet-stream",
            byte_size=(await asyncio.to_thread(path.stat)).st_size,
            created_at=now,
            expires_at=now + RETENTION,
        )
        await self.blobs.put_file(asset.blob_key, path)
        async with (
            delete_unless_recorded(self.blobs, asset.blob_key),
            self.database.transaction() as connection,
        ):
            await ingested_asset_store.insert(connection, asset)
