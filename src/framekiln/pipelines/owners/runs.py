"""What owners do with runs: begin, look at, stop and retry them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from framekiln.db.pool import Connection, Database
from framekiln.identity.model import Caller
from framekiln.kit.clock import Clock
from framekiln.kit.ids import FileId, OrganizationId, new_uuid
from framekiln.pipelines.definitions.definition import Definition
from framekiln.pipelines.errors import (
    RunNotCancellable,
    RunNotFound,
    RunNotRetryable,
)
from framekiln.pipelines.model.ids import PipelineId, RunId, StepRunId
from framekiln.pipelines.model.listing import Stretch
from framekiln.pipelines.model.run import Run, StepRun
from framekiln.pipelines.owners.catalogue import open_version
from framekiln.pipelines.owners.input_files import lock_files
from framekiln.pipelines.owners.once import Keyed, make_once
from framekiln.pipelines.owners.requests import RunRequest
from framekiln.pipelines.running.advance import Advance
from framekiln.pipelines.states.statuses import RunStatus
from framekiln.pipelines.tables.change import store as change_store
from framekiln.pipelines.tables.run import store
from framekiln.pipelines.tables.run.store import NewRun, RunFilter
from framekiln.pipelines.tables.unit import store as unit_store


@dataclass(frozen=True)
class RunDetail:
    """A run with its steps."""

    run: Run
    definition: Definition
    steps: Mapping[str, StepRun]


class Runs:
    """The runs of all organizations, as their owners see them."""

    def __init__(self, database: Database, *, advance: Advance, clock: Clock) -> None:
        self._database = database
        self._advance = advance
        self._clock = clock

    async def create(
        self, caller: Caller, asked: RunRequest, *, idempotency_key: str | None
    ) -> tuple[RunDetail, bool]:
        """Begin a run, or find the one that was begun with this key; say whether it is new."""
        organization_id = caller.organization.id
        run_id, is_new = await make_once(
            self._database,
            Keyed(organization_id, idempotency_key, asked.digest, "pipeline_run"),
            partial(self._insert, caller=caller, asked=asked, key=idempotency_key),
        )
        return await self.get(organization_id, RunId(run_id)), is_new

    async def get(self, organization_id: OrganizationId, run_id: RunId) -> RunDetail:
        """Return a run of the organization."""
        async with self._database.connection() as connection:
            run = await store.find(connection, organization_id, run_id)
            if run is None:
                raise no_run(run_id)
            return (await self._describe(connection, [run]))[0]

    async def page(
        self, organization_id: OrganizationId, wanted: RunFilter, stretch: Stretch
    ) -> list[RunDetail]:
        """Return a page of runs, newest first."""
        async with self._database.connection() as connection:
            runs = await store.list_newest(connection, organization_id, wanted, stretch=stretch)
            return await self._describe(connection, runs)

    async def cancel(self, organization_id: OrganizationId, run_id: RunId) -> RunDetail:
        """Stop a run; one that was stopped before is returned as it is."""
        await self._find(organization_id, run_id)
        async with self._advance.hold(run_id) as held:
            if held is None:
                raise no_run(run_id)
            status = held.run.status
            if status.is_terminal and status is not RunStatus.CANCELLED:
                raise RunNotCancellable(
                    f"run {run_id} is {status}, so there is nothing to stop", status=str(status)
                )
            if not status.is_terminal:
                held.cancel()
        return await self.get(organization_id, run_id)

    async def retry(self, organization_id: OrganizationId, run_id: RunId) -> RunDetail:
        """Begin again where a run failed or was stopped; what succeeded is kept."""
        run = await self._find(organization_id, run_id)
        async with self._database.transaction() as connection:
            await store.lock_files(connection, organization_id, [run.file_id])
            async with self._advance.hold_in(connection, run_id) as held:
                if held is None:
                    raise no_run(run_id)
                if not held.run.status.is_retryable:
                    raise RunNotRetryable(
                        f"run {run_id} is {held.run.status}; only failed and cancelled runs can"
                        " be retried",
                        status=str(held.run.status),
                    )
                held.retry()
                # Media may have come while it stood still.
                await have_windows_cut(connection, [run_id], held.frame.definition)
        return await self.get(organization_id, run_id)

    async def _insert(
        self, connection: Connection, *, caller: Caller, asked: RunRequest, key: str | None
    ) -> RunId:
        organization_id, pipeline_id = caller.organization.id, PipelineId(asked.pipeline_id)
        number = await open_version(connection, organization_id, pipeline_id, number=asked.version)
        file_id = FileId(asked.file_id)
        await lock_files(connection, organization_id, [file_id])
        new = NewRun(
            id=RunId(new_uuid()),
            organization_id=organization_id,
            api_key_id=caller.api_key_id,
            pipeline_id=pipeline_id,
            pipeline_version=number,
            file_id=file_id,
            external_id=asked.external_id,
            idempotency_key=key,
            request_digest=asked.digest,
            created_at=self._clock.now(),
        )
        await store.insert(connection, new)
        version = await self._advance.versions.get(connection, pipeline_id, number)
        await unit_store.insert_steps(connection, new_steps([new.id], version.definition))
        await have_windows_cut(connection, [new.id], version.definition)
        async with self._advance.hold_in(connection, new.id):
            pass
        return new.id

    async def _find(self, organization_id: OrganizationId, run_id: RunId) -> Run:
        async with self._database.connection() as connection:
            run = await store.find(connection, organization_id, run_id)
        if run is None:
            raise no_run(run_id)
        return run

    async def _describe(self, connection: Connection, runs: Sequence[Run]) -> list[RunDetail]:
        steps = await unit_store.list_by_run(connection, [run.id for run in runs])
        described = []
        for run in runs:
            version = await self._advance.versions.get(
                connection, run.pipeline_id, run.pipeline_version
            )
            described.append(RunDetail(run, version.definition, steps[run.id]))
        return described


def new_steps(
    run_ids: Sequence[RunId], definition: Definition
) -> list[tuple[RunId, StepRunId, str]]:
    """Return the rows for the steps of new runs."""
    return [(run_id, StepRunId(new_uuid()), key) for run_id in run_ids for key in definition.steps]


async def have_windows_cut(
    connection: Connection, run_ids: Sequence[RunId], definition: Definition
) -> None:
    """Have runs looked at after the transaction, if files must be read to know their windows."""
    if any(step.segments is not None for step in definition.steps.values()):
        await change_store.record(connection, "run", run_ids)


def no_run(run_id: RunId) -> RunNotFound:
    """Return the error that there is no such run."""
    return RunNotFound(f"there is no run {run_id}")
