"""SQL of organizations and API keys. Makes no decisions; the caller owns the transaction."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from framekiln.db.pool import Connection
from framekiln.identity.model import ApiKey, Organization
from framekiln.kit.ids import ApiKeyId, OrganizationId

Row = Mapping[str, Any]

# An arbitrary number, unique among the advisory locks of the database.
DEFAULT_LOCK = 0x6B696C6E01

SELECT_KEY: Final = """
    SELECT k.id, k.organization_id, k.name, k.key_id, k.key_hash, k.created_at,
           k.last_used_at, k.revoked_at, k.user_id, k.previous_hash, k.previous_until,
           o.name AS organization_name,
           o.pipelines_enabled, o.created_at AS organization_created_at
    FROM api_key k JOIN organization o ON o.id = k.organization_id
"""


@dataclass(frozen=True)
class StoredApiKey:
    """A stored key, with its owner and its hash."""

    organization: Organization
    key: ApiKey
    key_hash: str
    previous_hash: str | None
    """Of the secret before the last rotation."""


async def lock_default(connection: Connection) -> None:
    """Serialize transactions that look for, and create, the default organization."""
    await connection.execute("SELECT pg_advisory_xact_lock(%s)", [DEFAULT_LOCK])


async def insert_organization(connection: Connection, organization: Organization) -> bool:
    """Add an organization; False if its name is taken."""
    cursor = await connection.execute(
        """
        INSERT INTO organization (id, name, pipelines_enabled, created_at)
        VALUES (%(id)s, %(name)s, %(pipelines_enabled)s, %(created_at)s)
        ON CONFLICT (name) DO NOTHING
        """,
        vars(organization),
    )
    return cursor.rowcount == 1


async def list_organizations(connection: Connection) -> list[Organization]:
    """Return all organizations, oldest first."""
    cursor = await connection.execute(
        "SELECT id, name, pipelines_enabled, created_at FROM organization ORDER BY created_at, id"
    )
    return [organization_of(row) for row in await cursor.fetchall()]


async def find_organization(
    connection: Connection, organization_id: OrganizationId
) -> Organization | None:
    """Return an organization by its id."""
    cursor = await connection.execute(
        "SELECT id, name, pipelines_enabled, created_at FROM organization WHERE id = %s",
        [organization_id],
    )
    row = await cursor.fetchone()
    return organization_of(row) if row else None


async def find_organization_by_name(connection: Connection, name: str) -> Organization | None:
    """Return an organization by its unique name."""
    cursor = await connection.execute(
        "SELECT id, name, pipelines_enabled, created_at FROM organization WHERE name = %s", [name]
    )
    row = await cursor.fetchone()
    return organization_of(row) if row else None


async def set_pipelines(
    connection: Connection, organization_id: OrganizationId, *, enabled: bool
) -> Organization | None:
    """Switch pipelines on or off; None if there is no such organization."""
    cursor = await connection.execute(
        """
        UPDATE organization SET pipelines_enabled = %s WHERE id = %s
        RETURNING id, name, pipelines_enabled, created_at
        """,
        [enabled, organization_id],
    )
    row = await cursor.fetchone()
    return organization_of(row) if row else None


async def insert_key(connection: Connection, key: ApiKey, key_hash: str) -> None:
    """Add a key with a new key id."""
    await connection.execute(
        """
        INSERT INTO api_key (id, organization_id, name, key_id, key_hash, created_at, user_id)
        VALUES (%(id)s, %(organization_id)s, %(name)s, %(key_id)s, %(key_hash)s, %(created_at)s,
                %(user_id)s)
        """,
        {**vars(key), "key_hash": key_hash},
    )


async def put_key(connection: Connection, key: ApiKey, key_hash: str) -> bool:
    """Add a key, or replace the one with its key id and make it valid again.

    Return False, without any change, if another organization's key has that key id.
    """
    cursor = await connection.execute(
        """
        INSERT INTO api_key (id, organization_id, name, key_id, key_hash, created_at)
        VALUES (%(id)s, %(organization_id)s, %(name)s, %(key_id)s, %(key_hash)s, %(created_at)s)
        ON CONFLICT (key_id) DO UPDATE
        SET key_hash = excluded.key_hash, revoked_at = NULL, previous_hash = NULL,
            previous_until = NULL
        WHERE api_key.organization_id = excluded.organization_id
        """,
        {**vars(key), "key_hash": key_hash},
    )
    return cursor.rowcount == 1


async def reuse_revoked_key(connection: Connection, key: ApiKey, key_hash: str) -> ApiKey | None:
    """Make a revoked key with the name of `key` valid again, with its text; None if there is none.

    The row and all references to it are kept. Concurrent callers get different rows.
    """
    cursor = await connection.execute(
        """
        UPDATE api_key SET key_id = %(key_id)s, key_hash = %(key_hash)s, revoked_at = NULL,
            previous_hash = NULL, previous_until = NULL
        WHERE id = (
            SELECT id FROM api_key
            WHERE organization_id = %(organization_id)s AND name = %(name)s
                AND revoked_at IS NOT NULL
            ORDER BY created_at, id LIMIT 1 FOR UPDATE SKIP LOCKED
        )
        RETURNING id, organization_id, name, key_id, created_at, last_used_at, revoked_at
        """,
        {**vars(key), "key_hash": key_hash},
    )
    row = await cursor.fetchone()
    return _key(row) if row else None


async def find_key(connection: Connection, key_id: str) -> StoredApiKey | None:
    """Return the key with this key id, revoked or not."""
    cursor = await connection.execute(f"{SELECT_KEY} WHERE k.key_id = %s", [key_id])
    return _stored_key(await cursor.fetchone())


async def find_key_by_id(connection: Connection, api_key_id: ApiKeyId) -> StoredApiKey | None:
    """Return a key by the id of its row, revoked or not."""
    cursor = await connection.execute(f"{SELECT_KEY} WHERE k.id = %s", [api_key_id])
    return _stored_key(await cursor.fetchone())


async def list_keys(connection: Connection, organization_id: OrganizationId) -> list[ApiKey]:
    """Return an organization's keys, oldest first, including revoked ones."""
    cursor = await connection.execute(
        """
        SELECT k.id, k.organization_id, k.name, k.key_id, k.created_at, k.last_used_at,
               k.revoked_at, k.user_id, u.email AS made_by, k.previous_until
        FROM api_key k LEFT JOIN user_account u ON u.id = k.user_id
        WHERE k.organization_id = %s ORDER BY k.created_at, k.id
        """,
        [organization_id],
    )
    return [_key(row) for row in await cursor.fetchall()]


