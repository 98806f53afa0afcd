"""Deliveries for workers: take one, record its result, queue what is due.

A delivery is sent again when its worker dies, so receivers get every event at least once.
Locks are taken in this order: resource, subscription, delivery queue.
"""

from datetime import datetime, timedelta
from typing import Final

import structlog

from framekiln.db.pool import Connection, Database
from framekiln.jobs.failures import DATABASE_TIMEOUT_S
from framekiln.jobs.queue import JobQueue
from framekiln.kit.clock import Clock
from framekiln.webhooks.delivery_policy import (
    MAX_PER_SUBSCRIPTION,
    free_slots,
    has_recovered,
    next_attempt_at,
    should_pause,
)
from framekiln.webhooks.jobs import send_job
from framekiln.webhooks.model import (
    Delivery,
    DeliveryAttempt,
    DeliveryStatus,
    Subscription,
    SubscriptionId,
    TakenDelivery,
)
from framekiln.webhooks.stores import delivery as delivery_store
from framekiln.webhooks.stores import delivery_queue
from framekiln.webhooks.stores import subscription as subscription_store

log = structlog.get_logger(__name__)

SEND_TIMEOUT_S: Final = 30.0
OVERDUE_AFTER: Final = timedelta(seconds=SEND_TIMEOUT_S + DATABASE_TIMEOUT_S + 30)
"""Longer than sending and recording can take: what is released earlier is sent twice."""
_RETENTION: Final = timedelta(days=30)
_MAX_SUBSCRIPTIONS_PER_TICK: Final = 100
_MAX_REMOVED: Final = 1000


class WebhookWorker:
    """The deliveries of all organizations, for workers."""

    def __init__(self, database: Database, *, jobs: JobQueue, clock: Clock) -> None:
        self._database = database
        self._jobs = jobs
        self._clock = clock

    async def take(self, subscription_id: SubscriptionId, *, job_id: int) -> TakenDelivery | None:
        """Take the next delivery; None if nothing is due, or the limits are reached."""
        async with self._database.transaction() as connection:
            subscription = await subscription_store.lock(connection, subscription_id)
            if subscription is None:
                return None
            # Locked last: all workers need it, and must not wait for a change of one subscription.
            await delivery_queue.lock(connection)
            now = self._clock.now()
            await delivery_queue.release_by_job(connection, subscription_id, job_id=job_id, now=now)
            if not subscription.is_active or not await _free_slots(connection, subscription):
                return None
            taken = await delivery_queue.take(
                connection,
                subscription_id,
                job_id=job_id,
                now=now,
                overdue_at=now + OVERDUE_AFTER,
            )
            if taken is None:
                return None
            delivery = await delivery_store.find(connection, subscription.organization_id, taken)
            assert delivery is not None
            body = await subscription_store.find_body(connection, delivery.event_id)
        return TakenDelivery(delivery, subscription, body)

    async def finish(self, taken: TakenDelivery, attempt: DeliveryAttempt) -> None:
        """Record the result of an attempt; ignored if another worker has taken the delivery."""
        delivery = taken.delivery
        async with self._database.transaction() as connection:
            await delivery_store.lock_resource(connection, delivery.resource_id)
            subscription = await subscription_store.lock(connection, delivery.subscription_id)
            if subscription is None:
                return
            # Not before the locks: what became due while this waited must be queued, too.
            now = self._clock.now()
            if not await _record_result(connection, delivery, attempt, now=now):
                log.warning("webhooks.delivery_sent_twice", delivery_id=str(delivery.id))
                return
            await delivery_store.add_attempt(connection, delivery.id, attempt)
            if attempt.is_success:
                await _record_success(connection, subscription, now=now)
                await self._queue_more(connection, subscription, now=now)
            else:
                await _record_failure(connection, subscription, attempt, now=now)

    async def queue_due(self) -> int:
        """Queue deliveries that are due, also those of dead workers; return how many."""
        now = self._clock.now()
        async with self._database.transaction() as connection:
            await delivery_queue.release_overdue(connection, now=now)
            due = await delivery_queue.list_due(
                connection, now=now, limit=_MAX_SUBSCRIPTIONS_PER_TICK
            )
            jobs = [
                send_job(each.subscription_id, dedupe_key=f"webhook:{each.subscription_id}:{n}")
                for each in due
                for n in range(each.count)
            ]
            queued = await self._jobs.defer_many(connection, jobs)
        return sum(job_id is not None for job_id in queued)

    async def remove_old(self) -> int:
        """Delete deliveries that ended, or waited unsent, 30 days ago; return how many."""
        before = self._clock.now() - _RETENTION
        async with self._database.transaction() as connection:
            ended = await delivery_store.delete_ended(connection, before=before, limit=_MAX_REMOVED)
            unsent = await delivery_store.delete_unsent(connection, before=before)
            await subscription_store.delete_old_events(
                connection, before=before, limit=_MAX_REMOVED
            )
        return ended + unsent

    async def _queue_more(
        self, connection: Connection, subscription: Subscription, *, now: datetime
    ) -> None:
        """Queue deliveries for the slots that are free now."""
        if not subscription.is_active:
            return
        ready = await delivery_queue.count_ready(
            connection, subscription.id, now=now, limit=MAX_PER_SUBSCRIPTION
        )
        if ready:
            in_flight = await delivery_queue.count_in_flight(connection, subscription)
            free = min(ready, free_slots(in_flight, is_doubtful=False))
            await self._jobs.defer_many(connection, [send_job(subscription.id)] * free)


async def _free_slots(connection: Connection, subscription: Subscription) -> int:
    in_flight = await delivery_queue.count_in_flight(connection, subscription)
    return free_slots(in_flight, is_doubtful=subscription.is_doubtful)


async def _record_result(
    connection: Connection, delivery: Delivery, attempt: DeliveryAttempt, *, now: datetime
) -> bool:
    """End or postpone a delivery; False if another worker has taken it."""
    retry_at = next_attempt_at(delivery.tries + 1, now=now)
    if not attempt.is_success and retry_at is not None:
        return await delivery_store.postpone(connection, delivery, until=retry_at)
    status = DeliveryStatus.DELIVERED if attempt.is_success else DeliveryStatus.FAILED
    if not await delivery_store.end(connection, delivery, status, now=now):
        return False
    await delivery_store.release_next(connection, delivery, now=now)
    return True


async def _record_success(
    connection: Connection, subscription: Subscription, *, now: datetime
) -> None:
    await subscription_store.record_success(connection, subscription.id, now=now)
    if has_recovered(subscription.failing_since, now=now):
        await delivery_store.retry_all_now(connection, subscription.id, now=now)


async def _record_failure(
    connection: Connection, subscription: Subscription, attempt: DeliveryAttempt, *, now: datetime
) -> None:
    since = subscription.failing_since
    if since is None:
        await subscription_store.record_first_failure(connection, subscription.id, since=now)
    elif subscription.is_active and should_pause(since, now=now):
        reason = (
            f"every delivery since {since.isoformat(timespec='seconds')} has failed,"
            f" the last one because the receiver {attempt.error}"
        )
        await subscription_store.set_paused(connection, subscription.id, reason)
        log.warning(
            "webhooks.subscription_paused", subscription_id=str(subscription.id), reason=reason
        )
