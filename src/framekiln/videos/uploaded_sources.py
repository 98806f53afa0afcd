"""Sources that are uploaded with a request: stored for a day, like downloaded ones.

Their URLs are internal; renders find them among the downloaded sources.
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
    """A file that was uploaded with a request; its name is not trusted."""

    path: Path
    content_type: str | None


def new_upload_address() -> str:
    """Return a URL for a source that is about to be stored."""
    return f"{SCHEME}{new_uuid()}"


@dataclass(frozen=True)
class UploadedSources:
    """Stores the uploads of one video."""

    ingest: Ingest

    async def store(
        self, organization_id: OrganizationId, upload: UploadedSource, *, address: str
    ) -> None:
        """Store a file under a URL from `new_upload_address`."""
        await self.ingest.store(
            organization_id,
            address,
            upload.path,
            content_type=upload.content_type,
            retention=RETENTION,
        )
