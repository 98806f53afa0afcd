"""The SQL of outputs. They are `json`, not `jsonb`, to keep numbers and key order."""

import json
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, LiteralString

from framekiln.db.pool import Connection
from framekiln.kit.ids import FileId
from framekiln.pipelines.definition.windows import Window
from framekiln.pipelines.model.pipeline import RunId, StepRunId
from framekiln.pipelines.model.run import LatestOutput, StoredOutput
from framekiln.pipelines.outputs.model import StepOutput

Row = dict[str, Any]

_WHOLE_FILE: Final = -1


@dataclass(frozen=True, kw_only=True)
class NewOutput:
    """The output of a unit, to be stored."""

    step_run_id: StepRunId
    run_id: RunId
    file_id: FileId
    step_key: str
    namespace: str
    window: Window | None
    output: StepOutput
    written_at: datetime


async def put(connection: Connection, new: NewOutput) -> None:
    """Store an output; replace one of the same unit."""
    text, window = json.dumps(new.output.to_json(), ensure_ascii=False), new.window
    await connection.execute(
        """
        INSERT INTO pipeline_output (step_run_id, window_number, run_id, file_id, step_key,
            namespace, start_ms, end_ms, overlap_ms, output, byte_size, written_at)
        VALUES (%(step_run_id)s, %(number)s, %(run_id)s, %(file_id)s, %(step_key)s, %(namespace)s,
            %(start_ms)s, %(end_ms)s, %(overlap_ms)s, %(text)s, %(byte_size)s, %(written_at)s)
        ON CONFLICT (step_run_id, window_number) DO UPDATE SET output = excluded.output,
            byte_size = excluded.byte_size, written_at = excluded.written_at
        """,
        {
            **vars(new),
            "number": window.index if window else _WHOLE_FILE,
            "start_ms": window.start_ms if window else None,
            "end_ms": window.end_ms if window else None,
            "overlap_ms": window.overlap_ms if window else None,
            "text": text,
            "byte_size": len(text.encode()),
        },
    )


async def load(
    connection: Connection, run_id: RunId, *, keys: Collection[str], window: Window | None
) -> list[tuple[str, StepOutput]]:
    """Return the outputs of some steps with their keys, windows in order.

    For a window, only outputs of segment steps that overlap it.
    """
    span_ms = (window.start_ms, window.end_ms) if window else None
    rows = await _list_of_steps(connection, "output", run_id, keys=keys, span_ms=span_ms)
    return [(row["step_key"], StepOutput.from_json(row["output"])) for row in rows]


async def list_metadata(
    connection: Connection, run_id: RunId, *, keys: Collection[str], window: Window | None
) -> list[tuple[str, Row]]:
    """Return the metadata of outputs by steps, without reading their annotations.

    For a window, only of outputs that share time with its media.
    """
    span_ms = (window.media_start_ms, window.end_ms) if window else None
    rows = await _list_of_steps(
        connection, "output -> 'metadata' AS metadata", run_id, keys=keys, span_ms=span_ms
    )
    return [(row["step_key"], row["metadata"]) for row in rows]


async def _list_of_steps(
    connection: Connection,
    column: LiteralString,
    run_id: RunId,
    *,
    keys: Collection[str],
    span_ms: tuple[int, int] | None,
) -> list[Row]:
    start_ms, end_ms = span_ms or (None, None)
    cursor = await connection.execute(
        f"""
        SELECT step_key, {column} FROM pipeline_output
        WHERE run_id = %(run_id)s AND step_key = ANY(%(keys)s)
            AND (window_number < 0 OR %(start_ms)s::bigint IS NULL
                OR (start_ms < %(end_ms)s AND end_ms > %(start_ms)s))
        ORDER BY step_key, window_number
        """,  # noqa: S608  # our own columns
        {"run_id": run_id, "keys": list(keys), "start_ms": start_ms, "end_ms": end_ms},
    )
    return await cursor.fetchall()


async def list_page(
    connection: Connection, step_run_id: StepRunId, *, after: int | None, limit: int, max_bytes: int
) -> list[StoredOutput]:
    """Return a page of a step's outputs in the order of windows; at least one if there is any."""
    cursor = await connection.execute(
        """
        SELECT * FROM (
            SELECT *, sum(byte_size) OVER (ORDER BY window_number) - byte_size AS bytes_before
            FROM (SELECT * FROM pipeline_output
                WHERE step_run_id = %(id)s AND window_number > coalesce(%(after)s, -2)
                ORDER BY window_number LIMIT %(limit)s) AS next
        ) AS page WHERE bytes_before < %(max_bytes)s ORDER BY window_number
        """,
        {"id": step_run_id, "after": after, "limit": limit, "max_bytes": max_bytes},
    )
    return [_stored(row) for row in await cursor.fetchall()]


async def has_more(connection: Connection, step_run_id: StepRunId, *, after: int) -> bool:
    """Whether a step has outputs of later windows."""
    cursor = await connection.execute(
        "SELECT FROM pipeline_output WHERE step_run_id = %s AND window_number > %s LIMIT 1",
        (step_run_id, after),
    )
    return await cursor.fetchone() is not None


async def list_latest(
    connection: Connection, file_id: FileId, *, after: str | None, limit: int
) -> list[LatestOutput]:
    """Return the namespaces of a file by name, each with the step run that wrote last."""
    cursor = await connection.execute(
        """
        SELECT DISTINCT ON (namespace) namespace, step_run_id, run_id, step_key, written_at
        FROM pipeline_output
        WHERE file_id = %(file_id)s AND window_number <= 0
            AND (%(after)s::text IS NULL OR namespace > %(after)s)
        ORDER BY namespace, written_at DESC LIMIT %(limit)s
        """,
        {"file_id": file_id, "after": after, "limit": limit},
    )
    return [_latest(row) for row in await cursor.fetchall()]


async def find_latest(
    connection: Connection, file_id: FileId, namespace: str
) -> LatestOutput | None:
    """Return the step run that wrote last to a namespace of a file."""
    cursor = await connection.execute(
        """
        SELECT namespace, step_run_id, run_id, step_key, written_at FROM pipeline_output
        WHERE file_id = %s AND namespace = %s AND window_number <= 0
        ORDER BY written_at DESC LIMIT 1
        """,
        (file_id, namespace),
    )
    row = await cursor.fetchone()
    return _latest(row) if row else None


def _stored(row: Row) -> StoredOutput:
    number = row["window_number"]
    window = None
    if number >= 0:
        window = Window(number, row["start_ms"], row["end_ms"], row["overlap_ms"])
    return StoredOutput(number, window, row["output"])


def _latest(row: Row) -> LatestOutput:
    return LatestOutput(
        row["namespace"],
        StepRunId(row["step_run_id"]),
        RunId(row["run_id"]),
        row["step_key"],
        row["written_at"],
    )
