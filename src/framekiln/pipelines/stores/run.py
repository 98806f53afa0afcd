"""The SQL of runs. Every read for a caller filters by organization."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from framekiln.db.pool import Connection
from framekiln.files.model import FileType
from framekiln.jobs.failures import Failure
from framekiln.kit.ids import ApiKeyId, FileId, OrganizationId
from framekiln.pipelines.model.pipeline import BatchId, PageRequest, PipelineId, RunId
from framekiln.pipelines.model.run import Run, RunFilter
from framekiln.pipelines.scheduling.status import RunStatus
from framekiln.pipelines.stores import rows

Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class NewRun:
    """A run to be added."""

    id: RunId
    organization_id: OrganizationId
    api_key_id: ApiKeyId | None
    pipeline_id: PipelineId
    pipeline_version: int
    file_id: FileId
    request_digest: str
    created_at: datetime
    batch_id: BatchId | None = None
    external_id: str | None = None
    is_admitted: bool = True
    idempotency_key: str | None = None


async def insert(connection: Connection, new: NewRun) -> None:
    """Add a run; the caller has locked its idempotency key."""
    await connection.execute(_INSERT, vars(new))


async def insert_many(connection: Connection, runs: Sequence[NewRun]) -> None:
    """Add runs without idempotency keys, in order."""
    async with connection.cursor() as cursor:
        await cursor.executemany(_INSERT, [vars(run) for run in runs])


async def find(
    connection: Connection, organization_id: OrganizationId, run_id: RunId
) -> Run | None:
    """Return a run of the organization."""
    cursor = await connection.execute(
        "SELECT * FROM pipeline_run WHERE id = %s AND organization_id = %s",
        (run_id, organization_id),
    )
    row = await cursor.fetchone()
    return _run(row) if row else None


async def find_by_id(connection: Connection, run_id: RunId) -> Run | None:
    """Return a run of any organization: for workers."""
    cursor = await connection.execute("SELECT * FROM pipeline_run WHERE id = %s", (run_id,))
    row = await cursor.fetchone()
    return _run(row) if row else None


async def list_newest(
    connection: Connection,
    organization_id: OrganizationId,
    wanted: RunFilter,
    *,
    page_request: PageRequest,
) -> list[Run]:
    """Return a page of runs, newest first."""
    found = await rows.list_newest(
        connection,
        "SELECT * FROM pipeline_run",
        organization_id,
        page_request=page_request,
        wanted=vars(wanted),
    )
    return [_run(row) for row in found]


async def lock(connection: Connection, run_id: RunId) -> Run | None:
    """Return a run, locked until the transaction ends."""
    cursor = await connection.execute(
        "SELECT * FROM pipeline_run WHERE id = %s FOR NO KEY UPDATE", (run_id,)
    )
    row = await cursor.fetchone()
    return _run(row) if row else None


async def save(connection: Connection, run: Run) -> None:
    """Write the columns of a run that may change; the caller has locked it."""
    await connection.execute(
        """
        UPDATE pipeline_run SET status = %(status)s, is_admitted = %(is_admitted)s,
            sequence = %(sequence)s,
            error_code = %(error_code)s, error_message = %(error_message)s,
            error_step_key = %(failed_step_key)s, cancel_requested_at = %(cancel_requested_at)s,
            started_at = %(started_at)s, completed_at = %(completed_at)s
        WHERE id = %(id)s
        """,
        {
            **vars(run),
            "error_code": run.failure.code if run.failure else None,
            "error_message": run.failure.message if run.failure else None,
        },
    )


async def list_unfinished(connection: Connection, file_id: FileId) -> list[RunId]:
    """Return the runs over a file that have not ended, oldest first."""
    cursor = await connection.execute(
        """
        SELECT id FROM pipeline_run WHERE file_id = %s AND status IN ('pending', 'running')
        ORDER BY position
        """,
        (file_id,),
    )
    return [RunId(row["id"]) for row in await cursor.fetchall()]


async def list_unfinished_of_batch(
    connection: Connection, organization_id: OrganizationId, batch_id: BatchId
) -> list[RunId]:
    """Return the runs of a batch that have not ended, those first that wait to be admitted."""
    cursor = await connection.execute(
        """
        SELECT id FROM pipeline_run
        WHERE organization_id = %s AND batch_id = %s AND status IN ('pending', 'running')
        ORDER BY is_admitted, position DESC
        """,
        (organization_id, batch_id),
    )
    return [RunId(row["id"]) for row in await cursor.fetchall()]


async def lock_files(
    connection: Connection, organization_id: OrganizationId, file_ids: Sequence[FileId]
) -> dict[FileId, FileType]:
    """Lock files until the transaction ends; return the types of those that exist."""
    cursor = await connection.execute(
        """
        SELECT id, type FROM file WHERE id = ANY(%s) AND organization_id = %s
        ORDER BY id FOR SHARE
        """,
        (list(file_ids), organization_id),
    )
    return {FileId(row["id"]): FileType(row["type"]) for row in await cursor.fetchall()}


_INSERT = """
INSERT INTO pipeline_run (id, organization_id, api_key_id, pipeline_id, pipeline_version, file_id,
    batch_id, external_id, status, is_admitted, idempotency_key, request_digest, created_at)
VALUES (%(id)s, %(organization_id)s, %(api_key_id)s, %(pipeline_id)s, %(pipeline_version)s,
    %(file_id)s, %(batch_id)s, %(external_id)s, 'pending', %(is_admitted)s, %(idempotency_key)s,
    %(request_digest)s, %(created_at)s)
"""


def _run(row: Row) -> Run:
    code = row["error_code"]
    return Run(
        id=RunId(row["id"]),
        position=row["position"],
        organization_id=OrganizationId(row["organization_id"]),
        api_key_id=ApiKeyId(row["api_key_id"]) if row["api_key_id"] else None,
        pipeline_id=PipelineId(row["pipeline_id"]),
        pipeline_version=row["pipeline_version"],
        file_id=FileId(row["file_id"]),
        batch_id=BatchId(row["batch_id"]) if row["batch_id"] else None,
        external_id=row["external_id"],
        status=RunStatus(row["status"]),
        is_admitted=row["is_admitted"],
        sequence=row["sequence"],
        failure=None if code is None else Failure(code, row["error_message"]),
        failed_step_key=row["error_step_key"],
        cancel_requested_at=row["cancel_requested_at"],
        created_at=row["created_at"],
        started_at=row["started_at"],
        completed_at=row["completed_at"],
    )
