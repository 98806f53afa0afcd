"""Limits the concurrent requests to endpoints, over all workers together.

An attempt has a slot until the endpoint has answered. Two limits apply: that of the endpoint over
all steps, and that of the step over all runs of its version.
"""

from collections.abc import Collection
from datetime import timedelta
from typing import Final

from framekiln.db.pool import Connection
from framekiln.jobs.queue import JobQueue
from framekiln.kit.clock import Clock
from framekiln.pipelines.jobs import send_job
from framekiln.pipelines.model.pipeline import EndpointId
from framekiln.pipelines.stores import attempt as attempt_store
from framekiln.pipelines.stores.attempt import VersionStep, WaitingAttempt

# Jobs may wait long if no worker runs; a second job for the same attempt is harmless.
_QUEUE_TIMEOUT: Final = timedelta(hours=1)


class EndpointConcurrencyLimiter:
    """Gives slots to the oldest attempts. It locks endpoints, and never waits for attempts."""

    def __init__(self, jobs: JobQueue, *, clock: Clock) -> None:
        self._jobs = jobs
        self._clock = clock

    async def admit(self, connection: Connection, endpoint_ids: Collection[EndpointId]) -> None:
        """Give slots to waiting attempts, up to the limits, and queue their jobs."""
        for endpoint_id in sorted(endpoint_ids):
            await self._admit_endpoint(connection, endpoint_id)

    async def _admit_endpoint(self, connection: Connection, endpoint_id: EndpointId) -> None:
        locked = await attempt_store.lock_endpoint(connection, endpoint_id)
        if locked is None:
            return
        organization_id, limit = locked
        slots = FreeSlots(limit, await attempt_store.count_sending(connection, endpoint_id))
        if slots.count <= 0:
            return
        now = self._clock.now()
        waiting = await attempt_store.list_waiting(
            connection, endpoint_id, now=now, limit=slots.count
        )
        admitted = {each.id: each.run_id for each in waiting if slots.take(each)}
        promoted = await attempt_store.promote(
            connection, list(admitted), overdue_at=now + _QUEUE_TIMEOUT
        )
        jobs = [
            send_job(each, run_id, organization_id)
            for each, run_id in admitted.items()
            if each in promoted
        ]
        await self._jobs.defer_many(connection, jobs)


class FreeSlots:
    """The slots of an endpoint that are free. Pure."""

    def __init__(self, limit: int, sending: dict[VersionStep, int]) -> None:
        self.count = limit - sum(sending.values())
        self._sending = dict(sending)

    def take(self, attempt: WaitingAttempt) -> bool:
        """Take a slot for an attempt; False if its step or the endpoint has none."""
        count = self._sending.get(attempt.step, 0)
        if self.count <= 0 or count >= attempt.step_max_concurrency:
            return False
        self._sending[attempt.step] = count + 1
        self.count -= 1
        return True
