"""The SQL of changes: what has happened that runs must be looked at for.

They are recorded in the transaction in which it happens; for files the database does so itself.
Whoever wants to bring runs on takes them, looks, and only then deletes them.
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
    """Have these looked at when the caller's transaction has succeeded."""
    await connection.execute(
        "INSERT INTO pipeline_change (kind, subject_id) SELECT %s, unnest(%s::uuid[])",
        (kind, list(subject_ids)),
    )
    await notify(connection, CHANGES_TOPIC)


async def take(connection: Connection, *, limit: int) -> dict[int, Change]:
    """Return the oldest changes that nobody else has, by id; they are ours until the end."""
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
    """Forget changes that were looked at."""
    await connection.execute("DELETE FROM pipeline_change WHERE id = ANY(%s)", (list(ids),))


async def postpone(connection: Connection, ids: Sequence[int], *, by: timedelta) -> None:
    """Have changes looked at again later."""
    await connection.execute(
        "UPDATE pipeline_change SET postponed_until = now() + %s WHERE id = ANY(%s)",
        (by, list(ids)),
    )
