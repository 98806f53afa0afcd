"""The SQL of review tasks. They are decided under the lock of their run."""

from datetime import datetime
from typing import Any

from psycopg.types.json import Json

from framekiln.db.pool import Connection
from framekiln.kit.ids import FileId, OrganizationId
from framekiln.pipelines.model.pipeline import PageRequest, ReviewId, RunId, StepRunId
from framekiln.pipelines.model.review import (
    Review,
    Reviewer,
    ReviewFilter,
    ReviewStatus,
)
from framekiln.pipelines.outputs.corrections import Correction
from framekiln.pipelines.stores import rows

Row = dict[str, Any]


async def insert(connection: Connection, review: Review) -> None:
    """Add a task; the database sets its position."""
    await connection.execute(
        """
        INSERT INTO pipeline_review (id, organization_id, run_id, step_run_id, step_key, attempt,
            instructions, input_namespaces, on_expiry, created_at, expires_at)
        VALUES (%(id)s, %(organization_id)s, %(run_id)s, %(step_run_id)s, %(step_key)s,
            %(attempt)s, %(instructions)s, %(namespaces)s, %(on_expiry)s, %(created_at)s,
            %(expires_at)s)
        """,
        {**vars(review), "namespaces": list(review.input_namespaces)},
    )


async def find(
    connection: Connection, organization_id: OrganizationId, review_id: ReviewId
) -> Review | None:
    """Return a task of the organization."""
    cursor = await connection.execute(
        "SELECT * FROM pipeline_review WHERE id = %s AND organization_id = %s",
        (review_id, organization_id),
    )
    row = await cursor.fetchone()
    return _review(row) if row else None


async def list_newest(
    connection: Connection,
    organization_id: OrganizationId,
    wanted: ReviewFilter,
    *,
    page_request: PageRequest,
) -> list[Review]:
    """Return a page of tasks, newest first."""
    found = await rows.list_newest(
        connection,
        "SELECT * FROM pipeline_review",
        organization_id,
        page_request=page_request,
        wanted=vars(wanted),
    )
    return [_review(row) for row in found]


async def is_file_pending(
    connection: Connection, organization_id: OrganizationId, file_id: FileId, *, now: datetime
) -> bool:
    """Whether a task about a file waits for a decision."""
    cursor = await connection.execute(
        """
        SELECT 1 FROM pipeline_review r JOIN pipeline_run AS run ON run.id = r.run_id
        WHERE r.organization_id = %s AND r.status = 'pending' AND r.expires_at > %s
          AND run.file_id = %s
        LIMIT 1
        """,
        (organization_id, now, file_id),
    )
    return await cursor.fetchone() is not None


async def list_expired(
    connection: Connection, *, now: datetime, limit: int
) -> list[tuple[OrganizationId, ReviewId]]:
    """Return pending tasks that have expired."""
    cursor = await connection.execute(
        """
        SELECT organization_id, id FROM pipeline_review
        WHERE status = 'pending' AND expires_at <= %s ORDER BY expires_at LIMIT %s
        """,
        (now, limit),
    )
    return [
        (OrganizationId(row["organization_id"]), ReviewId(row["id"]))
        for row in await cursor.fetchall()
    ]


async def save(connection: Connection, review: Review) -> bool:
    """Store the decision of a pending task; False if it is not pending."""
    correction, by = review.correction, review.decided_by
    cursor = await connection.execute(
        """
        UPDATE pipeline_review SET status = %(status)s, decided_by_type = %(by_type)s,
            decided_by_id = %(by_id)s, reason = %(reason)s, correction = %(json)s,
            decided_at = %(decided_at)s
        WHERE id = %(id)s AND status = 'pending'
        """,
        {
            **vars(review),
            "by_type": by.type if by else None,
            "by_id": by.id if by else None,
            "json": None if correction is None else Json(correction.to_json()),
        },
    )
    return cursor.rowcount == 1


async def cancel(connection: Connection, run_id: RunId, step_key: str) -> None:
    """Cancel the pending task of a step."""
    await connection.execute(
        """
        UPDATE pipeline_review SET status = 'cancelled'
        WHERE run_id = %s AND step_key = %s AND status = 'pending'
        """,
        (run_id, step_key),
    )


async def load_corrections(connection: Connection, run_id: RunId) -> dict[str, Correction]:
    """Return the corrections of a run, by step key of the review; the last task counts."""
    cursor = await connection.execute(
        """
        SELECT DISTINCT ON (step_key) step_key, correction FROM pipeline_review
        WHERE run_id = %s AND status = 'approved' AND correction IS NOT NULL
        ORDER BY step_key, position DESC
        """,
        (run_id,),
    )
    return {
        row["step_key"]: Correction.from_json(row["correction"]) for row in await cursor.fetchall()
    }


def _review(row: Row) -> Review:
    by, correction = row["decided_by_id"], row["correction"]
    return Review(
        id=ReviewId(row["id"]),
        position=row["position"],
        organization_id=OrganizationId(row["organization_id"]),
        run_id=RunId(row["run_id"]),
        step_run_id=StepRunId(row["step_run_id"]),
        step_key=row["step_key"],
        attempt=row["attempt"],
        status=ReviewStatus(row["status"]),
        instructions=row["instructions"],
        input_namespaces=tuple(row["input_namespaces"]),
        on_expiry=row["on_expiry"],
        decided_by=Reviewer(row["decided_by_type"], by) if by else None,
        reason=row["reason"],
        correction=None if correction is None else Correction.from_json(correction),
        created_at=row["created_at"],
        expires_at=row["expires_at"],
        decided_at=row["decided_at"],
    )