async def count_valid_keys(connection: Connection, organization_id: OrganizationId) -> int:
    """Return how many keys of an organization are not revoked."""
    cursor = await connection.execute(
        "SELECT count(*) AS valid FROM api_key WHERE organization_id = %s AND revoked_at IS NULL",
        [organization_id],
    )
    row = await cursor.fetchone()
    assert row is not None
    return int(row["valid"])


async def replace_secret(
    connection: Connection, key: ApiKey, key_hash: str, *, previous_until: datetime | None
) -> None:
    """Give a key another secret; the one before works until the given time."""
    await connection.execute(
        """
        UPDATE api_key SET
            previous_hash = CASE WHEN %(until)s::timestamptz IS NULL THEN NULL ELSE key_hash END,
            previous_until = %(until)s, key_hash = %(key_hash)s
        WHERE id = %(id)s
        """,
        {"id": key.id, "key_hash": key_hash, "until": previous_until},
    )


async def touch_key(
    connection: Connection, key: ApiKeyId, *, now: datetime, every: timedelta
) -> None:
    """Set `last_used_at` to now, unless it was set less than `every` ago."""
    await connection.execute(
        """
        UPDATE api_key SET last_used_at = %(now)s
        WHERE id = %(id)s AND (last_used_at IS NULL OR last_used_at <= %(before)s)
        """,
        {"id": key, "now": now, "before": now - every},
    )


async def revoke_key(connection: Connection, key_id: str, *, now: datetime) -> ApiKey | None:
    """Revoke a key; the time of the first revocation is kept. None if there is no such key."""
    cursor = await connection.execute(
        """
        UPDATE api_key SET revoked_at = COALESCE(revoked_at, %s) WHERE key_id = %s
        RETURNING id, organization_id, name, key_id, created_at, last_used_at, revoked_at
        """,
        [now, key_id],
    )
    row = await cursor.fetchone()
    return _key(row) if row else None


def _stored_key(row: Row | None) -> StoredApiKey | None:
    if row is None:
        return None
    organization = Organization(
        id=OrganizationId(row["organization_id"]),
        name=row["organization_name"],
        pipelines_enabled=row["pipelines_enabled"],
        created_at=row["organization_created_at"],
    )
    return StoredApiKey(
        organization=organization,
        key=_key(row),
        key_hash=row["key_hash"],
        previous_hash=row["previous_hash"],
    )


def organization_of(row: Row) -> Organization:
    """Return the organization of a row."""
    return Organization(
        id=OrganizationId(row["id"]),
        name=row["name"],
        pipelines_enabled=row["pipelines_enabled"],
        created_at=row["created_at"],
    )


def _key(row: Row) -> ApiKey:
    return ApiKey(
        id=ApiKeyId(row["id"]),
        organization_id=OrganizationId(row["organization_id"]),
        name=row["name"],
        key_id=row["key_id"],
        created_at=row["created_at"],
        last_used_at=row["last_used_at"],
        revoked_at=row["revoked_at"],
        user_id=row.get("user_id"),
        made_by=row.get("made_by"),
        previous_until=row.get("previous_until"),
    )
