"""The SQL of changes of files, runs and batches, after which runs must be advanced.

They are recorded in the transaction of the change; for files, by a database trigger. They are
deleted only after they were processed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final
from uuid import UUID

from framekiln.db.notify import notify
from framekiln.db.pool import Connection

CHANGES_TOPIC: Final = "pipelines"
"""Notification topic of new changes."""


@dataclass(frozen=True)
class Change:
    """What has changed: a `file`, a `run` or a `batch`."""

    kind: str
    subject_id: UUID


async def record(connection: Connection, kind: str, subject_ids: Sequence[UUID]) -> None:
    """Record changes, to be processed when the caller's transaction has committed."""
    await connection.execute(
        "INSERT INTO pipeline_change (kind, subject_id) SELECT %s, unnest(%s::uuid[])",
        (kind, list(subject_ids)),
    )
    await notify(connection, CHANGES_TOPIC)


async def take(connection: Connection, *, limit: int) -> dict[int, Change]:
    """Lock and return the oldest unlocked changes, by id."""
    cursor = await connection.execute(
        """
        SELECT id, kind, subject_id FROM pipeline_change
        WHERE postponed_until IS NULL OR postponed_until <= now()
        ORDER BY id LIMIT %s FOR UPDATE SKIP LOCKED
        """,
        (limit,),
    )
    rows = await cursor.fetchall()
    return {row["id"]: Change(row["kind"], row["subject_id"]) for row in rows}


async def delete(connection: Connection, ids: Sequence[int]) -> None:
    """Delete processed changes."""
    await connection.execute("DELETE FROM pipeline_change WHERE id = ANY(%s)", (list(ids),))


async def postpone(connection: Connection, ids: Sequence[int], *, by: timedelta) -> None:
    """Process changes again later."""
    await connection.execute(
        "UPDATE pipeline_change SET postponed_until = now() + %s WHERE id = ANY(%s)",
        (by, list(ids)),
    )
