"""Callbacks: a URL of a single resource, which gets the event that ends it.

They are signed, retried and guarded like webhooks. All callbacks of an organization share one
secret, because every resource may have a URL of its own.
"""

from dataclasses import replace
from datetime import timedelta
from typing import Final

from framekiln.audit.log import record
from framekiln.db.pool import Connection, Database
from framekiln.kit.clock import Clock
from framekiln.kit.fetch import GuardedFetcher
from framekiln.kit.guarded_transport import FetchRefused
from framekiln.kit.ids import OrganizationId, new_uuid
from framekiln.webhooks.model import Event, Subscription, SubscriptionId, SubscriptionState
from framekiln.webhooks.outbox import Outbox
from framekiln.webhooks.service import DNS_TIMEOUT_S, OLD_SECRET_LIFETIME
from framekiln.webhooks.signatures import new_secret
from framekiln.webhooks.stores import callback as callback_store
from framekiln.webhooks.stores import delivery as delivery_store
from framekiln.webhooks.stores import subscription as subscriptions

_RETENTION: Final = timedelta(days=30)
_MAX_REMOVED: Final = 1000


class Callbacks:
    """The callbacks of all organizations."""

    def __init__(
        self, database: Database, *, outbox: Outbox, fetcher: GuardedFetcher, clock: Clock
    ) -> None:
        self._database = database
        self._outbox = outbox
        self._fetcher = fetcher
        self._clock = clock

    async def url_error(self, url: str) -> str | None:
        """Return why requests to a URL are refused; None if they are allowed."""
        try:
            await self._fetcher.check(url, within_s=DNS_TIMEOUT_S)
        except FetchRefused as error:
            return error.message
        return None

    async def send(self, connection: Connection, url: str, event: Event) -> None:
        """Queue an event for a URL, in the caller's transaction."""
        # First, in the same order as everywhere: resource, then subscription.
        await delivery_store.lock_resource(connection, str(event.resource_id))
        receiver = await self._receiver(connection, event.organization_id, url)
        if not receiver.is_active:
            # A callback has no owner who could resume it, so a new event does.
            await subscriptions.set_active(connection, receiver.id)
            await delivery_store.restart(connection, receiver.id, now=self._clock.now())
            receiver = replace(receiver, state=SubscriptionState.ACTIVE, failing_since=None)
        await self._outbox.send_to(connection, [receiver], event)

    async def rotate_secret(self, organization_id: OrganizationId) -> str:
        """Set a new secret and return it this once; the old one also signs for a day."""
        secret = new_secret()
        async with self._database.transaction() as connection:
            until = self._clock.now() + OLD_SECRET_LIFETIME
            await callback_store.set_secret(
                connection, organization_id, secret, previous_until=until
            )
            await record(
                connection,
                organization_id,
                "webhook.callback_secret_rotated",
                resource=None,
                now=self._clock.now(),
            )
        return secret

    async def remove_idle(self) -> int:
        """Delete URLs without recent deliveries; return how many."""
        before = self._clock.now() - _RETENTION
        async with self._database.transaction() as connection:
            idle = await callback_store.list_idle(connection, before=before, limit=_MAX_REMOVED)
            return await callback_store.delete_idle(connection, idle)

    async def _receiver(
        self, connection: Connection, organization_id: OrganizationId, url: str
    ) -> Subscription:
        found = await callback_store.find(connection, organization_id, url)
        while found is None:
            await callback_store.ensure_secret(connection, organization_id, new_secret())
            await callback_store.insert(
                connection,
                SubscriptionId(new_uuid()),
                organization_id=organization_id,
                url=url,
                now=self._clock.now(),
            )
            found = await callback_store.find(connection, organization_id, url)
        return found
