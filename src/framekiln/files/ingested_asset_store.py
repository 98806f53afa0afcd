"""The SQL of ingested assets."""

import hashlib
from datetime import datetime
from typing import Any

from framekiln.db.pool import Connection
from framekiln.files.model import IngestedAsset
from framekiln.kit.ids import OrganizationId


async def find_valid(
    connection: Connection, organization_id: OrganizationId, url: str, *, now: datetime
) -> IngestedAsset | None:
    """Return the newest asset of the URL that has not expired."""
    cursor = await connection.execute(
        """
        SELECT * FROM ingested_asset
        WHERE organization_id = %s AND url_sha256 = %s AND url = %s AND expires_at > %s
        ORDER BY expires_at DESC LIMIT 1
        """,
        (organization_id, _digest(url), url, now),
    )
    row = await cursor.fetchone()
    return _asset(row) if row else None


async def insert(connection: Connection, asset: IngestedAsset) -> None:
    """Record a finished download."""
    await connection.execute(
        """
        INSERT INTO ingested_asset (id, organization_id, url, url_sha256, blob_key, content_type,
            byte_size, created_at, expires_at)
        VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)
        """,
        (
            asset.id,
            asset.organization_id,
            asset.url,
            _digest(asset.url),
            asset.blob_key,
            asset.content_type,
            asset.byte_size,
            asset.created_at,
            asset.expires_at,
        ),
    )


async def delete_expired(connection: Connection, *, now: datetime, limit: int) -> list[str]:
    """Delete the rows of expired assets and return their blob keys."""
    cursor = await connection.execute(
        """
        DELETE FROM ingested_asset WHERE id IN (
            SELECT id FROM ingested_asset WHERE expires_at <= %s ORDER BY expires_at LIMIT %s
            FOR UPDATE SKIP LOCKED)
        RETURNING blob_key
        """,
        (now, limit),
    )
    return [row["blob_key"] for row in await cursor.fetchall()]


def _digest(url: str) -> bytes:
    return hashlib.sha256(url.encode()).digest()


def _asset(row: dict[str, Any]) -> IngestedAsset:
    return IngestedAsset(
        id=row["id"],
        organization_id=OrganizationId(row["organization_id"]),
        url=row["url"],
        blob_key=row["blob_key"],
        content_type=row["content_type"],
        byte_size=row["byte_size"],
        created_at=row["created_at"],
        expires_at=row["expires_at"],
    )
