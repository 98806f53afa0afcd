"""The slots of endpoints: they limit concurrent requests, over all workers together.

An attempt has a slot until the endpoint has answered. Two limits apply: that of the endpoint over
all steps, and that of the step over all runs of its version.
"""

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Final

from framekiln.db.pool import Connection
from framekiln.jobs.queue import JobQueue
from framekiln.pipelines.jobs import send_job
from framekiln.pipelines.model.pipeline import EndpointId
from framekiln.pipelines.stores import attempt as attempt_store
from framekiln.pipelines.stores.attempt import VersionStep, WaitingAttempt

# Jobs may wait long if no worker runs; a second job for the same attempt is harmless.
_QUEUE_TIMEOUT: Final = timedelta(hours=1)


async def admit_attempts(
    connection: Connection, endpoint_ids: Collection[EndpointId], *, jobs: JobQueue, now: datetime
) -> None:
    """Give slots to the oldest waiting attempts, up to the limits, and queue their jobs.

    Called in a transaction that may have locked a run, so endpoints are locked after runs. It never
    waits for attempts.
    """
    for endpoint_id in sorted(endpoint_ids):
        await _admit(connection, endpoint_id, jobs=jobs, now=now)


async def _admit(
    connection: Connection, endpoint_id: EndpointId, *, jobs: JobQueue, now: datetime
) -> None:
    locked = await attempt_store.lock_endpoint(connection, endpoint_id)
    if locked is None:
        return
    organization_id, limit = locked
    slots = FreeSlots(limit, await attempt_store.count_sending(connection, endpoint_id))
    if slots.count <= 0:
        return
    waiting = await attempt_store.list_waiting(connection, endpoint_id, now=now, limit=slots.count)
    admitted = {each.id: each.run_id for each in waiting if slots.take(each)}
    promoted = await attempt_store.promote(
        connection, list(admitted), overdue_at=now + _QUEUE_TIMEOUT
    )
    new_jobs = [
        send_job(each, run_id, organization_id)
        for each, run_id in admitted.items()
        if each in promoted
    ]
    await jobs.defer_many(connection, new_jobs)


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
