"""SQL of quotas. Makes no decisions; the caller owns the transaction."""

from datetime import datetime

from framekiln.db.pool import Connection
from framekiln.kit.ids import OrganizationId
from framekiln.quotas.model import Quota


async def lock(connection: Connection, organization_id: OrganizationId) -> None:
    """Let one transaction at a time check the quotas of an organization."""
    await connection.execute(
        "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (f"quota:{organization_id}",)
    )


async def lock_and_find_limits(
    connection: Connection, organization_id: OrganizationId
) -> dict[str, int | None]:
    """Do both in one statement."""
    cursor = await connection.execute(
        """
        SELECT name, amount, locked.done::text
        FROM (SELECT pg_advisory_xact_lock(hashtextextended(%s, 0)) AS done) AS locked
        LEFT JOIN organization_quota ON organization_id = %s
        """,
        (f"quota:{organization_id}", organization_id),
    )
    return {row["name"]: row["amount"] for row in await cursor.fetchall()}


async def find_limits(
    connection: Connection, organization_id: OrganizationId
) -> dict[str, int | None]:
    """Return the limits that differ from the defaults, by the name of the quota."""
    cursor = await connection.execute(
        "SELECT name, amount FROM organization_quota WHERE organization_id = %s",
        (organization_id,),
    )
    return {row["name"]: row["amount"] for row in await cursor.fetchall()}


async def set_limit(
    connection: Connection, organization_id: OrganizationId, quota: Quota, amount: int | None
) -> None:
    """Store a limit; None means no limit."""
    await connection.execute(
        """
        INSERT INTO organization_quota (organization_id, name, amount) VALUES (%s, %s, %s)
        ON CONFLICT (organization_id, name) DO UPDATE SET amount = excluded.amount
        """,
        (organization_id, quota, amount),
    )


async def remove_limit(
    connection: Connection, organization_id: OrganizationId, quota: Quota
) -> None:
    """Return to the default."""
    await connection.execute(
        "DELETE FROM organization_quota WHERE organization_id = %s AND name = %s",
        (organization_id, quota),
    )


async def sum_stored_bytes(connection: Connection, organization_id: OrganizationId) -> int:
    """Return how many bytes are stored for an organization."""
    cursor = await connection.execute(
        """
        SELECT coalesce(sum(byte_count), 0) AS total FROM stored_change WHERE organization_id = %s
        """,
        (organization_id,),
    )
    row = await cursor.fetchone()
    return int(row["total"]) if row else 0


async def merge_stored_changes(connection: Connection, *, most: int) -> None:
    """Replace the changes of organizations that have more than `most` with their sum."""
    await connection.execute(
        """
        WITH merged AS (
            DELETE FROM stored_change WHERE ctid IN (
                SELECT ctid FROM stored_change WHERE organization_id IN (
                    SELECT organization_id FROM stored_change
                    GROUP BY organization_id HAVING count(*) > %s
                )
                FOR UPDATE SKIP LOCKED
            )
            RETURNING organization_id, byte_count
        )
        INSERT INTO stored_change
        SELECT organization_id, sum(byte_count) FROM merged GROUP BY organization_id
        """,
        (most,),
    )


async def add_usage(
    connection: Connection,
    organization_id: OrganizationId,
    quota: Quota,
    amount: int,
    *,
    now: datetime,
) -> None:
    """Add to what was used in this hour."""
    await connection.execute(
        """
        INSERT INTO organization_usage (organization_id, name, hour, amount)
        VALUES (%s, %s, date_trunc('hour', %s::timestamptz, 'UTC'), %s)
        ON CONFLICT (organization_id, name, hour)
        DO UPDATE SET amount = organization_usage.amount + excluded.amount
        """,
        (organization_id, quota, now, amount),
    )


async def sum_usage(
    connection: Connection, organization_id: OrganizationId, quota: Quota, *, since: datetime
) -> tuple[int, datetime | None]:
    """Return what was used since an instant, and the first hour of it."""
    cursor = await connection.execute(
        """
        SELECT coalesce(sum(amount), 0) AS total, min(hour) AS first FROM organization_usage
        WHERE organization_id = %s AND name = %s AND hour > %s
        """,
        (organization_id, quota, since),
    )
    row = await cursor.fetchone()
    assert row is not None
    return int(row["total"]), row["first"]


async def delete_usage(connection: Connection, *, before: datetime) -> None:
    """Delete what no window reaches any more."""
    await connection.execute("DELETE FROM organization_usage WHERE hour < %s", (before,))
