"""Webhooks for their owners: create, change, test and resume them."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Final
from urllib.parse import urlsplit

from framekiln.audit.log import record
from framekiln.db.pool import Connection, Database
from framekiln.jobs.queue import JobQueue
from framekiln.kit.clock import Clock
from framekiln.kit.fetch import GuardedFetcher
from framekiln.kit.guarded_transport import FetchRefused
from framekiln.kit.ids import ApiKeyId, OrganizationId, new_uuid
from framekiln.webhooks.errors import (
    InvalidWebhookUrl,
    NoSubscriberForTopic,
    TooManyWebhooks,
    WebhookNotFound,
)
from framekiln.webhooks.jobs import send_job
from framekiln.webhooks.model import Event, NewSubscription, Subscription, SubscriptionId
from framekiln.webhooks.outbox import Outbox, test_event
from framekiln.webhooks.signatures import new_secret
from framekiln.webhooks.stores import delivery as delivery_store
from framekiln.webhooks.stores import subscription as subscription_store
from framekiln.webhooks.topics import (
    WEBHOOK_TEST,
    check_patterns,
    find_topic,
    patterns_for,
)

MAX_SUBSCRIPTIONS: Final = 100
OLD_SECRET_LIFETIME: Final = timedelta(hours=24)
# The caller waits for the response; a slow name server is no reason to refuse a URL.
DNS_TIMEOUT_S: Final = 3.0


class Webhooks:
    """The subscriptions of all organizations, for their owners."""

    def __init__(
        self,
        database: Database,
        *,
        jobs: JobQueue,
        outbox: Outbox,
        fetcher: GuardedFetcher,
        clock: Clock,
    ) -> None:
        self._database = database
        self._jobs = jobs
        self._outbox = outbox
        self._fetcher = fetcher
        self._clock = clock

    async def create(self, new: NewSubscription) -> Subscription:
        """Add a subscription and send it a test; show its secret only this once."""
        check_patterns(new.events)
        await self._check_url(new.url)
        async with self._database.transaction() as connection:
            if await subscription_store.count(connection, new.organization_id) >= MAX_SUBSCRIPTIONS:
                raise TooManyWebhooks(
                    f"there are already {MAX_SUBSCRIPTIONS} webhooks; delete one first"
                )
            subscription = await subscription_store.insert(
                connection,
                SubscriptionId(new_uuid()),
                new,
                secret=new_secret(),
                now=self._clock.now(),
            )
            await self._record(connection, "created", subscription)
            await self._outbox.send_to(connection, [subscription], test_event(subscription))
        return subscription

    async def list_all(self, organization_id: OrganizationId) -> list[Subscription]:
        """Return the organization's subscriptions, oldest first."""
        async with self._database.connection() as connection:
            return await subscription_store.list_all(connection, organization_id)

    async def get(
        self, organization_id: OrganizationId, subscription_id: SubscriptionId
    ) -> Subscription:
        """Return a subscription of the organization."""
        async with self._database.connection() as connection:
            found = await subscription_store.find(connection, organization_id, subscription_id)
        if found is None:
            raise _webhook_not_found(subscription_id)
        return found

    async def change(
        self,
        organization_id: OrganizationId,
        subscription_id: SubscriptionId,
        *,
        url: str | None = None,
        events: Sequence[str] | None = None,
    ) -> Subscription:
        """Change the URL or events; a new URL gets a test and all waiting deliveries."""
        current = await self.get(organization_id, subscription_id)
        wanted = current.events if events is None else check_patterns(events)
        if url is not None and url != current.url:
            await self._check_url(url)
        async with self._database.transaction() as connection:
            current = await self._lock(connection, current)
            await subscription_store.set_url_and_events(
                connection, current.id, url=url or current.url, events=wanted
            )
            await self._record(connection, "changed", replace(current, url=url or current.url))
            if url is not None and url != current.url:
                await self._restart(connection, current)
                await self._outbox.send_to(connection, [current], test_event(current))
        return await self.get(organization_id, subscription_id)

    async def delete(
        self, organization_id: OrganizationId, subscription_id: SubscriptionId
    ) -> None:
        """Delete a subscription with all its deliveries."""
        current = await self.get(organization_id, subscription_id)
        async with self._database.transaction() as connection:
            if not await subscription_store.delete(connection, organization_id, subscription_id):
                raise _webhook_not_found(subscription_id)
            await self._record(connection, "deleted", current)

    async def rotate_secret(
        self, organization_id: OrganizationId, subscription_id: SubscriptionId
    ) -> Subscription:
        """Set a new secret and return it this once; the old one also signs for a day."""
        current = await self.get(organization_id, subscription_id)
        async with self._database.transaction() as connection:
            await subscription_store.set_secret(
                connection,
                current.id,
                new_secret(),
                previous_until=self._clock.now() + OLD_SECRET_LIFETIME,
            )
            await self._record(connection, "secret_rotated", current)
        return await self.get(organization_id, subscription_id)

    async def resume(
        self, organization_id: OrganizationId, subscription_id: SubscriptionId
    ) -> Subscription:
        """Send all waiting deliveries now; harmless if it was not paused."""
        current = await self.get(organization_id, subscription_id)
        async with self._database.transaction() as connection:
            await self._restart(connection, await self._lock(connection, current))
        return await self.get(organization_id, subscription_id)

    async def test(
        self, organization_id: OrganizationId, api_key_id: ApiKeyId | None, topic: str
    ) -> int:
        """Send a sample to the key's webhooks that subscribe to a topic; return how many.

        Without a key, to all of the organization.
        """
        sample = find_topic(topic).sample
        async with self._database.transaction() as connection:
            found = await subscription_store.list_all(connection, organization_id)
            subscribers = [each for each in found if _is_subscribed(each, api_key_id, topic)]
            for each in subscribers:
                subscription = await self._lock(connection, each)
                event = Event(organization_id, api_key_id, topic, new_uuid(), sample)
                if topic == WEBHOOK_TEST:
                    event = test_event(subscription)
                await self._outbox.send_to(connection, [subscription], event)
        if not subscribers:
            raise NoSubscriberForTopic(
                f"no active webhook of this key subscribes to {topic};"
                " POST /api/v1/webhooks adds one"
            )
        return len(subscribers)

    async def test_one(
        self, organization_id: OrganizationId, subscription_id: SubscriptionId
    ) -> None:
        """Send `webhook.test` to one subscription, whatever events it is for."""
        current = await self.get(organization_id, subscription_id)
        async with self._database.transaction() as connection:
            subscription = await self._lock(connection, current)
            await self._outbox.send_to(connection, [subscription], test_event(subscription))

    async def _record(
        self, connection: Connection, change: str, subscription: Subscription
    ) -> None:
        """Write a change into the audit log; a URL may have secrets in it, its host has none."""
        await record(
            connection,
            subscription.organization_id,
            f"webhook.{change}",
            resource=subscription.id,
            now=self._clock.now(),
            host=urlsplit(subscription.url).hostname,
        )

    async def _check_url(self, url: str) -> None:
        try:
            await self._fetcher.check(url, within_s=DNS_TIMEOUT_S)
        except FetchRefused as error:
            raise InvalidWebhookUrl(f"url: {error.message}", field="url") from error

    async def _lock(self, connection: Connection, known: Subscription) -> Subscription:
        # Its own resource lock first, in the same order as the worker that records a test.
        await delivery_store.lock_resource(connection, str(known.id))
        current = await subscription_store.lock(connection, known.id)
        if current is None:
            raise _webhook_not_found(known.id)
        return current

    async def _restart(self, connection: Connection, subscription: Subscription) -> None:
        await subscription_store.set_active(connection, subscription.id)
        await delivery_store.restart(connection, subscription.id, now=self._clock.now())
        await self._jobs.defer(connection, send_job(subscription.id))


def _is_subscribed(subscription: Subscription, api_key_id: ApiKeyId | None, topic: str) -> bool:
    is_theirs = api_key_id is None or subscription.api_key_id in (None, api_key_id)
    is_wanted = topic == WEBHOOK_TEST or not set(subscription.events).isdisjoint(
        patterns_for(topic)
    )
    return subscription.is_active and is_theirs and is_wanted


def _webhook_not_found(subscription_id: SubscriptionId) -> WebhookNotFound:
    return WebhookNotFound(f"there is no webhook {subscription_id}")
