"""Copies for workers: take one, record its result."""

import json
from datetime import datetime, timedelta
from typing import Final

from framekiln.db.pool import Database
from framekiln.destinations import store
from framekiln.destinations.encryption import CredentialEncryption
from framekiln.destinations.events import DestinationEvents
from framekiln.destinations.jobs import copy_job
from framekiln.destinations.model import (
    Destination,
    DestinationError,
    DestinationId,
    DestinationRequest,
    DestinationStatus,
    next_attempt_at,
)
from framekiln.jobs.queue import JobQueue
from framekiln.kit.clock import Clock
from framekiln.quotas.model import Quota
from framekiln.quotas.service import Quotas
from framekiln.renders.lookup import find_render
from framekiln.renders.model import Render

_POSTPONED_FOR: Final = timedelta(seconds=5)


class DestinationWorker:
    """The destinations of all organizations, for workers."""

    def __init__(
        self,
        database: Database,
        *,
        jobs: JobQueue,
        encryption: CredentialEncryption,
        events: DestinationEvents,
        quotas: Quotas,
        clock: Clock,
    ) -> None:
        self._database = database
        self._jobs = jobs
        self._encryption = encryption
        self._events = events
        self._quotas = quotas
        self._clock = clock

    async def take(self, destination_id: DestinationId) -> tuple[Destination, Render] | None:
        """Begin another attempt; None if the copy has ended, or its output was deleted."""
        async with self._database.transaction() as connection:
            taken = await store.take(connection, destination_id)
            if taken is None:
                return None
            render = await find_render(connection, taken.organization_id, taken.render_id)
        return None if render is None else (taken, render)

    async def is_wanted(self, taken: Destination) -> bool:
        """Whether nobody has deleted the output, or has taken the copy meanwhile."""
        async with self._database.connection() as connection:
            return await store.is_taken(connection, taken)

    async def postpone(self, taken: Destination) -> None:
        """Try a copy later, without counting the attempt."""
        run_at = self._clock.now() + _POSTPONED_FOR
        async with self._database.transaction() as connection:
            if await store.give_back(connection, taken):
                job = copy_job(taken.id, taken.organization_id, run_at=run_at)
                await self._jobs.defer(connection, job)

    async def check_quota(self, taken: Destination) -> None:
        """Raise `QuotaExceeded` if the organization may not send more."""
        async with self._database.transaction() as connection:
            await self._quotas.check(connection, taken.organization_id, Quota.UPLOADED_BYTES)

    async def record_bytes(self, taken: Destination, byte_count: int) -> None:
        """Count bytes that were sent."""
        async with self._database.transaction() as connection:
            await self._quotas.record(
                connection, taken.organization_id, Quota.UPLOADED_BYTES, byte_count
            )

    async def request_of(self, taken: Destination) -> DestinationRequest:
        """Return the request of a destination, with its credentials."""
        text = await self._encryption.decrypt(taken.encrypted, row_id=taken.id.bytes)
        return DestinationRequest(taken.type, json.loads(text))

    async def complete(self, taken: Destination, *, byte_size: int) -> None:
        """Record that the copy is complete. Credentials are deleted."""
        async with self._database.transaction() as connection:
            ended = await store.finish(
                connection,
                taken,
                DestinationStatus.COMPLETE,
                byte_size=byte_size,
                completed_at=self._clock.now(),
            )
            if ended is not None:
                await self._events.record(connection, ended)

    async def fail(
        self, taken: Destination, error: DestinationError, *, retryable: bool
    ) -> datetime | None:
        """Record a failed attempt; return when the next one follows, None if there is none."""
        now = self._clock.now()
        retry_at = next_attempt_at(taken.attempts, now=now) if retryable else None
        status = DestinationStatus.FAILED if retry_at is None else DestinationStatus.PENDING
        async with self._database.transaction() as connection:
            ended = await store.finish(connection, taken, status, error=error)
            if ended is None:
                return None
            if retry_at is not None:
                job = copy_job(taken.id, taken.organization_id, run_at=retry_at)
                await self._jobs.defer(connection, job)
            await self._events.record(connection, ended)
        return retry_at
