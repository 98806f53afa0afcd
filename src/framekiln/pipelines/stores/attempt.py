"""The SQL of attempts of endpoint steps.

Slots are given under the lock of the endpoint, so the limits hold for all workers together.
Attempts are locked after their run; giving slots skips attempts that are locked.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from psycopg.types.json import Json

from framekiln.db.pool import Connection
from framekiln.kit.ids import OrganizationId
from framekiln.pipelines.definition.windows import Window
from framekiln.pipelines.model.endpoint import AttemptState, AttemptTimes, EndpointAttempt
from framekiln.pipelines.model.pipeline import AttemptId, EndpointId, PipelineId, RunId, StepRunId

Row = dict[str, Any]

MAX_LISTED: Final = 1000

_FIND = """
SELECT attempt.*, run.organization_id, part.start_ms, part.end_ms, part.overlap_ms
FROM pipeline_attempt attempt
JOIN pipeline_run run ON run.id = attempt.run_id
LEFT JOIN pipeline_window part
    ON part.step_run_id = attempt.step_run_id AND part.number = attempt.window_number
"""


@dataclass(frozen=True, kw_only=True)
class NewAttempt:
    """An attempt to be added."""

    id: AttemptId
    run_id: RunId
    step_run_id: StepRunId
    window_number: int | None
    endpoint_id: EndpointId
    pipeline_id: PipelineId
    pipeline_version: int
    step_key: str
    step_max_concurrency: int
    number: int
    idempotency_key: str
    due_at: datetime
    created_at: datetime


@dataclass(frozen=True)
class VersionStep:
    """The scope of a step's own limit: the same step of all runs of a version."""

    pipeline_id: PipelineId
    pipeline_version: int
    step_key: str


@dataclass(frozen=True)
class WaitingAttempt:
    """An attempt that can be sent if there is a slot."""

    id: AttemptId
    run_id: RunId
    step: VersionStep
    step_max_concurrency: int


async def insert(connection: Connection, new: NewAttempt) -> None:
    """Add an attempt that waits for a slot."""
    await connection.execute(
        """
        INSERT INTO pipeline_attempt (id, run_id, step_run_id, window_number, endpoint_id,
            pipeline_id, pipeline_version, step_key, step_max_concurrency, number,
            idempotency_key, due_at, created_at)
        VALUES (%(id)s, %(run_id)s, %(step_run_id)s, %(window_number)s, %(endpoint_id)s,
            %(pipeline_id)s, %(pipeline_version)s, %(step_key)s, %(step_max_concurrency)s,
            %(number)s, %(idempotency_key)s, %(due_at)s, %(created_at)s)
        """,
        vars(new),
    )


async def lock_endpoint(
    connection: Connection, endpoint_id: EndpointId
) -> tuple[OrganizationId, int] | None:
    """Lock the slots of an endpoint; return whose they are, and how many."""
    # FOR UPDATE would wait for transactions that insert attempts, and those come here next.
    cursor = await connection.execute(
        """
        SELECT organization_id, max_concurrency FROM pipeline_endpoint WHERE id = %s
        FOR NO KEY UPDATE
        """,
        (endpoint_id,),
    )
    row = await cursor.fetchone()
    return (OrganizationId(row["organization_id"]), int(row["max_concurrency"])) if row else None


async def count_sending(connection: Connection, endpoint_id: EndpointId) -> dict[VersionStep, int]:
    """Return how many slots of an endpoint each step holds."""
    cursor = await connection.execute(
        """
        SELECT pipeline_id, pipeline_version, step_key, count(*) AS n FROM pipeline_attempt
        WHERE endpoint_id = %s AND state = 'sending'
        GROUP BY pipeline_id, pipeline_version, step_key
        """,
        (endpoint_id,),
    )
    return {_version_step(row): int(row["n"]) for row in await cursor.fetchall()}


