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
from framekiln.files.ingested import store
from framekiln.files.ingested.model import IngestedAsset, asset_key
from framekiln.kit.clock import Clock
from framekiln.kit.ids import OrganizationId, new_uuid
from framekiln.storage.blob_store import BlobStore
from framekiln.storage.recording import recording

SCHEME: Final = "upload:"
RETENTION: Final = timedelta(days=1)


@dataclass(frozen=True)
class Upload:
    """A file that came with a request; what it is called is not believed."""

    path: Path
    content_type: str | None


def new_address() -> str:
    """Return an address for a source that is about to be kept."""
    return f"{SCHEME}{new_uuid()}"


@dataclass(frozen=True)
class UploadedSources:
    """Keeps what was uploaded for one video."""

    database: Database
    blobs: BlobStore
    clock: Clock

    async def keep(self, organization_id: OrganizationId, upload: Upload, *, address: str) -> None:
        """Store a file under an address from `new_address`."""
        asset_id = new_uuid()
        path = upload.path
        now = self.clock.now()
        asset = IngestedAsset(
            id=asset_id,
            organization_id=organization_id,
            url=address,
            blob_key=asset_key(organization_id, asset_id),
            content_type=upload.content_type or "application/octet-stream",
            byte_size=(await asyncio.to_thread(path.stat)).st_size,
            created_at=now,
            expires_at=now + RETENTION,
        )
        await self.blobs.put_file(asset.blob_key, path)
        async with (
            recording(self.blobs, asset.blob_key),
            self.database.transaction() as connection,
        ):
            await store.insert(connection, asset)
