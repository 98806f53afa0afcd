"""SQL of quotas. Makes no decisions; the caller owns the transaction."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime

from psycopg.types.json import Jsonb

from framekiln.db.condition import Condition
from framekiln.db.pool import Connection
from framekiln.kit.ids import OrganizationId
from framekiln.quotas.model import DailyAmount, Limits, Quota


@dataclass(frozen=True)
class StoredUsage:
    """What is used of a quota; None where it is not counted."""

    quota: Quota
    used: int | None
    limit: int | None
    first_hour: datetime | None
    """Of those that are counted, if they are counted by the hour."""


async def find_usage(
    connection: Connection,
    organization_id: OrganizationId,
    quotas: Sequence[Quota],
    *,
    defaults: Limits,
    since: datetime,
    is_check: bool,
) -> list[StoredUsage]:
    """Return what is used of quotas, in their order; minutes of film are milliseconds.

    A check leaves out quotas without a limit, and no other check of the organization begins before
    the transaction has ended.
    """
    known = {quota: amount for quota in quotas if (amount := defaults[quota]) is not None}
    cursor = await connection.execute(
        "SELECT quota, most, used, first_hour FROM quota_usage(%s, %s, %s, %s, %s)",
        (organization_id, [str(quota) for quota in quotas], Jsonb(known), since, is_check),
    )
    return [
        StoredUsage(Quota(row["quota"]), row["used"], row["most"], row["first_hour"])
        for row in await cursor.fetchall()
    ]


def allowing(
    organization_id: OrganizationId, quotas: Sequence[Quota], *, defaults: Limits, since: datetime
) -> Condition:
    """Return the check of `find_usage` as a condition: none of the quotas is used up."""
    known = {quota: amount for quota in quotas if (amount := defaults[quota]) is not None}
    return Condition(
        """
        (SELECT coalesce(bool_and(most > CASE quota
            WHEN 'render_minutes' THEN ceil(used / 60000.0) ELSE used END), true)
        FROM quota_usage(%(quota_owner)s, %(quotas)s, %(quota_defaults)s, %(quota_since)s, true))
        """,
        {
            "quota_owner": organization_id,
            "quotas": [str(quota) for quota in quotas],
            "quota_defaults": Jsonb(known),
            "quota_since": since,
        },
    )


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
    name: str,
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
        (organization_id, name, now, amount),
    )


async def note_stored_bytes(connection: Connection, *, now: datetime) -> None:
    """Write down what all organizations store in this hour.

    In one order, because several workers do it at the same time.
    """
    await connection.execute(
        """
        INSERT INTO organization_usage AS counted (organization_id, name, hour, amount)
        SELECT organization.id, %(name)s, date_trunc('hour', %(now)s::timestamptz, 'UTC'),
               sum(byte_count)
        FROM stored_change JOIN organization ON organization.id = stored_change.organization_id
        GROUP BY organization.id ORDER BY organization.id
        ON CONFLICT (organization_id, name, hour)
        DO UPDATE SET amount = excluded.amount WHERE counted.amount <> excluded.amount
        """,
        {"name": DailyAmount.STORED_BYTES, "now": now},
    )


async def list_days(
    connection: Connection, organization_id: OrganizationId, *, since: datetime
) -> dict[tuple[date, str], int]:
    """Return the amounts of each day (UTC) by name; of stored bytes, the last one of the day."""
    cursor = await connection.execute(
        """
        SELECT (hour AT TIME ZONE 'UTC')::date AS day, name, sum(amount)::bigint AS total,
               (array_agg(amount ORDER BY hour DESC))[1] AS last
        FROM organization_usage
        WHERE organization_id = %s AND name = ANY(%s) AND hour >= %s
        GROUP BY day, name
        """,
        (organization_id, [str(name) for name in DailyAmount], since),
    )
    return {
        (row["day"], row["name"]): (
            row["last"] if row["name"] == DailyAmount.STORED_BYTES else row["total"]
        )
        for row in await cursor.fetchall()
    }


async def delete_usage(connection: Connection, *, before: datetime) -> None:
    """Delete what nobody asks for any more."""
    await connection.execute("DELETE FROM organization_usage WHERE hour < %s", (before,))
