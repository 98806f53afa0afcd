"""The SQL of deliveries. Reads for callers filter by organization, writes of workers by fence.

Deliveries of one subscription and resource are a line. Its head is the first open delivery; only
heads have a due time. Appending to a line or removing its head requires the lock of the resource.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from framekiln.db.pool import Connection
from framekiln.kit.ids import OrganizationId
from framekiln.webhooks.model import (
    Delivery,
    DeliveryAttempt,
    DeliveryId,
    DeliveryStatus,
    EventId,
    SubscriptionId,
)

Row = dict[str, Any]

_ATTEMPT_COLUMNS = ("number", "url", "started_at", "duration_ms", "status", "error", "answer")
_SELECT = """
SELECT delivery.*, event.topic, last.number AS last_number, last.url AS last_url,
    last.started_at AS last_started_at, last.duration_ms AS last_duration_ms,
    last.status AS last_status, last.error AS last_error, last.answer AS last_answer
FROM webhook_delivery delivery
JOIN webhook_event event ON event.id = delivery.event_id
LEFT JOIN LATERAL (
    SELECT * FROM webhook_attempt WHERE delivery_id = delivery.id ORDER BY number DESC LIMIT 1
) last ON true
"""


async def lock_resource(connection: Connection, resource_id: str) -> None:
    """Lock the lines of a resource until the transaction ends."""
    key = f"webhook:{resource_id}"
    await connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (key,))


async def append(
    connection: Connection,
    new: Sequence[tuple[DeliveryId, SubscriptionId]],
    *,
    event_id: EventId,
    resource_id: str,
    now: datetime,
    redelivery_of: DeliveryId | None = None,
) -> set[SubscriptionId]:
    """Append deliveries to their lines; return the subscriptions where they are the head."""
    cursor = await connection.execute(
        """
        INSERT INTO webhook_delivery
            (id, subscription_id, event_id, resource_id, due_at, redelivery_of, created_at)
        SELECT new.id, new.subscription_id, %(event_id)s, %(resource_id)s,
            CASE WHEN NOT EXISTS (
                SELECT FROM webhook_delivery ahead
                WHERE ahead.subscription_id = new.subscription_id
                    AND ahead.resource_id = %(resource_id)s
                    AND ahead.status IN ('pending', 'sending')
            ) THEN %(now)s::timestamptz END,
            %(redelivery_of)s, %(now)s
        FROM unnest(%(ids)s::uuid[], %(subscription_ids)s::uuid[]) AS new (id, subscription_id)
        RETURNING subscription_id, due_at
        """,
        {
            "ids": [delivery_id for delivery_id, _ in new],
            "subscription_ids": [subscription_id for _, subscription_id in new],
            "event_id": event_id,
            "resource_id": resource_id,
            "redelivery_of": redelivery_of,
            "now": now,
        },
    )
    rows = await cursor.fetchall()
    return {SubscriptionId(row["subscription_id"]) for row in rows if row["due_at"] is not None}


async def find(
    connection: Connection, organization_id: OrganizationId, delivery_id: DeliveryId
) -> Delivery | None:
    """Return a delivery of the organization."""
    cursor = await connection.execute(
        _SELECT + "WHERE delivery.id = %s AND event.organization_id = %s",
        (delivery_id, organization_id),
    )
    row = await cursor.fetchone()
    return _delivery(row) if row else None


async def list_newest(
    connection: Connection,
    organization_id: OrganizationId,
    subscription_id: SubscriptionId,
    *,
    before_position: int | None,
    limit: int,
) -> list[Delivery]:
    """Return a page of a subscription's deliveries, newest first."""
    cursor = await connection.execute(
        _SELECT
        + """
        WHERE delivery.subscription_id = %(subscription_id)s
            AND event.organization_id = %(organization_id)s
            AND (%(before)s::bigint IS NULL OR delivery.position < %(before)s)
        ORDER BY delivery.position DESC LIMIT %(limit)s
        """,
        {
            "subscription_id": subscription_id,
            "organization_id": organization_id,
            "before": before_position,
            "limit": limit,
        },
    )
    return [_delivery(row) for row in await cursor.fetchall()]


async def list_attempts(connection: Connection, delivery_id: DeliveryId) -> list[DeliveryAttempt]:
    """Return the attempts of a delivery, oldest first."""
    cursor = await connection.execute(
        "SELECT * FROM webhook_attempt WHERE delivery_id = %s ORDER BY number", (delivery_id,)
    )
    return [_attempt(row) for row in await cursor.fetchall()]


async def add_attempt(
    connection: Connection, delivery_id: DeliveryId, attempt: DeliveryAttempt
) -> None:
    """Add an attempt."""
    await connection.execute(
        """
        INSERT INTO webhook_attempt
            (delivery_id, number, url, started_at, duration_ms, status, error, answer)
        VALUES (%s, %s, %s, %s, %s, %s, %s, %s)
        """,
        (delivery_id, *(getattr(attempt, name) for name in _ATTEMPT_COLUMNS)),
    )


