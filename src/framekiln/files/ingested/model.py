"""What is known of an asset that was fetched."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from framekiln.kit.ids import OrganizationId


@dataclass(frozen=True)
class IngestedAsset:
    """A downloaded source; valid, and not downloaded again, until it expires."""

    id: UUID
    organization_id: OrganizationId
    url: str
    blob_key: str
    content_type: str
    byte_size: int
    created_at: datetime
    expires_at: datetime


def asset_key(organization: OrganizationId, asset: UUID) -> str:
    """Return where the bytes of an ingested asset are kept."""
    return f"org/{organization}/assets/{asset}"
