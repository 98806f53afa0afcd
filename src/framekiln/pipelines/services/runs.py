"""Runs for their owners: start, list, cancel and retry them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from framekiln.db.pool import Connection, Database
from framekiln.files.errors import FileNotFound
from framekiln.files.model import FileType
from framekiln.identity.model import Caller
from framekiln.kit.clock import Clock
from framekiln.kit.ids import FileId, OrganizationId, new_uuid
from framekiln.pipelines.definition.model import Definition
from framekiln.pipelines.errors import (
    RunNotCancellable,
    RunNotFound,
    RunNotRetryable,
    invalid_request,
)
from framekiln.pipelines.execution.coordinator import RunCoordinator
from framekiln.pipelines.model.endpoint import AttemptTimes
from framekiln.pipelines.model.pipeline import BatchId, PageRequest, PipelineId, RunId, StepRunId
from framekiln.pipelines.model.run import Run, RunFilter, StepRun
from framekiln.pipelines.scheduling.status import RunStatus
from framekiln.pipelines.schema.issues import IssueCode, ValidationIssue
from framekiln.pipelines.services.idempotency import IdempotentRequest, create_once
from framekiln.pipelines.services.pipelines import lock_runnable_version
from framekiln.pipelines.services.requests import RunRequest
from framekiln.pipelines.stores import attempt as attempt_store
from framekiln.pipelines.stores import change as change_store
from framekiln.pipelines.stores import run as run_store
from framekiln.pipelines.stores import unit as unit_store
from framekiln.pipelines.stores.run import NewRun
from framekiln.quotas.model import Quota
from framekiln.quotas.service import Quotas


@dataclass(frozen=True)
class RunDetail:
    """A run with its steps."""

    run: Run
    definition: Definition
    steps: Mapping[str, StepRun]


class Runs:
    """The runs of all organizations, for their owners."""

    def __init__(
        self, database: Database, *, coordinator: RunCoordinator, clock: Clock, quotas: Quotas
    ) -> None:
        self._quotas = quotas
        self._database = database
        self._coordinator = coordinator
        self._clock = clock

    async def create(
        self, caller: Caller, request: RunRequest, *, idempotency_key: str | None
    ) -> tuple[RunDetail, bool]:
        """Start a run, or return the one with this key; also return whether it is new."""
        organization_id = caller.organization.id
        run_id, is_new = await create_once(
            self._database,
            IdempotentRequest(organization_id, idempotency_key, request.digest, "pipeline_run"),
            partial(self._insert, caller=caller, request=request, key=idempotency_key),
        )
        return await self.get(organization_id, RunId(run_id)), is_new

    async def get(self, organization_id: OrganizationId, run_id: RunId) -> RunDetail:
        """Return a run of the organization."""
        async with self._database.connection() as connection:
            run = await find_run(connection, organization_id, run_id)
            return (await self._describe(connection, [run]))[0]

    async def page(
        self, organization_id: OrganizationId, wanted: RunFilter, page_request: PageRequest
    ) -> list[RunDetail]:
        """Return a page of runs, newest first."""
        async with self._database.connection() as connection:
            runs = await run_store.list_newest(
                connection, organization_id, wanted, page_request=page_request
            )
            return await self._describe(connection, runs)

    async def cancel(self, organization_id: OrganizationId, run_id: RunId) -> RunDetail:
        """Cancel a run; a run that is already cancelled is returned unchanged."""
        async with self._database.connection() as connection:
            await find_run(connection, organization_id, run_id)
        async with self._coordinator.lock_run(run_id) as locked:
            if locked is None:
                raise _not_found(run_id)
            status = locked.run.status
            if status.is_terminal and status is not RunStatus.CANCELLED:
                raise RunNotCancellable(
                    f"run {run_id} is {status}; only pending and running runs can be cancelled",
                    status=str(status),
                )
            if not status.is_terminal:
                locked.cancel()
        return await self.get(organization_id, run_id)

    async def cancel_batch(self, organization_id: OrganizationId, batch_id: BatchId) -> None:
        """Cancel all runs of a batch that have not ended.

        Those that wait come first, so that none of them is admitted meanwhile.
        """
        async with self._database.connection() as connection:
            run_ids = await run_store.list_unfinished_of_batch(
                connection, organization_id, batch_id
            )
        for run_id in run_ids:
            async with self._coordinator.lock_run(run_id) as locked:
                if locked is not None and not locked.run.status.is_terminal:
                    locked.cancel()

    async def attempts(self, organization_id: OrganizationId, run_id: RunId) -> list[AttemptTimes]:
        """Return the attempts of a run's endpoint steps, oldest first."""
        async with self._database.connection() as connection:
            await find_run(connection, organization_id, run_id)
            return await attempt_store.list_by_run(connection, run_id)

    async def retry(self, organization_id: OrganizationId, run_id: RunId) -> RunDetail:
        """Start again where a run failed or was cancelled; what succeeded is kept."""
        async with self._database.transaction() as connection:
            run = await find_run(connection, organization_id, run_id)
            await run_store.lock_files(connection, organization_id, [run.file_id])
            async with self._coordinator.lock_run_in(connection, run_id) as locked:
                if locked is None:
                    raise _not_found(run_id)
                if not locked.run.status.is_retryable:
                    raise RunNotRetryable(
                        f"run {run_id} is {locked.run.status}; only failed and cancelled runs can"
                        " be retried",
                        status=str(locked.run.status),
                    )
                locked.retry()
                # Media may have arrived since the run ended.
                await _request_windows(connection, run_id, locked.context.definition)
        return await self.get(organization_id, run_id)

    async def _insert(
        self, connection: Connection, *, caller: Caller, request: RunRequest, key: str | None
    ) -> RunId:
        organization_id, pipeline_id = caller.organization.id, PipelineId(request.pipeline_id)
        number = await lock_runnable_version(
            connection, organization_id, pipeline_id, number=request.version
        )
        file_id = FileId(request.file_id)
        await lock_files(connection, organization_id, [file_id])
        await self._quotas.check(connection, organization_id, Quota.QUEUED_JOBS)
        new = NewRun(
            id=RunId(new_uuid()),
            organization_id=organization_id,
            api_key_id=caller.api_key_id,
            pipeline_id=pipeline_id,
            pipeline_version=number,
            file_id=file_id,
            external_id=request.external_id,
            idempotency_key=key,
            request_digest=request.digest,
            created_at=self._clock.now(),
        )
        await run_store.insert(connection, new)
        version = await self._coordinator.versions.get(connection, pipeline_id, number)
        await unit_store.insert_steps(connection, new_steps([new.id], version.definition))
        await _request_windows(connection, new.id, version.definition)
        async with self._coordinator.lock_run_in(connection, new.id):
            pass
        return new.id

    async def _describe(self, connection: Connection, runs: Sequence[Run]) -> list[RunDetail]:
        steps = await unit_store.list_by_run(connection, [run.id for run in runs])
        described = []
        for run in runs:
            version = await self._coordinator.versions.get(
                connection, run.pipeline_id, run.pipeline_version
            )
            described.append(RunDetail(run, version.definition, steps[run.id]))
        return described