async def end(
    connection: Connection,
    delivery: Delivery,
    status: DeliveryStatus,
    *,
    now: datetime,
) -> bool:
    """End a delivery, delivered or failed; False if the fence is not the latest."""
    cursor = await connection.execute(
        """
        UPDATE webhook_delivery SET status = %s, due_at = NULL, ended_at = %s, tries = tries + 1
        WHERE id = %s AND fence = %s AND status = 'sending'
        """,
        (status, now, delivery.id, delivery.fence),
    )
    return cursor.rowcount == 1


async def postpone(connection: Connection, delivery: Delivery, *, until: datetime) -> bool:
    """Postpone a delivery that failed; False if the fence is not the latest."""
    cursor = await connection.execute(
        """
        UPDATE webhook_delivery SET status = 'pending', due_at = %s, tries = tries + 1
        WHERE id = %s AND fence = %s AND status = 'sending'
        """,
        (until, delivery.id, delivery.fence),
    )
    return cursor.rowcount == 1


async def release_next(connection: Connection, ended: Delivery, *, now: datetime) -> None:
    """Make the delivery after one that has ended due."""
    await connection.execute(
        """
        UPDATE webhook_delivery SET due_at = %(now)s WHERE id = (
            SELECT id FROM webhook_delivery
            WHERE subscription_id = %(subscription_id)s AND resource_id = %(resource_id)s
                AND status IN ('pending', 'sending')
            ORDER BY position LIMIT 1
        ) AND status = 'pending' AND due_at IS NULL
        """,
        {
            "subscription_id": ended.subscription_id,
            "resource_id": ended.resource_id,
            "now": now,
        },
    )


async def retry_all_now(
    connection: Connection, subscription_id: SubscriptionId, *, now: datetime
) -> None:
    """Make all deliveries that wait for a retry due now."""
    await connection.execute(
        """
        UPDATE webhook_delivery SET due_at = %s
        WHERE subscription_id = %s AND status = 'pending' AND due_at > %s
        """,
        (now, subscription_id, now),
    )


async def retry_now(connection: Connection, delivery_id: DeliveryId, *, now: datetime) -> None:
    """Make one delivery that waits for a retry due now."""
    await connection.execute(
        """
        UPDATE webhook_delivery SET due_at = %s
        WHERE id = %s AND status = 'pending' AND due_at > %s
        """,
        (now, delivery_id, now),
    )


async def restart(
    connection: Connection, subscription_id: SubscriptionId, *, now: datetime
) -> None:
    """Make the head of every line due now, with all its retries."""
    await connection.execute(
        """
        UPDATE webhook_delivery SET due_at = %(now)s, tries = 0
        WHERE status = 'pending' AND (due_at IS NULL OR due_at > %(now)s OR tries > 0) AND id IN (
            SELECT DISTINCT ON (resource_id) id FROM webhook_delivery
            WHERE subscription_id = %(subscription_id)s AND status IN ('pending', 'sending')
            ORDER BY resource_id, position)
        """,
        {"subscription_id": subscription_id, "now": now},
    )


async def delete_ended(connection: Connection, *, before: datetime, limit: int) -> int:
    """Delete deliveries that ended before a time; return how many."""
    cursor = await connection.execute(
        """
        DELETE FROM webhook_delivery WHERE id IN (
            SELECT id FROM webhook_delivery WHERE ended_at < %s
            ORDER BY ended_at LIMIT %s FOR UPDATE SKIP LOCKED)
        """,
        (before, limit),
    )
    return cursor.rowcount


async def delete_unsent(connection: Connection, *, before: datetime) -> int:
    """Delete deliveries that have waited too long for a paused subscription; return how many."""
    cursor = await connection.execute(
        """
        WITH paused AS (
            SELECT id FROM webhook_subscription WHERE state = 'paused'
            FOR NO KEY UPDATE SKIP LOCKED
        )
        DELETE FROM webhook_delivery delivery USING paused
        WHERE delivery.subscription_id = paused.id AND delivery.status = 'pending'
            AND delivery.created_at < %s
        """,
        (before,),
    )
    return cursor.rowcount


def _delivery(row: Row) -> Delivery:
    redelivery_of: UUID | None = row["redelivery_of"]
    last = {name: row[f"last_{name}"] for name in _ATTEMPT_COLUMNS}
    return Delivery(
        id=DeliveryId(row["id"]),
        position=row["position"],
        subscription_id=SubscriptionId(row["subscription_id"]),
        event_id=EventId(row["event_id"]),
        topic=row["topic"],
        resource_id=row["resource_id"],
        status=DeliveryStatus(row["status"]),
        due_at=row["due_at"],
        tries=row["tries"],
        fence=row["fence"],
        redelivery_of=DeliveryId(redelivery_of) if redelivery_of else None,
        created_at=row["created_at"],
        ended_at=row["ended_at"],
        last_attempt=None if last["number"] is None else _attempt(last),
    )


def _attempt(row: Row) -> DeliveryAttempt:
    return DeliveryAttempt(**{name: row[name] for name in _ATTEMPT_COLUMNS})
