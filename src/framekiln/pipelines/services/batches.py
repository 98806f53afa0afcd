"""Batches for their owners, and the admission of their runs: oldest first, up to a limit.

A run that ends records a change. Whoever processes it admits the next runs, under the batch's lock.
"""

from functools import partial

from framekiln.db.pool import Connection, Database
from framekiln.identity.model import Caller
from framekiln.kit.clock import Clock
from framekiln.kit.ids import FileId, OrganizationId, new_uuid
from framekiln.pipelines.errors import BatchNotFound
from framekiln.pipelines.execution import events
from framekiln.pipelines.execution.coordinator import VersionCache
from framekiln.pipelines.model.pipeline import Batch, BatchId, PageRequest, PipelineId, RunId
from framekiln.pipelines.services.idempotency import IdempotentRequest, create_once
from framekiln.pipelines.services.pipelines import lock_runnable_version
from framekiln.pipelines.services.requests import BatchRequest
from framekiln.pipelines.services.runs import lock_files, new_steps
from framekiln.pipelines.stores import batch as batch_store
from framekiln.pipelines.stores import change as change_store
from framekiln.pipelines.stores import run as run_store
from framekiln.pipelines.stores import unit as unit_store
from framekiln.pipelines.stores.batch import LockedBatch, NewBatch
from framekiln.pipelines.stores.run import NewRun
from framekiln.webhooks.outbox import Outbox


class Batches:
    """The batches of all organizations."""

    def __init__(
        self, database: Database, *, versions: VersionCache, outbox: Outbox, clock: Clock
    ) -> None:
        self._database = database
        self._versions = versions
        self._outbox = outbox
        self._clock = clock

    async def create(
        self, caller: Caller, request: BatchRequest, *, idempotency_key: str | None
    ) -> tuple[Batch, bool]:
        """Create a batch with all its runs, or return the one that was created with this key."""
        organization_id, key = caller.organization.id, idempotency_key or request.idempotency_key
        batch_id, is_new = await create_once(
            self._database,
            IdempotentRequest(organization_id, key, request.digest, "pipeline_batch"),
            partial(self._insert, caller=caller, request=request, key=key),
        )
        return await self.get(organization_id, BatchId(batch_id)), is_new

    async def get(self, organization_id: OrganizationId, batch_id: BatchId) -> Batch:
        """Return a batch of the organization."""
        async with self._database.connection() as connection:
            batch = await batch_store.find(connection, organization_id, batch_id)
        if batch is None:
            raise BatchNotFound(f"there is no batch {batch_id}")
        return batch

    async def page(self, organization_id: OrganizationId, page_request: PageRequest) -> list[Batch]:
        """Return a page of batches, newest first."""
        async with self._database.connection() as connection:
            return await batch_store.list_newest(connection, organization_id, page_request)

    async def admit_runs(self, batch_id: BatchId) -> None:
        """Admit runs up to `max_in_flight`; record when all have ended."""
        async with self._database.transaction() as connection:
            batch = await batch_store.lock(connection, batch_id)
            if batch is None:
                return
            in_flight = await batch_store.count_in_flight(connection, batch_id)
            free = batch.max_in_flight - in_flight
            admitted = await batch_store.admit(connection, batch_id, limit=free) if free > 0 else []
            if admitted:
                await change_store.record(connection, "run", admitted)
            # With none in flight, every waiting run would have been admitted.
            await self._record_completion(
                connection, batch, is_completed=not (in_flight or admitted)
            )

    async def _record_completion(
        self, connection: Connection, batch: LockedBatch, *, is_completed: bool
    ) -> None:
        if is_completed == (batch.completed_at is not None):
            return
        now = self._clock.now() if is_completed else None
        await batch_store.set_completed(connection, batch.id, at=now)
        if is_completed:
            current = await batch_store.find(connection, batch.organization_id, batch.id)
            assert current is not None
            await events.record_batch_event(
                connection, self._outbox, current, "pipeline_batch.completed"
            )

    async def _insert(
        self, connection: Connection, *, caller: Caller, request: BatchRequest, key: str | None
    ) -> BatchId:
        organization_id, pipeline_id = caller.organization.id, PipelineId(request.pipeline_id)
        number = await lock_runnable_version(
            connection, organization_id, pipeline_id, number=request.version
        )
        file_ids = [FileId(run.file_id) for run in request.runs]
        await lock_files(connection, organization_id, file_ids, paths=_paths(file_ids))
        batch = NewBatch(
            id=BatchId(new_uuid()),
            organization_id=organization_id,
            api_key_id=caller.api_key_id,
            pipeline_id=pipeline_id,
            pipeline_version=number,
            max_in_flight=request.max_in_flight,
            idempotency_key=key,
            request_digest=request.digest,
            created_at=self._clock.now(),
        )
        await batch_store.insert(connection, batch)
        await self._insert_runs(connection, batch, request)
        created = await batch_store.find(connection, organization_id, batch.id)
        assert created is not None
        await events.record_batch_event(connection, self._outbox, created, "pipeline_batch.created")
        return batch.id

    async def _insert_runs(
        self, connection: Connection, batch: NewBatch, request: BatchRequest
    ) -> None:
        runs = [
            NewRun(
                id=RunId(new_uuid()),
                organization_id=batch.organization_id,
                api_key_id=batch.api_key_id,
                pipeline_id=batch.pipeline_id,
                pipeline_version=batch.pipeline_version,
                file_id=FileId(run.file_id),
                request_digest=batch.request_digest,
                created_at=batch.created_at,
                batch_id=batch.id,
                external_id=run.external_id,
                is_admitted=number < request.max_in_flight,
            )
            for number, run in enumerate(request.runs)
        ]
        version = await self._versions.get(connection, batch.pipeline_id, batch.pipeline_version)
        await run_store.insert_many(connection, runs)
        run_ids = [run.id for run in runs]
        await unit_store.insert_steps(connection, new_steps(run_ids, version.definition))
        # All of them: runs that must wait are created now, too, and have a created event.
        await change_store.record(connection, "run", run_ids)


def _paths(file_ids: list[FileId]) -> list[str]:
    return [f"runs.{number}.file_id" for number in range(len(file_ids))]