async def list_waiting(
    connection: Connection, endpoint_id: EndpointId, *, now: datetime, limit: int
) -> list[WaitingAttempt]:
    """Return the oldest `limit` due attempts of each step, oldest first."""
    cursor = await connection.execute(
        """
        WITH RECURSIVE step AS (
            (SELECT pipeline_id, pipeline_version, step_key FROM pipeline_attempt
                WHERE endpoint_id = %(endpoint_id)s AND state = 'waiting'
                ORDER BY pipeline_id, pipeline_version, step_key LIMIT 1)
            UNION ALL
            SELECT another.* FROM step CROSS JOIN LATERAL (
                SELECT pipeline_id, pipeline_version, step_key FROM pipeline_attempt
                WHERE endpoint_id = %(endpoint_id)s AND state = 'waiting'
                    AND (pipeline_id, pipeline_version, step_key)
                        > (step.pipeline_id, step.pipeline_version, step.step_key)
                ORDER BY pipeline_id, pipeline_version, step_key LIMIT 1) AS another
        )
        SELECT oldest.* FROM step CROSS JOIN LATERAL (
            SELECT id, run_id, position, pipeline_id, pipeline_version, step_key,
                step_max_concurrency
            FROM pipeline_attempt attempt
            WHERE endpoint_id = %(endpoint_id)s AND state = 'waiting' AND due_at <= %(now)s
                AND attempt.pipeline_id = step.pipeline_id
                AND attempt.pipeline_version = step.pipeline_version
                AND attempt.step_key = step.step_key
            ORDER BY position LIMIT %(limit)s) AS oldest
        ORDER BY position
        """,
        {"endpoint_id": endpoint_id, "now": now, "limit": limit},
    )
    return [
        WaitingAttempt(
            AttemptId(row["id"]),
            RunId(row["run_id"]),
            _version_step(row),
            row["step_max_concurrency"],
        )
        for row in await cursor.fetchall()
    ]


async def promote(
    connection: Connection, attempt_ids: Sequence[AttemptId], *, overdue_at: datetime
) -> set[AttemptId]:
    """Give slots to attempts; return which got one. Locked attempts are skipped."""
    cursor = await connection.execute(
        """
        UPDATE pipeline_attempt SET state = 'sending', taken_by = NULL, due_at = %s
        WHERE id IN (SELECT id FROM pipeline_attempt
            WHERE id = ANY(%s) AND state = 'waiting' FOR UPDATE SKIP LOCKED)
        RETURNING id
        """,
        (overdue_at, list(attempt_ids)),
    )
    return {AttemptId(row["id"]) for row in await cursor.fetchall()}


async def lock(connection: Connection, attempt_id: AttemptId) -> EndpointAttempt | None:
    """Return an attempt of a locked run."""
    cursor = await connection.execute(
        f"{_FIND} WHERE attempt.id = %s FOR UPDATE OF attempt", (attempt_id,)
    )
    row = await cursor.fetchone()
    return _attempt(row) if row else None


async def find_by_callback(connection: Connection, callback_hash: bytes) -> EndpointAttempt | None:
    """Return the attempt with this callback URL."""
    cursor = await connection.execute(f"{_FIND} WHERE callback_hash = %s", (callback_hash,))
    row = await cursor.fetchone()
    return _attempt(row) if row else None


@dataclass(frozen=True, kw_only=True)
class AttemptLease:
    """The job that takes an attempt, and its deadline."""

    job_id: int
    fence: int
    callback_hash: bytes
    sent_at: datetime
    overdue_at: datetime


async def take(connection: Connection, attempt_id: AttemptId, lease: AttemptLease) -> None:
    """Give an attempt to a job; its callback URL works from now on."""
    await connection.execute(
        """
        UPDATE pipeline_attempt SET taken_by = %(job_id)s, fence = %(fence)s,
            callback_hash = %(callback_hash)s, sent_at = %(sent_at)s, due_at = %(overdue_at)s
        WHERE id = %(id)s
        """,
        {**vars(lease), "id": attempt_id},
    )


async def set_awaiting_callback(
    connection: Connection, attempt_id: AttemptId, *, deadline_at: datetime
) -> None:
    """Free the slot of an accepted attempt, or extend the deadline of its callback."""
    await connection.execute(
        """
        UPDATE pipeline_attempt SET state = 'awaiting_callback', taken_by = NULL, due_at = %s
        WHERE id = %s
        """,
        (deadline_at, attempt_id),
    )


async def save_early_callback(
    connection: Connection, attempt_id: AttemptId, early: Mapping[str, Any]
) -> None:
    """Store a callback that came before the request had ended."""
    await connection.execute(
        "UPDATE pipeline_attempt SET early_callback = %s WHERE id = %s",
        (Json(dict(early)), attempt_id),
    )


