"""The SQL of subscriptions and events. Every read for a caller filters by organization.

Locks are `FOR NO KEY UPDATE`, so that recording an event, which only prevents the deletion of a
subscription, never waits for a delivery to it.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from framekiln.db.condition import Condition
from framekiln.db.pool import Connection
from framekiln.kit.ids import ApiKeyId, OrganizationId
from framekiln.webhooks.model import (
    EventId,
    NewSubscription,
    Subscription,
    SubscriptionId,
    SubscriptionState,
)

Row = dict[str, Any]


async def insert(
    connection: Connection,
    subscription_id: SubscriptionId,
    new: NewSubscription,
    *,
    secret: str,
    now: datetime,
) -> Subscription:
    """Add a subscription."""
    cursor = await connection.execute(
        """
        INSERT INTO webhook_subscription
            (id, organization_id, api_key_id, url, events, secret, created_at)
        VALUES (%s, %s, %s, %s, %s, %s, %s) RETURNING *
        """,
        (
            subscription_id,
            new.organization_id,
            new.api_key_id,
            new.url,
            list(new.events),
            secret,
            now,
        ),
    )
    row = await cursor.fetchone()
    assert row is not None
    return subscription_of(row)


async def count(connection: Connection, organization_id: OrganizationId) -> int:
    """Return how many subscriptions the organization has."""
    cursor = await connection.execute(
        """
        SELECT count(*) AS n FROM webhook_subscription
        WHERE organization_id = %s AND NOT is_callback
        """,
        (organization_id,),
    )
    row = await cursor.fetchone()
    assert row is not None
    return int(row["n"])


async def list_all(connection: Connection, organization_id: OrganizationId) -> list[Subscription]:
    """Return the organization's subscriptions, oldest first."""
    cursor = await connection.execute(
        """
        SELECT * FROM webhook_subscription WHERE organization_id = %s AND NOT is_callback
        ORDER BY created_at, id
        """,
        (organization_id,),
    )
    return [subscription_of(row) for row in await cursor.fetchall()]


async def find(
    connection: Connection, organization_id: OrganizationId, subscription_id: SubscriptionId
) -> Subscription | None:
    """Return a subscription of the organization."""
    cursor = await connection.execute(
        """
        SELECT * FROM webhook_subscription
        WHERE id = %s AND organization_id = %s AND NOT is_callback
        """,
        (subscription_id, organization_id),
    )
    row = await cursor.fetchone()
    return subscription_of(row) if row else None


async def lock(connection: Connection, subscription_id: SubscriptionId) -> Subscription | None:
    """Return a subscription, locked until the transaction ends."""
    cursor = await connection.execute(
        "SELECT * FROM webhook_subscription WHERE id = %s FOR NO KEY UPDATE", (subscription_id,)
    )
    row = await cursor.fetchone()
    return subscription_of(row) if row else None


async def delete(
    connection: Connection, organization_id: OrganizationId, subscription_id: SubscriptionId
) -> bool:
    """Delete a subscription and its deliveries; False if there is none."""
    cursor = await connection.execute(
        "DELETE FROM webhook_subscription WHERE id = %s AND organization_id = %s",
        (subscription_id, organization_id),
    )
    return cursor.rowcount == 1


async def set_url_and_events(
    connection: Connection, subscription_id: SubscriptionId, *, url: str, events: Sequence[str]
) -> None:
    """Change the URL and the events."""
    await connection.execute(
        "UPDATE webhook_subscription SET url = %s, events = %s WHERE id = %s",
        (url, list(events), subscription_id),
    )


async def set_secret(
    connection: Connection,
    subscription_id: SubscriptionId,
    secret: str,
    *,
    previous_until: datetime,
) -> None:
    """Change the secret; the previous one signs too until `previous_until`."""
    await connection.execute(
        """
        UPDATE webhook_subscription
        SET previous_secret = secret, previous_secret_until = %s, secret = %s WHERE id = %s
        """,
        (previous_until, secret, subscription_id),
    )


