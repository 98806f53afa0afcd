"""Where the other domains say what happened, in the transaction in which it happens.

Either both are kept or neither. Whoever records an event waits for no receiver, and for no worker
longer than one takes to write down how its delivery went.
"""

import json
from collections.abc import Sequence
from typing import Any

from framekiln.db.pool import Connection
from framekiln.jobs.queue import JobQueue
from framekiln.kit.clock import Clock
from framekiln.kit.ids import new_uuid
from framekiln.webhooks.jobs import send_job
from framekiln.webhooks.model import DeliveryId, Event, EventId, Subscription
from framekiln.webhooks.stores import delivery as lines
from framekiln.webhooks.stores import subscription as subscription_store
from framekiln.webhooks.topics import WEBHOOK_TEST, patterns_for


class Outbox:
    """Turns events into deliveries. Without a subscription an event costs one query."""

    def __init__(self, jobs: JobQueue, *, clock: Clock) -> None:
        self._jobs = jobs
        self._clock = clock

    async def record(self, connection: Connection, event: Event) -> None:
        """Queue deliveries to all matching subscriptions, in the caller's transaction."""
        interested = await subscription_store.find_subscribers(
            connection,
            event.organization_id,
            event.api_key_id,
            patterns=patterns_for(event.topic),
        )
        if interested:
            await self.send_to(connection, interested, event)

    async def send_to(
        self, connection: Connection, subscriptions: Sequence[Subscription], event: Event
    ) -> None:
        """Have these told, whatever they want; the caller keeps them from being deleted."""
        event_id, resource_id, now = EventId(new_uuid()), str(event.resource_id), self._clock.now()
        await lines.lock_resource(connection, resource_id)
        await subscription_store.insert_event(
            connection,
            event_id,
            organization_id=event.organization_id,
            topic=event.topic,
            resource_id=resource_id,
            body=event_body(event.topic, event.data),
            now=now,
        )
        heads = await lines.append(
            connection,
            [(DeliveryId(new_uuid()), subscription.id) for subscription in subscriptions],
            event_id=event_id,
            resource_id=resource_id,
            now=now,
        )
        # Those that fail are tried in turn, by the schedule.
        ready = [each for each in subscriptions if each.is_active and each.failing_since is None]
        await self._jobs.defer_many(
            connection, [send_job(each.id) for each in ready if each.id in heads]
        )


def event_body(topic: str, data: Any) -> str:
    """Return what is sent: ASCII, so that no two readers disagree about its bytes."""
    return json.dumps({"topic": topic, "data": data}, separators=(",", ":"), allow_nan=False)


def test_event(subscription: Subscription) -> Event:
    """Return the event that only tries whether a receiver is there."""
    key, organization = subscription.api_key_id, subscription.organization_id
    return Event(
        organization_id=organization,
        api_key_id=key,
        topic=WEBHOOK_TEST,
        resource_id=subscription.id,
        data={"id": str(key) if key else None, "org_id": str(organization)},
    )
