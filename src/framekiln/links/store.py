"""SQL of links. Makes no decisions; the caller owns the transaction."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from psycopg.types.json import Jsonb

from framekiln.db.pool import Connection
from framekiln.kit.ids import ApiKeyId, OrganizationId
from framekiln.links.model import Link, LinkId, LinkTarget, NewLink


async def insert_link(
    connection: Connection, link_id: LinkId, new: NewLink, *, now: datetime, expires_at: datetime
) -> Link:
    """Add a link."""
    cursor = await connection.execute(
        """
        INSERT INTO link (id, organization_id, api_key_id, user_id, segments, params, created_at,
                          expires_at)
        VALUES (%(id)s, %(organization_id)s, %(api_key_id)s, %(user_id)s, %(segments)s, %(params)s,
                %(created_at)s, %(expires_at)s)
        RETURNING *
        """,
        {
            "id": link_id,
            "organization_id": new.organization_id,
            "api_key_id": new.api_key_id,
            "user_id": new.user_id,
            "segments": list(new.target.segments),
            "params": Jsonb({name: list(values) for name, values in new.target.params.items()}),
            "created_at": now,
            "expires_at": expires_at,
        },
    )
    row = await cursor.fetchone()
    assert row is not None
    return _link(row)


async def count_valid(
    connection: Connection, organization_id: OrganizationId, *, now: datetime
) -> int:
    """Return how many links of an organization are neither expired nor revoked."""
    cursor = await connection.execute(
        """
        SELECT count(*) AS found FROM link
        WHERE organization_id = %s AND expires_at > %s AND revoked_at IS NULL
        """,
        [organization_id, now],
    )
    row = await cursor.fetchone()
    assert row is not None
    return int(row["found"])


async def find_link(connection: Connection, link_id: LinkId) -> Link | None:
    """Return a link of any organization."""
    cursor = await connection.execute("SELECT * FROM link WHERE id = %s", [link_id])
    row = await cursor.fetchone()
    return _link(row) if row else None


async def list_links(
    connection: Connection, organization_id: OrganizationId, *, limit: int, before: int | None
) -> list[Link]:
    """Return links of an organization, newest first, from a position on."""
    cursor = await connection.execute(
        """
        SELECT * FROM link
        WHERE organization_id = %(organization_id)s
            AND (%(before)s::bigint IS NULL OR position < %(before)s)
        ORDER BY position DESC LIMIT %(limit)s
        """,
        {"organization_id": organization_id, "before": before, "limit": limit},
    )
    return [_link(row) for row in await cursor.fetchall()]


async def revoke_link(
    connection: Connection, organization_id: OrganizationId, link_id: LinkId, *, now: datetime
) -> bool:
    """Revoke a link; the time of the first revocation is kept. False if there is no such link."""
    cursor = await connection.execute(
        """
        UPDATE link SET revoked_at = COALESCE(revoked_at, %s)
        WHERE organization_id = %s AND id = %s
        """,
        [now, organization_id, link_id],
    )
    return cursor.rowcount == 1


async def delete_expired(connection: Connection, *, before: datetime) -> int:
    """Delete links that expired before a time; return how many."""
    cursor = await connection.execute("DELETE FROM link WHERE expires_at < %s", [before])
    return cursor.rowcount


def _link(row: Mapping[str, Any]) -> Link:
    key = row["api_key_id"]
    return Link(
        id=LinkId(row["id"]),
        position=row["position"],
        organization_id=OrganizationId(row["organization_id"]),
        api_key_id=None if key is None else ApiKeyId(key),
        target=LinkTarget(tuple(row["segments"]), row["params"]),
        created_at=row["created_at"],
        expires_at=row["expires_at"],
        revoked_at=row["revoked_at"],
    )