def new_steps(
    run_ids: Sequence[RunId], definition: Definition
) -> list[tuple[RunId, StepRunId, str]]:
    """Return the rows for the steps of new runs."""
    return [(run_id, StepRunId(new_uuid()), key) for run_id in run_ids for key in definition.steps]


async def _request_windows(connection: Connection, run_id: RunId, definition: Definition) -> None:
    """Record a change for a run with segment steps: its file must be read for their windows."""
    if definition.has_segments:
        await change_store.record(connection, "run", [run_id])


async def find_run(connection: Connection, organization_id: OrganizationId, run_id: RunId) -> Run:
    """Return a run, or raise `RunNotFound`."""
    run = await run_store.find(connection, organization_id, run_id)
    if run is None:
        raise _not_found(run_id)
    return run


def _not_found(run_id: RunId) -> RunNotFound:
    return RunNotFound(f"there is no run {run_id}")


async def lock_files(
    connection: Connection,
    organization_id: OrganizationId,
    file_ids: Sequence[FileId],
    *,
    paths: Sequence[str] | None = None,
) -> None:
    """Lock files until the transaction ends, or raise if one cannot be used.

    `paths` are the positions of the files in a batch request. A file that becomes ready records a
    change for its runs. It cannot do so while it is locked, so no new run misses the change.
    """
    found = await run_store.lock_files(connection, organization_id, file_ids)
    missing = [str(file_id) for file_id in file_ids if file_id not in found]
    if missing:
        details = {} if paths is None else {"file_ids": missing}
        raise FileNotFound(_describe_missing(missing, len(file_ids)), **details)
    issues = [
        ValidationIssue(path, IssueCode.NOT_ALLOWED)
        for path, file_id in zip(paths or ("file_id",), file_ids, strict=True)
        if found[file_id] is not FileType.VIDEO
    ]
    if issues:
        raise invalid_request(issues, reason="the file is not a video")


def _describe_missing(missing: Sequence[str], count: int) -> str:
    if len(missing) == 1:
        return f"there is no file {missing[0]}"
    return f"{len(missing)} of the {count} files do not exist: file_ids names them"
