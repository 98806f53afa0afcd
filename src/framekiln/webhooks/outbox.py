"""Records the events of other domains, in the transaction that causes them.

Both are committed, or neither. Recording never waits for a receiver, and for a worker only while
it records the result of a delivery.
"""

import json
from collections.abc import Sequence
from typing import Any

from framekiln.db.condition import Condition
from framekiln.db.pool import Connection
from framekiln.jobs.queue import JobQueue
from framekiln.kit.clock import Clock
from framekiln.kit.ids import ApiKeyId, OrganizationId, new_uuid
from framekiln.webhooks.jobs import send_job
from framekiln.webhooks.model import DeliveryId, Event, EventId, Subscription
from framekiln.webhooks.stores import delivery as delivery_store
from framekiln.webhooks.stores import subscription as subscription_store
from framekiln.webhooks.topics import WEBHOOK_TEST, patterns_for


class Outbox:
    """Turns events into deliveries. Without a subscription an event costs one query."""

    def __init__(self, jobs: JobQueue, *, clock: Clock) -> None:
        self._jobs = jobs
        self._clock = clock

    async def record(self, connection: Connection, event: Event) -> None:
        """Queue deliveries to all matching subscriptions, in the caller's transaction."""
        subscribers = await subscription_store.find_subscribers(
            connection,
            event.organization_id,
            event.api_key_id,
            patterns=patterns_for(event.topic),
        )
        if subscribers:
            await self.send_to(connection, subscribers, event)

    def without_subscribers(
        self, organization_id: OrganizationId, api_key_id: ApiKeyId | None, topic: str
    ) -> Condition:
        """Return the condition under which `record` queues nothing."""
        return subscription_store.without_subscribers(
            organization_id, api_key_id, patterns=patterns_for(topic)
        )

    async def send_to(
        self, connection: Connection, subscriptions: Sequence[Subscription], event: Event
    ) -> None:
        """Queue an event for these subscriptions, which the caller has locked against deletion."""
        event_id, resource_id, now = EventId(new_uuid()), str(event.resource_id), self._clock.now()
        await delivery_store.lock_resource(connection, resource_id)
        await subscription_store.insert_event(
            connection,
            event_id,
            organization_id=event.organization_id,
            topic=event.topic,
            resource_id=resource_id,
            body=event_body(event.topic, event.data),
            now=now,
        )
        heads = await delivery_store.append(
            connection,
            [(DeliveryId(new_uuid()), subscription.id) for subscription in subscriptions],
            event_id=event_id,
            resource_id=resource_id,
            now=now,
        )
        # The schedule retries receivers that fail.
        ready = [each for each in subscriptions if each.is_active and each.failing_since is None]
        await self._jobs.defer_many(
            connection, [send_job(each.id) for each in ready if each.id in heads]
        )


def event_body(topic: str, data: Any) -> str:
    """Return the body of a message: ASCII, so that its bytes do not depend on an encoding."""
    return json.dumps({"topic": topic, "data": data}, separators=(",", ":"), allow_nan=False)


def test_event(subscription: Subscription) -> Event:
    """Return the event that tests whether a receiver can be reached."""
    key, organization = subscription.api_key_id, subscription.organization_id
    return Event(
        organization_id=organization,
        api_key_id=key,
        topic=WEBHOOK_TEST,
        resource_id=subscription.id,
        data={"id": str(key) if key else None, "org_id": str(organization)},
    )
