"""Copies for workers: take one, record its result."""

import json
from datetime import datetime

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
from framekiln.renders.lookup import find_render
from framekiln.renders.model import Render


class DestinationWorker:
    """The destinations of all organizations, for workers."""

    def __init__(
        self,
        database: Database,
        *,
        jobs: JobQueue,
        encryption: CredentialEncryption,
        events: DestinationEvents,
        clock: Clock,
    ) -> None:
        self._database = database
        self._jobs = jobs
        self._encryption = encryption
        self._events = events
        self._clock = clock

    async def take(self, destination_id: DestinationId) -> tuple[Destination, Render] | None:
        """Begin another attempt; None if the copy has ended, or its output was deleted."""
        async with self._database.transaction() as connection:
            taken = await store.take(connection, destination_id)
            if taken is None:
                return None
            render = await find_render(connection, taken.organization_id, taken.render_id)
        return None if render is None else (taken, render)

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