async def set_active(connection: Connection, subscription_id: SubscriptionId) -> None:
    """Activate a subscription and forget its earlier results."""
    await connection.execute(
        """
        UPDATE webhook_subscription SET state = 'active', reason = NULL, failing_since = NULL,
            is_proven = false
        WHERE id = %s
        """,
        (subscription_id,),
    )


async def set_paused(connection: Connection, subscription_id: SubscriptionId, reason: str) -> None:
    """Pause a subscription, with a reason."""
    await connection.execute(
        "UPDATE webhook_subscription SET state = 'paused', reason = %s WHERE id = %s",
        (reason, subscription_id),
    )


async def record_success(
    connection: Connection, subscription_id: SubscriptionId, *, now: datetime
) -> None:
    """Record that the receiver accepted a delivery."""
    await connection.execute(
        """
        UPDATE webhook_subscription SET failing_since = NULL, is_proven = true,
            last_delivered_at = %s
        WHERE id = %s
        """,
        (now, subscription_id),
    )


async def record_first_failure(
    connection: Connection, subscription_id: SubscriptionId, *, since: datetime
) -> None:
    """Record the first of consecutive failures."""
    await connection.execute(
        "UPDATE webhook_subscription SET failing_since = %s WHERE id = %s",
        (since, subscription_id),
    )


async def find_subscribers(
    connection: Connection,
    organization_id: OrganizationId,
    api_key_id: ApiKeyId | None,
    *,
    patterns: Sequence[str],
) -> list[Subscription]:
    """Return matching subscriptions, paused or not, locked against deletion.

    A subscription that is being deleted right now is left out, so that the caller does not fail.
    """
    cursor = await connection.execute(
        """
        SELECT * FROM webhook_subscription
        WHERE organization_id = %s AND (api_key_id IS NULL OR api_key_id = %s) AND events && %s
        ORDER BY id FOR KEY SHARE
        """,
        (organization_id, api_key_id, list(patterns)),
    )
    return [subscription_of(row) for row in await cursor.fetchall()]


def without_subscribers(
    organization_id: OrganizationId, api_key_id: ApiKeyId | None, *, patterns: Sequence[str]
) -> Condition:
    """Return the condition that `find_subscribers` finds none."""
    return Condition(
        """
        NOT EXISTS (SELECT FROM webhook_subscription
            WHERE organization_id = %(event_owner)s AND events && %(event_patterns)s
                AND (api_key_id IS NULL OR api_key_id = %(event_key)s))
        """,
        {
            "event_owner": organization_id,
            "event_key": api_key_id,
            "event_patterns": list(patterns),
        },
    )


async def insert_event(  # noqa: PLR0913 - one column each
    connection: Connection,
    event_id: EventId,
    *,
    organization_id: OrganizationId,
    topic: str,
    resource_id: str,
    body: str,
    now: datetime,
) -> None:
    """Add an event."""
    await connection.execute(
        """
        INSERT INTO webhook_event (id, organization_id, topic, resource_id, body, created_at)
        VALUES (%s, %s, %s, %s, %s, %s)
        """,
        (event_id, organization_id, topic, resource_id, body, now),
    )


async def find_body(connection: Connection, event_id: EventId) -> str:
    """Return the body of an event."""
    cursor = await connection.execute("SELECT body FROM webhook_event WHERE id = %s", (event_id,))
    row = await cursor.fetchone()
    assert row is not None
    return str(row["body"])


async def delete_old_events(connection: Connection, *, before: datetime, limit: int) -> int:
    """Delete events without deliveries."""
    cursor = await connection.execute(
        """
        DELETE FROM webhook_event WHERE id IN (
            SELECT id FROM webhook_event event WHERE created_at < %s
                AND NOT EXISTS (SELECT FROM webhook_delivery WHERE event_id = event.id)
            ORDER BY created_at LIMIT %s FOR UPDATE SKIP LOCKED)
        """,
        (before, limit),
    )
    return cursor.rowcount


def subscription_of(row: Row) -> Subscription:
    """Return the subscription of a row."""
    return Subscription(
        **{**row, "events": tuple(row["events"]), "state": SubscriptionState(row["state"])}
    )
