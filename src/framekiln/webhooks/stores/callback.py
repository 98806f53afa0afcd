"""The SQL of callbacks. Every statement for a caller carries the organization."""

from datetime import datetime

from framekiln.db.pool import Connection
from framekiln.kit.ids import OrganizationId
from framekiln.webhooks.model import Subscription, SubscriptionId
from framekiln.webhooks.stores.subscription import subscription_of


async def find(
    connection: Connection, organization_id: OrganizationId, url: str
) -> Subscription | None:
    """Return the receiver at a URL; it cannot be deleted before the transaction ends."""
    cursor = await connection.execute(
        """
        SELECT * FROM webhook_subscription
        WHERE organization_id = %s AND md5(url) = md5(%s) AND is_callback
        FOR KEY SHARE
        """,
        (organization_id, url),
    )
    row = await cursor.fetchone()
    return subscription_of(row) if row else None


async def insert(
    connection: Connection,
    subscription_id: SubscriptionId,
    *,
    organization_id: OrganizationId,
    url: str,
    now: datetime,
) -> None:
    """Add a URL, signed with the organization's secret, unless it exists."""
    await connection.execute(
        """
        INSERT INTO webhook_subscription (id, organization_id, url, events, secret,
            previous_secret, previous_secret_until, created_at, is_callback)
        SELECT %(id)s, organization_id, %(url)s, '{}', secret, previous_secret,
            previous_secret_until, %(now)s, true
        FROM webhook_callback_secret WHERE organization_id = %(organization_id)s
        ON CONFLICT (organization_id, md5(url)) WHERE is_callback DO NOTHING
        """,
        {"id": subscription_id, "organization_id": organization_id, "url": url, "now": now},
    )


async def ensure_secret(
    connection: Connection, organization_id: OrganizationId, secret: str
) -> None:
    """Set a secret if there is none; it cannot change before the transaction ends."""
    await connection.execute(
        """
        INSERT INTO webhook_callback_secret (organization_id, secret) VALUES (%s, %s)
        ON CONFLICT (organization_id) DO NOTHING
        """,
        (organization_id, secret),
    )
    await connection.execute(
        "SELECT FROM webhook_callback_secret WHERE organization_id = %s FOR SHARE",
        (organization_id,),
    )


async def set_secret(
    connection: Connection,
    organization_id: OrganizationId,
    secret: str,
    *,
    previous_until: datetime,
) -> None:
    """Change the secret, also of all URLs; the previous one signs too until `previous_until`."""
    await connection.execute(
        """
        INSERT INTO webhook_callback_secret (organization_id, secret) VALUES (%(id)s, %(secret)s)
        ON CONFLICT (organization_id) DO UPDATE SET secret = %(secret)s,
            previous_secret = webhook_callback_secret.secret, previous_secret_until = %(until)s
        """,
        {"id": organization_id, "secret": secret, "until": previous_until},
    )
    await connection.execute(
        """
        UPDATE webhook_subscription
        SET previous_secret = secret, previous_secret_until = %s, secret = %s
        WHERE organization_id = %s AND is_callback
        """,
        (previous_until, secret, organization_id),
    )


async def list_idle(
    connection: Connection, *, before: datetime, limit: int
) -> list[SubscriptionId]:
    """Lock and return old URLs without deliveries."""
    cursor = await connection.execute(
        """
        SELECT id FROM webhook_subscription subscription
        WHERE is_callback AND created_at < %s
            AND NOT EXISTS (SELECT FROM webhook_delivery WHERE subscription_id = subscription.id)
        ORDER BY created_at LIMIT %s FOR UPDATE SKIP LOCKED
        """,
        (before, limit),
    )
    return [SubscriptionId(row["id"]) for row in await cursor.fetchall()]


async def delete_idle(connection: Connection, ids: list[SubscriptionId]) -> int:
    """Delete locked URLs, unless they have got a new delivery."""
    cursor = await connection.execute(
        """
        DELETE FROM webhook_subscription subscription WHERE id = ANY(%s)
            AND NOT EXISTS (SELECT FROM webhook_delivery WHERE subscription_id = subscription.id)
        """,
        (ids,),
    )
    return cursor.rowcount
