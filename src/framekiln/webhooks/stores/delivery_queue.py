"""The SQL by which workers take deliveries. All of it runs under one global lock."""

from dataclasses import dataclass
from datetime import datetime

from framekiln.db.pool import Connection
from framekiln.webhooks.delivery_policy import (
    MAX_DOUBTFUL_PER_ORGANIZATION,
    MAX_PER_SUBSCRIPTION,
    InFlight,
)
from framekiln.webhooks.model import DeliveryId, Subscription, SubscriptionId


@dataclass(frozen=True)
class DueSubscription:
    """A subscription with due deliveries, and how many of them may be sent now."""

    subscription_id: SubscriptionId
    count: int


async def lock(connection: Connection) -> None:
    """Take the global lock under which deliveries are counted and taken."""
    await connection.execute("SELECT pg_advisory_xact_lock(hashtextextended('webhook gate', 0))")


async def release_by_job(
    connection: Connection, subscription_id: SubscriptionId, *, job_id: int, now: datetime
) -> None:
    """Release what an earlier attempt of this job took: its worker has died."""
    await connection.execute(
        """
        UPDATE webhook_delivery SET status = 'pending', due_at = %s
        WHERE subscription_id = %s AND status = 'sending' AND taken_by = %s
        """,
        (now, subscription_id, job_id),
    )


async def release_overdue(connection: Connection, *, now: datetime) -> int:
    """Release what was taken so long ago that its worker must be dead; return how many."""
    cursor = await connection.execute(
        """
        UPDATE webhook_delivery SET status = 'pending', due_at = %(now)s
        WHERE status = 'sending' AND due_at <= %(now)s
        """,
        {"now": now},
    )
    return cursor.rowcount


async def count_in_flight(connection: Connection, subscription: Subscription) -> InFlight:
    """Return how many deliveries are being sent, as the limits of a subscription count them."""
    cursor = await connection.execute(
        """
        SELECT count(*) FILTER (WHERE busy.id = %(id)s) AS of_subscription,
            count(*) FILTER (WHERE busy.organization_id = %(organization_id)s) AS of_organization,
            count(*) FILTER (WHERE is_doubtful) AS doubtful,
            count(*) FILTER (WHERE is_doubtful AND busy.organization_id = %(organization_id)s)
                AS doubtful_of_organization
        FROM webhook_delivery delivery
        JOIN webhook_subscription busy ON busy.id = delivery.subscription_id
        CROSS JOIN LATERAL (
            SELECT busy.failing_since IS NOT NULL OR NOT busy.is_proven AS is_doubtful
        ) AS trust
        WHERE delivery.status = 'sending'
        """,
        {"id": subscription.id, "organization_id": subscription.organization_id},
    )
    row = await cursor.fetchone()
    assert row is not None
    return InFlight(**row)


async def count_ready(
    connection: Connection, subscription_id: SubscriptionId, *, now: datetime, limit: int
) -> int:
    """Return how many deliveries are due, at most `limit`."""
    cursor = await connection.execute(
        """
        SELECT count(*) AS n FROM (
            SELECT FROM webhook_delivery
            WHERE subscription_id = %s AND status = 'pending' AND due_at <= %s LIMIT %s) AS ready
        """,
        (subscription_id, now, limit),
    )
    row = await cursor.fetchone()
    assert row is not None
    return int(row["n"])


async def take(
    connection: Connection,
    subscription_id: SubscriptionId,
    *,
    job_id: int,
    now: datetime,
    overdue_at: datetime,
) -> DeliveryId | None:
    """Take the delivery that has been due the longest; None if none is."""
    cursor = await connection.execute(
        """
        WITH taken AS (
            UPDATE webhook_delivery SET status = 'sending', due_at = %(overdue_at)s,
                fence = fence + 1, taken_by = %(job_id)s
            WHERE id = (
                SELECT id FROM webhook_delivery
                WHERE subscription_id = %(subscription_id)s AND status = 'pending'
                    AND due_at <= %(now)s
                ORDER BY due_at, position LIMIT 1 FOR UPDATE)
            RETURNING id, subscription_id
        )
        UPDATE webhook_subscription SET last_attempt_at = %(now)s
        FROM taken WHERE webhook_subscription.id = taken.subscription_id
        RETURNING taken.id
        """,
        {
            "subscription_id": subscription_id,
            "job_id": job_id,
            "now": now,
            "overdue_at": overdue_at,
        },
    )
    row = await cursor.fetchone()
    return DeliveryId(row["id"]) if row else None


async def list_due(connection: Connection, *, now: datetime, limit: int) -> list[DueSubscription]:
    """Return active subscriptions with due deliveries.

    Doubtful ones come last, in turn, and a few of each organization, so that they block nobody.
    """
    cursor = await connection.execute(
        """
        WITH due AS (
            SELECT subscription.*, ready.count, ready.since,
                failing_since IS NOT NULL OR NOT is_proven AS is_doubtful
            FROM webhook_subscription subscription
            CROSS JOIN LATERAL (
                SELECT count(*) AS count, min(due_at) AS since FROM (
                    SELECT due_at FROM webhook_delivery
                    WHERE subscription_id = subscription.id AND status = 'pending'
                        AND due_at <= %(now)s
                    ORDER BY due_at LIMIT %(at_once)s) AS first
            ) AS ready
            WHERE state = 'active' AND ready.count > 0
        ), in_turn AS (
            SELECT due.*, row_number() OVER (
                PARTITION BY organization_id, is_doubtful
                ORDER BY last_attempt_at NULLS FIRST, id) AS turn
            FROM due
        )
        SELECT id AS subscription_id, CASE WHEN is_doubtful THEN 1 ELSE count END AS count
        FROM in_turn WHERE NOT is_doubtful OR turn <= %(doubtful_each)s
        ORDER BY is_doubtful, CASE WHEN is_doubtful THEN last_attempt_at ELSE since END NULLS FIRST
        LIMIT %(limit)s
        """,
        {
            "now": now,
            "limit": limit,
            "at_once": MAX_PER_SUBSCRIPTION,
            "doubtful_each": MAX_DOUBTFUL_PER_ORGANIZATION,
        },
    )
    return [DueSubscription(**row) for row in await cursor.fetchall()]
