"""The SQL of batches.

Runs are admitted under the lock of the batch's row, which is taken before any row of a run. A
transaction that has locked a run never locks its batch: it records a change (`stores/change`).
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from framekiln.db.pool import Connection
from framekiln.kit.ids import ApiKeyId, OrganizationId
from framekiln.pipelines.model.pipeline import (
    Batch,
    BatchCounts,
    BatchId,
    PageRequest,
    PipelineId,
    RunId,
)
from framekiln.pipelines.stores import rows

Row = dict[str, Any]

_BATCH = """
SELECT pipeline_batch.*, counts.* FROM pipeline_batch
JOIN LATERAL (
    SELECT count(*) AS run_count, count(*) FILTER (WHERE status = 'succeeded') AS succeeded_count,
        count(*) FILTER (WHERE status = 'failed') AS failed_count,
        count(*) FILTER (WHERE status = 'filtered') AS filtered_count,
        count(*) FILTER (WHERE status = 'cancelled') AS cancelled_count
    FROM pipeline_run WHERE batch_id = pipeline_batch.id
) AS counts ON true
"""


@dataclass(frozen=True, kw_only=True)
class NewBatch:
    """A batch to be added."""

    id: BatchId
    organization_id: OrganizationId
    api_key_id: ApiKeyId | None
    pipeline_id: PipelineId
    pipeline_version: int
    max_in_flight: int
    idempotency_key: str | None
    request_digest: str
    created_at: datetime


@dataclass(frozen=True, kw_only=True)
class LockedBatch:
    """What is needed of a batch to admit runs, without its counts."""

    id: BatchId
    organization_id: OrganizationId
    max_in_flight: int
    completed_at: datetime | None


async def insert(connection: Connection, new: NewBatch) -> None:
    """Add a batch; the caller has locked its idempotency key."""
    await connection.execute(
        """
        INSERT INTO pipeline_batch (id, organization_id, api_key_id, pipeline_id,
            pipeline_version, max_in_flight, idempotency_key, request_digest, created_at)
        VALUES (%(id)s, %(organization_id)s, %(api_key_id)s, %(pipeline_id)s,
            %(pipeline_version)s, %(max_in_flight)s, %(idempotency_key)s, %(request_digest)s,
            %(created_at)s)
        """,
        vars(new),
    )


async def find(
    connection: Connection, organization_id: OrganizationId, batch_id: BatchId
) -> Batch | None:
    """Return a batch of the organization."""
    cursor = await connection.execute(
        _BATCH + "WHERE pipeline_batch.id = %s AND organization_id = %s",
        (batch_id, organization_id),
    )
    row = await cursor.fetchone()
    return _batch(row) if row else None


async def list_newest(
    connection: Connection, organization_id: OrganizationId, page_request: PageRequest
) -> list[Batch]:
    """Return a page of batches, newest first."""
    found = await rows.list_newest(connection, _BATCH, organization_id, page_request=page_request)
    return [_batch(row) for row in found]


async def lock(connection: Connection, batch_id: BatchId) -> LockedBatch | None:
    """Return a batch, locked until the transaction ends."""
    cursor = await connection.execute(
        """
        SELECT organization_id, max_in_flight, completed_at FROM pipeline_batch
        WHERE id = %s FOR NO KEY UPDATE
        """,
        (batch_id,),
    )
    row = await cursor.fetchone()
    return LockedBatch(id=batch_id, **row) if row else None


async def count_in_flight(connection: Connection, batch_id: BatchId) -> int:
    """Return how many runs are admitted and have not ended."""
    cursor = await connection.execute(
        """
        SELECT count(*) AS n FROM pipeline_run
        WHERE batch_id = %s AND status IN ('pending', 'running') AND is_admitted
        """,
        (batch_id,),
    )
    row = await cursor.fetchone()
    assert row is not None
    return int(row["n"])


async def admit(connection: Connection, batch_id: BatchId, *, limit: int) -> list[RunId]:
    """Admit the oldest waiting runs; return which."""
    cursor = await connection.execute(
        """
        UPDATE pipeline_run SET is_admitted = true WHERE id IN (
            SELECT id FROM pipeline_run
            WHERE batch_id = %s AND status = 'pending' AND NOT is_admitted
            ORDER BY position LIMIT %s)
        RETURNING id
        """,
        (batch_id, limit),
    )
    return [RunId(row["id"]) for row in await cursor.fetchall()]


async def set_completed(connection: Connection, batch_id: BatchId, *, at: datetime | None) -> None:
    """Set when the last run ended, or None after a retry."""
    await connection.execute(
        "UPDATE pipeline_batch SET completed_at = %s WHERE id = %s", (at, batch_id)
    )


def _batch(row: Row) -> Batch:
    return Batch(
        id=BatchId(row["id"]),
        position=row["position"],
        organization_id=OrganizationId(row["organization_id"]),
        api_key_id=ApiKeyId(row["api_key_id"]) if row["api_key_id"] else None,
        pipeline_id=PipelineId(row["pipeline_id"]),
        pipeline_version=row["pipeline_version"],
        max_in_flight=row["max_in_flight"],
        created_at=row["created_at"],
        completed_at=row["completed_at"],
        counts=BatchCounts(
            runs=row["run_count"],
            succeeded=row["succeeded_count"],
            failed=row["failed_count"],
            filtered=row["filtered_count"],
            cancelled=row["cancelled_count"],
        ),
    )