async def release(connection: Connection, attempt_id: AttemptId, *, now: datetime) -> None:
    """Return an attempt whose request was lost to the waiting ones."""
    await connection.execute(
        """
        UPDATE pipeline_attempt SET state = 'waiting', taken_by = NULL, due_at = %s
        WHERE id = %s AND state = 'sending'
        """,
        (now, attempt_id),
    )


async def end(connection: Connection, attempt_id: AttemptId, *, now: datetime) -> None:
    """End an attempt that is not current any more."""
    await connection.execute(
        """
        UPDATE pipeline_attempt SET state = 'done', ended_at = %s
        WHERE id = %s AND state <> 'done'
        """,
        (now, attempt_id),
    )


async def end_by_unit(
    connection: Connection, step_run_id: StepRunId, window_number: int | None, *, now: datetime
) -> None:
    """End the attempts at a unit before it gets a new one."""
    await connection.execute(
        """
        UPDATE pipeline_attempt SET state = 'done', ended_at = %s
        WHERE step_run_id = %s AND window_number IS NOT DISTINCT FROM %s AND state <> 'done'
        """,
        (now, step_run_id, window_number),
    )


async def end_except(
    connection: Connection, step_run_id: StepRunId, *, live: list[int], now: datetime
) -> set[EndpointId]:
    """End the attempts of a step at windows that have ended; return the endpoints with free slots.

    `live` has the windows that have not; -1 stands for the whole file.
    """
    cursor = await connection.execute(
        """
        UPDATE pipeline_attempt SET state = 'done', ended_at = %(now)s
        WHERE step_run_id = %(id)s AND state <> 'done'
            AND coalesce(window_number, -1) <> ALL(%(live)s)
        RETURNING endpoint_id
        """,
        {"id": step_run_id, "live": live, "now": now},
    )
    return {EndpointId(row["endpoint_id"]) for row in await cursor.fetchall()}


async def list_overdue(
    connection: Connection, *, now: datetime, limit: int
) -> list[tuple[AttemptId, RunId]]:
    """Return attempts whose job or callback is overdue, with their runs."""
    cursor = await connection.execute(
        """
        SELECT id, run_id FROM pipeline_attempt
        WHERE due_at <= %s AND state IN ('sending', 'awaiting_callback')
        ORDER BY due_at LIMIT %s
        """,
        (now, limit),
    )
    return [(AttemptId(row["id"]), RunId(row["run_id"])) for row in await cursor.fetchall()]


async def list_endpoints_with_due(connection: Connection, *, now: datetime) -> list[EndpointId]:
    """Return the endpoints with due attempts."""
    cursor = await connection.execute(
        """
        SELECT id FROM pipeline_endpoint endpoint WHERE EXISTS (
            SELECT FROM pipeline_attempt
            WHERE endpoint_id = endpoint.id AND state = 'waiting' AND due_at <= %s)
        """,
        (now,),
    )
    return [EndpointId(row["id"]) for row in await cursor.fetchall()]


async def list_by_run(connection: Connection, run_id: RunId) -> list[AttemptTimes]:
    """Return the attempts of a run's endpoint steps, oldest first; the latest thousand."""
    cursor = await connection.execute(
        """
        SELECT step_key, window_number, number, state, created_at, sent_at, ended_at FROM (
            SELECT * FROM pipeline_attempt WHERE run_id = %s ORDER BY position DESC LIMIT %s
        ) AS latest ORDER BY position
        """,
        (run_id, MAX_LISTED),
    )
    return [AttemptTimes(**row) async for row in cursor]


def _version_step(row: Row) -> VersionStep:
    return VersionStep(PipelineId(row["pipeline_id"]), row["pipeline_version"], row["step_key"])


def _attempt(row: Row) -> EndpointAttempt:
    number = row["window_number"]
    window = None
    if number is not None:
        window = Window(number, row["start_ms"], row["end_ms"], row["overlap_ms"])
    return EndpointAttempt(
        id=AttemptId(row["id"]),
        organization_id=OrganizationId(row["organization_id"]),
        run_id=RunId(row["run_id"]),
        step_run_id=StepRunId(row["step_run_id"]),
        step_key=row["step_key"],
        window=window,
        endpoint_id=EndpointId(row["endpoint_id"]),
        number=row["number"],
        state=AttemptState(row["state"]),
        fence=row["fence"],
        taken_by=row["taken_by"],
        idempotency_key=row["idempotency_key"],
        early_callback=row["early_callback"],
        due_at=row["due_at"],
        sent_at=row["sent_at"],
    )
