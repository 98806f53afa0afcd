"""The SQL of endpoint attempts as runs see them: add and end."""

from datetime import datetime
from typing import Final

from framekiln.db.pool import Connection
from framekiln.pipelines.model.pipeline import (
    AttemptTimes,
    EndpointAttempt,
    EndpointId,
    RunId,
    StepRunId,
)

MAX_LISTED: Final = 1000


async def insert(connection: Connection, attempt: EndpointAttempt) -> None:
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
        vars(attempt),
    )


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
