"""The delivery log for owners, and redelivery."""

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
from framekiln.webhooks.stores import delivery as delivery_store
from framekiln.webhooks.stores import subscription as subscription_store


@dataclass(frozen=True)
class DeliveryDetail:
    """A delivery with its body and attempts."""

    delivery: Delivery
    body: str
    attempts: list[DeliveryAttempt]


class DeliveryLog:
    """The deliveries of all organizations, for their owners."""

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
            return await delivery_store.list_newest(
                connection,
                organization_id,
                subscription_id,
                before_position=before_position,
                limit=limit,
            )

    async def get(self, organization_id: OrganizationId, delivery_id: DeliveryId) -> DeliveryDetail:
        """Return a delivery of the organization, with its body and attempts."""
        async with self._database.connection() as connection:
            delivery = await _find(connection, organization_id, delivery_id)
            return DeliveryDetail(
                delivery,
                body=await subscription_store.find_body(connection, delivery.event_id),
                attempts=await delivery_store.list_attempts(connection, delivery.id),
            )

    async def redeliver(
        self, organization_id: OrganizationId, delivery_id: DeliveryId
    ) -> DeliveryDetail:
        """Send an event again, as a new delivery; a delivery that waits is sent at once."""
        async with self._database.transaction() as connection:
            delivery = await _find(connection, organization_id, delivery_id)
            await delivery_store.lock_resource(connection, delivery.resource_id)
            subscription = await subscription_store.lock(connection, delivery.subscription_id)
            if subscription is None:
                raise _delivery_not_found(delivery_id)
            if not subscription.is_active:
                raise WebhookPaused(
                    f"webhook {subscription.id} is paused; resume it to send what waits"
                )
            # Read again: it may have ended while we waited for the locks.
            delivery = await _find(connection, organization_id, delivery_id)
            requeued = await self._requeue(connection, delivery)
            await self._jobs.defer(connection, send_job(subscription.id))
        return await self.get(organization_id, requeued)

    async def _requeue(self, connection: Connection, delivery: Delivery) -> DeliveryId:
        now = self._clock.now()
        if delivery.status in (DeliveryStatus.PENDING, DeliveryStatus.SENDING):
            await delivery_store.retry_now(connection, delivery.id, now=now)
            return delivery.id
        new_id = DeliveryId(new_uuid())
        await delivery_store.append(
            connection,
            [(new_id, delivery.subscription_id)],
            event_id=delivery.event_id,
            resource_id=delivery.resource_id,
            redelivery_of=delivery.id,
            now=now,
        )
        return new_id


async def _find(
    connection: Connection, organization_id: OrganizationId, delivery_id: DeliveryId
) -> Delivery:
    delivery = await delivery_store.find(connection, organization_id, delivery_id)
    if delivery is None:
        raise _delivery_not_found(delivery_id)
    return delivery


def _delivery_not_found(delivery_id: DeliveryId) -> DeliveryNotFound:
    return DeliveryNotFound(
        f"there is no delivery {delivery_id}; deliveries are deleted after 30 days"
    )
