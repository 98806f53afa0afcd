"""The SQL of the steps of runs and their windows. They change under the lock of their run."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from psycopg.types.json import Json

from framekiln.db.pool import Connection
from framekiln.jobs.failures import Failure
from framekiln.pipelines.definition.windows import Window
from framekiln.pipelines.model.pipeline import RunId, StepRunId
from framekiln.pipelines.model.run import AttemptCount, StepRun, UnitKey, WindowRun, WorkUnit
from framekiln.pipelines.scheduling.status import StepStatus

Row = dict[str, Any]

_UNIT_COLUMNS = """
status = %(status)s, attempt = %(attempt)s, attempts_before = %(attempts_before)s,
fence = %(fence)s, takes = %(takes)s, taken_by = %(taken_by)s, due_at = %(due_at)s,
note = %(note)s, error_code = %(error_code)s, error_message = %(error_message)s
"""


async def insert_steps(
    connection: Connection, steps: Sequence[tuple[RunId, StepRunId, str]]
) -> None:
    """Add pending steps."""
    await connection.execute(
        """
        INSERT INTO pipeline_step_run (run_id, id, step_key, status)
        SELECT run_id, id, step_key, 'pending'
        FROM unnest(%s::uuid[], %s::uuid[], %s::text[]) AS new (run_id, id, step_key)
        """,
        ([run for run, _, _ in steps], [each for _, each, _ in steps], [key for *_, key in steps]),
    )


async def load(connection: Connection, run_id: RunId, *, has_windows: bool) -> dict[str, StepRun]:
    """Return the steps of a run by key, with the windows above their watermarks."""
    steps = (await list_by_run(connection, [run_id]))[run_id]
    if not has_windows:
        return steps
    cursor = await connection.execute(
        """
        SELECT pipeline_window.*, step_key FROM pipeline_step_run step
        JOIN pipeline_window ON step_run_id = step.id
            AND end_ms > coalesce(step.watermark_ms, -1)
        WHERE run_id = %s ORDER BY step_run_id, number
        """,
        (run_id,),
    )
    windows: dict[str, list[WindowRun]] = {}
    for row in await cursor.fetchall():
        windows.setdefault(row["step_key"], []).append(_window(row))
    return {key: replace(step, windows=tuple(windows.get(key, ()))) for key, step in steps.items()}


async def list_by_run(
    connection: Connection, run_ids: Sequence[RunId]
) -> dict[RunId, dict[str, StepRun]]:
    """Return the steps of some runs by key, without windows."""
    cursor = await connection.execute(
        "SELECT * FROM pipeline_step_run WHERE run_id = ANY(%s)", (list(run_ids),)
    )
    found: dict[RunId, dict[str, StepRun]] = {run_id: {} for run_id in run_ids}
    for row in await cursor.fetchall():
        found[RunId(row["run_id"])][row["step_key"]] = _step(row)
    return found


async def save_steps(connection: Connection, steps: Iterable[StepRun]) -> None:
    """Write the columns of steps that may change."""
    # One by one: there are rarely more than two, and a batch costs more to set up.
    for step in steps:
        await connection.execute(
            f"""
            UPDATE pipeline_step_run SET {_UNIT_COLUMNS}, watermark_ms = %(watermark_ms)s,
                has_all_windows = %(has_all_windows)s, ready_at = %(ready_at)s,
                started_at = %(started_at)s, completed_at = %(completed_at)s,
                deadline_at = %(deadline_at)s, told_at = %(progress_reported_at)s
            WHERE id = %(id)s
            """,  # noqa: S608  # our own columns
            {**vars(step), **_unit_values(step)},
        )


async def save_windows(
    connection: Connection, windows: Iterable[tuple[StepRunId, WindowRun]]
) -> None:
    """Insert or update windows."""
    async with connection.cursor() as cursor:
        await cursor.executemany(
            f"""
            INSERT INTO pipeline_window (step_run_id, number, start_ms, end_ms, overlap_ms, status)
            VALUES (%(step_run_id)s, %(index)s, %(start_ms)s, %(end_ms)s, %(overlap_ms)s,
                %(status)s)
            ON CONFLICT (step_run_id, number) DO UPDATE SET {_UNIT_COLUMNS}
            """,  # noqa: S608  # our own columns
            [
                {"step_run_id": step_run_id, **vars(each.window), **_unit_values(each)}
                for step_run_id, each in windows
            ],
        )


async def list_due(connection: Connection, *, now: datetime, limit: int) -> list[UnitKey]:
    """Return the units that are due."""
    cursor = await connection.execute(
        """
        (SELECT run_id, step_key, NULL::integer AS number, due_at FROM pipeline_step_run
            WHERE due_at <= %(now)s AND status IN ('ready', 'running')
            ORDER BY due_at LIMIT %(limit)s)
        UNION ALL
        (SELECT run_id, step_key, number, part.due_at FROM pipeline_window part
            JOIN pipeline_step_run step ON step.id = step_run_id
            WHERE part.due_at <= %(now)s AND part.status IN ('ready', 'running')
            ORDER BY part.due_at LIMIT %(limit)s)
        ORDER BY due_at LIMIT %(limit)s
        """,
        {"now": now, "limit": limit},
    )
    rows = await cursor.fetchall()
    return [UnitKey(RunId(row["run_id"]), row["step_key"], row["number"]) for row in rows]


def _unit_values(unit: WorkUnit) -> Row:
    return {
        "status": unit.status,
        "attempt": unit.attempts.made,
        "attempts_before": unit.attempts.made_before,
        "fence": unit.fence,
        "takes": unit.takes,
        "taken_by": unit.taken_by,
        "due_at": unit.due_at,
        "note": None if unit.note is None else Json(dict(unit.note)),
        "error_code": unit.failure.code if unit.failure else None,
        "error_message": unit.failure.message if unit.failure else None,
    }


def _unit_fields(row: Row) -> Row:
    code = row["error_code"]
    return {
        "status": StepStatus(row["status"]),
        "attempts": AttemptCount(row["attempt"], row["attempts_before"]),
        "fence": row["fence"],
        "takes": row["takes"],
        "taken_by": row["taken_by"],
        "due_at": row["due_at"],
        "note": row["note"],
        "failure": None if code is None else Failure(code, row["error_message"]),
    }


def _step(row: Row) -> StepRun:
    return StepRun(
        id=StepRunId(row["id"]),
        key=row["step_key"],
        has_all_windows=row["has_all_windows"],
        watermark_ms=row["watermark_ms"],
        ready_at=row["ready_at"],
        started_at=row["started_at"],
        completed_at=row["completed_at"],
        deadline_at=row["deadline_at"],
        progress_reported_at=row["told_at"],
        **_unit_fields(row),
    )


def _window(row: Row) -> WindowRun:
    window = Window(row["number"], row["start_ms"], row["end_ms"], row["overlap_ms"])
    return WindowRun(window, **_unit_fields(row))
