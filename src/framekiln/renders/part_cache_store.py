"""The SQL of cached parts."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg.types.json import Jsonb

from framekiln.db.pool import Connection
from framekiln.kit.ids import OrganizationId


@dataclass(frozen=True)
class CachedPart:
    """A slice or a sound that other films may reuse."""

    organization_id: OrganizationId
    digest: str
    blob_key: str
    byte_size: int
    record: dict[str, Any]
    """How it was made."""


async def find_and_touch(
    connection: Connection, organization_id: OrganizationId, digest: str, *, now: datetime
) -> CachedPart | None:
    """Return a cached part, and record its use."""
    cursor = await connection.execute(
        """
        UPDATE kept_part SET used_at = greatest(used_at, %(now)s)
        WHERE organization_id = %(organization_id)s AND digest = %(digest)s
        RETURNING *
        """,
        {"organization_id": organization_id, "digest": digest, "now": now},
    )
    row = await cursor.fetchone()
    return None if row is None else _part(row)


async def find_all_and_touch(
    connection: Connection,
    organization_id: OrganizationId,
    digests: Sequence[str],
    *,
    now: datetime,
    touched_before: datetime,
) -> dict[str, CachedPart]:
    """Return cached parts by digest, and record the use of those not used since then."""
    wanted = {"organization_id": organization_id, "digests": list(digests)}
    # Another transaction that has locked a row records its use.
    await connection.execute(
        """
        WITH stale AS (
            SELECT organization_id, digest FROM kept_part
            WHERE organization_id = %(organization_id)s AND digest = ANY(%(digests)s)
                AND used_at < %(touched_before)s
            FOR NO KEY UPDATE SKIP LOCKED)
        UPDATE kept_part SET used_at = %(now)s FROM stale
        WHERE kept_part.organization_id = stale.organization_id
            AND kept_part.digest = stale.digest
        """,
        {**wanted, "now": now, "touched_before": touched_before},
    )
    cursor = await connection.execute(
        """
        SELECT * FROM kept_part
        WHERE organization_id = %(organization_id)s AND digest = ANY(%(digests)s)
        """,
        wanted,
    )
    return {row["digest"]: _part(row) for row in await cursor.fetchall()}


async def insert(connection: Connection, part: CachedPart, *, now: datetime) -> bool:
    """Insert a part; False when one with that digest exists."""
    cursor = await connection.execute(
        """
        INSERT INTO kept_part (organization_id, digest, blob_key, byte_size, record, used_at)
        VALUES (%s, %s, %s, %s, %s, %s)
        ON CONFLICT (organization_id, digest) DO NOTHING
        """,
        (
            part.organization_id,
            part.digest,
            part.blob_key,
            part.byte_size,
            Jsonb(part.record),
            now,
        ),
    )
    return cursor.rowcount == 1


async def is_cached(connection: Connection, organization_id: OrganizationId, digest: str) -> bool:
    """Return whether there is a part with that digest."""
    cursor = await connection.execute(
        "SELECT 1 FROM kept_part WHERE organization_id = %s AND digest = %s",
        (organization_id, digest),
    )
    return await cursor.fetchone() is not None


async def delete(connection: Connection, part: CachedPart) -> None:
    """Delete a part whose blob is missing, unless a newer one has replaced it."""
    await connection.execute(
        "DELETE FROM kept_part WHERE organization_id = %s AND digest = %s AND blob_key = %s",
        (part.organization_id, part.digest, part.blob_key),
    )


async def delete_unused(
    connection: Connection, *, used_before: datetime, max_bytes: int, limit: int
) -> list[str]:
    """Delete parts that were not used for long, and those above their organization's limit.

    Least recently used parts go first. Returns the keys of their blobs.
    """
    cursor = await connection.execute(
        """
        DELETE FROM kept_part WHERE (organization_id, digest) IN (
            SELECT organization_id, digest FROM (
                SELECT organization_id, digest, used_at, sum(byte_size) OVER (
                    PARTITION BY organization_id ORDER BY used_at DESC, digest) AS bytes_so_far
                FROM kept_part) AS ranked
            WHERE used_at <= %(used_before)s OR bytes_so_far > %(max_bytes)s
            ORDER BY used_at LIMIT %(limit)s)
        RETURNING blob_key
        """,
        {"used_before": used_before, "max_bytes": max_bytes, "limit": limit},
    )
    return [row["blob_key"] for row in await cursor.fetchall()]


def _part(row: dict[str, Any]) -> CachedPart:
    return CachedPart(
        organization_id=OrganizationId(row["organization_id"]),
        digest=row["digest"],
        blob_key=row["blob_key"],
        byte_size=row["byte_size"],
        record=row["record"],
    )
