"""The log of deliveries, as owners read it, and sending one of them again."""

from dataclasses import dataclass

from framekiln.db.pool import Connection, Database
from framekiln.jobs.queue import JobQueue
from framekiln.kit.clock import Clock
from framekiln.kit.ids import OrganizationId, new_uuid
from framekiln.webhooks.errors import DeliveryNotFound, WebhookPaused
from framekiln.webhooks.jobs import send_job
from framekiln.webhooks.model import (
    Delivery,
    DeliveryAttempt,
    DeliveryId,
    DeliveryStatus,
    SubscriptionId,
)
from framekiln.webhooks.stores import delivery as lines
from framekiln.webhooks.stores import subscription as subscription_store


@dataclass(frozen=True)
class DeliveryDetail:
    """A delivery with what is sent and all that was tried."""

    delivery: Delivery
    body: str
    attempts: list[DeliveryAttempt]


class DeliveryLog:
    """The deliveries of all organizations, as their owners see them."""

    def __init__(self, database: Database, *, jobs: JobQueue, clock: Clock) -> None:
        self._database = database
        self._jobs = jobs
        self._clock = clock

    async def page(
        self,
        organization_id: OrganizationId,
        subscription_id: SubscriptionId,
        *,
        before_position: int | None,
        limit: int,
    ) -> list[Delivery]:
        """Return deliveries of a subscription, newest first."""
        async with self._database.connection() as connection:
            return await lines.list_newest(
                connection,
                organization_id,
                subscription_id,
                before_position=before_position,
                limit=limit,
            )

    async def get(self, organization_id: OrganizationId, delivery_id: DeliveryId) -> DeliveryDetail:
        """Return a delivery of the organization with all that is known of it."""
        async with self._database.connection() as connection:
            delivery = await _find(connection, organization_id, delivery_id)
            return DeliveryDetail(
                delivery,
                body=await subscription_store.find_body(connection, delivery.event_id),
                attempts=await lines.list_attempts(connection, delivery.id),
            )

    async def redeliver(
        self, organization_id: OrganizationId, delivery_id: DeliveryId
    ) -> DeliveryDetail:
        """Send an event once more, as a new delivery; one that still waits is tried at once."""
        async with self._database.transaction() as connection:
            delivery = await _find(connection, organization_id, delivery_id)
            await lines.lock_resource(connection, delivery.resource_id)
            subscription = await subscription_store.lock(connection, delivery.subscription_id)
            if subscription is None:
                raise _delivery_not_found(delivery_id)
            if not subscription.is_active:
                raise WebhookPaused(
                    f"webhook {subscription.id} is paused: resume it, and what waits is sent"
                )
            # Once more: it may have ended while we waited for the locks.
            delivery = await _find(connection, organization_id, delivery_id)
            again = await self._requeue(connection, delivery)
            await self._jobs.defer(connection, send_job(subscription.id))
        return await self.get(organization_id, again)

    async def _requeue(self, connection: Connection, delivery: Delivery) -> DeliveryId:
        now = self._clock.now()
        if delivery.status in (DeliveryStatus.PENDING, DeliveryStatus.SENDING):
            await lines.retry_now(connection, delivery.id, now=now)
            return delivery.id
        again = DeliveryId(new_uuid())
        await lines.append(
            connection,
            [(again, delivery.subscription_id)],
            event_id=delivery.event_id,
            resource_id=delivery.resource_id,
            redelivery_of=delivery.id,
            now=now,
        )
        return again


async def _find(
    connection: Connection, organization_id: OrganizationId, delivery_id: DeliveryId
) -> Delivery:
    delivery = await lines.find(connection, organization_id, delivery_id)
    if delivery is None:
        raise _delivery_not_found(delivery_id)
    return delivery


def _delivery_not_found(delivery_id: DeliveryId) -> DeliveryNotFound:
    return DeliveryNotFound(f"there is no delivery {delivery_id}; they are kept for 30 days")
