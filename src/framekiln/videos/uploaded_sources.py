"""Sources that come with a request: kept like those that were downloaded, for a day.

Their addresses are ours and mean nothing to anybody else; renders find them where they look for
everything that was fetched.
"""

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final

from framekiln.files.ingest import Ingest
from framekiln.kit.ids import OrganizationId, new_uuid

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

    ingest: Ingest

    async def store(
        self, organization_id: OrganizationId, upload: UploadedSource, *, address: str
    ) -> None:
        """Store a file under an address from `new_upload_address`."""
        await self.ingest.store(
            organization_id,
            address,
            upload.path,
            content_type=upload.content_type,
            retention=RETENTION,
        )
