"""What workers do with deliveries: take one, say how it went, look for what is due.

A delivery is sent again when its worker dies, so a receiver may get it twice, never not at all.
Locks are taken in this order: the resource's, the subscription's, the gate's.
"""

from datetime import datetime, timedelta
from typing import Final

import structlog

from framekiln.db.pool import Connection, Database
from framekiln.jobs.queue import JobQueue
from framekiln.kit.clock import Clock
from framekiln.webhooks import store
from framekiln.webhooks.deliveries import store as lines
from framekiln.webhooks.gate import store as gate
from framekiln.webhooks.jobs import send_job
from framekiln.webhooks.model import (
    Attempt,
    Delivery,
    DeliveryStatus,
    Subscription,
    SubscriptionId,
    Taken,
)
from framekiln.webhooks.pacing import MAX_PER_SUBSCRIPTION, is_dead, next_try, room, was_away

log = structlog.get_logger(__name__)

SEND_WITHIN_S: Final = 30.0
# Longer than sending and writing down can take.
_OVERDUE_AFTER: Final = timedelta(seconds=3 * SEND_WITHIN_S)
_KEPT_FOR: Final = timedelta(days=30)
_SUBSCRIPTIONS_A_TICK: Final = 100
_REMOVED_AT_A_TIME: Final = 1000


class WebhookWork:
    """The deliveries of all organizations, as workers see them."""

    def __init__(self, database: Database, *, jobs: JobQueue, clock: Clock) -> None:
        self._database = database
        self._jobs = jobs
        self._clock = clock

    async def take(self, subscription_id: SubscriptionId, *, job_id: int) -> Taken | None:
        """Return what is to be sent now; None when nothing is due, or too much is under way."""
        now = self._clock.now()
        async with self._database.transaction() as connection:
            subscription = await store.lock(connection, subscription_id)
            if subscription is None:
                return None
            # Last: all workers pass here, and must not wait for one subscription's long change.
            await gate.lock(connection)
            await gate.give_back_of(connection, subscription_id, job_id=job_id, now=now)
            if not subscription.is_active or not await _room(connection, subscription):
                return None
            taken = await gate.take(
                connection,
                subscription_id,
                job_id=job_id,
                now=now,
                overdue_at=now + _OVERDUE_AFTER,
            )
            if taken is None:
                return None
            delivery = await lines.find(connection, subscription.organization_id, taken)
            assert delivery is not None
            body = await store.find_body(connection, delivery.event_id)
        return Taken(delivery, subscription, body)

    async def finish(self, taken: Taken, attempt: Attempt) -> None:
        """Write down how an attempt went; nothing changes when another worker has it by now."""
        delivery, now = taken.delivery, self._clock.now()
        async with self._database.transaction() as connection:
            await lines.lock_resource(connection, delivery.resource_id)
            subscription = await store.lock(connection, delivery.subscription_id)
            if subscription is None:
                return
            if not await _settle(connection, delivery, attempt, now=now):
                log.warning("webhook was sent by two workers", delivery_id=str(delivery.id))
                return
            await lines.add_attempt(connection, delivery.id, attempt)
            if attempt.is_success:
                await _note_success(connection, subscription, now=now)
                await self._call_more(connection, subscription, now=now)
            else:
                await _note_failure(connection, subscription, attempt, now=now)

    async def send_due(self) -> int:
        """Queue what has become due, and what dead workers left; return how much."""
        now = self._clock.now()
        async with self._database.transaction() as connection:
            await gate.give_back_overdue(connection, now=now)
            due = await gate.list_due(connection, now=now, limit=_SUBSCRIPTIONS_A_TICK)
            jobs = [
                send_job(each.subscription_id, dedupe_key=f"webhook:{each.subscription_id}:{n}")
                for each in due
                for n in range(each.count)
            ]
            queued = await self._jobs.defer_many(connection, jobs)
        return sum(job_id is not None for job_id in queued)

    async def remove_old(self) -> int:
        """Forget deliveries that ended, or waited in vain, for 30 days; return how many."""
        before = self._clock.now() - _KEPT_FOR
        async with self._database.transaction() as connection:
            ended = await lines.delete_ended(connection, before=before, limit=_REMOVED_AT_A_TIME)
            unsent = await lines.delete_unsent(connection, before=before)
            await store.delete_old_events(connection, before=before, limit=_REMOVED_AT_A_TIME)
        return ended + unsent

    async def _call_more(
        self, connection: Connection, subscription: Subscription, *, now: datetime
    ) -> None:
        """Queue what may be sent now that there is room for it."""
        if not subscription.is_active:
            return
        ready = await gate.count_ready(
            connection, subscription.id, now=now, limit=MAX_PER_SUBSCRIPTION
        )
        if ready:
            in_flight = await gate.count_in_flight(connection, subscription)
            free = min(ready, room(in_flight, is_doubtful=False))
            await self._jobs.defer_many(connection, [send_job(subscription.id)] * free)


async def _room(connection: Connection, subscription: Subscription) -> int:
    in_flight = await gate.count_in_flight(connection, subscription)
    return room(in_flight, is_doubtful=subscription.is_doubtful)


async def _settle(
    connection: Connection, delivery: Delivery, attempt: Attempt, *, now: datetime
) -> bool:
    """Let a delivery end or wait; False when it is not ours any more."""
    again_at = next_try(delivery.tries + 1, now=now)
    if not attempt.is_success and again_at is not None:
        return await lines.postpone(connection, delivery, until=again_at)
    status = DeliveryStatus.DELIVERED if attempt.is_success else DeliveryStatus.FAILED
    if not await lines.end(connection, delivery, status, now=now):
        return False
    await lines.advance_line(connection, delivery, now=now)
    return True


async def _note_success(
    connection: Connection, subscription: Subscription, *, now: datetime
) -> None:
    await store.set_reached(connection, subscription.id, now=now)
    if was_away(subscription.failing_since, now=now):
        await lines.bring_forward(connection, subscription.id, now=now)


async def _note_failure(
    connection: Connection, subscription: Subscription, attempt: Attempt, *, now: datetime
) -> None:
    since = subscription.failing_since
    if since is None:
        await store.set_failing(connection, subscription.id, since=now)
    elif subscription.is_active and is_dead(since, now=now):
        reason = (
            f"every delivery since {since.isoformat(timespec='seconds')} has failed,"
            f" the last one because the receiver {attempt.error}"
        )
        await store.set_paused(connection, subscription.id, reason)
        log.warning("webhook paused", subscription_id=str(subscription.id), reason=reason)
