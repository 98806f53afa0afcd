"""The SQL of blobs that are not recorded yet, and of those that have to be deleted."""

from collections.abc import Sequence
from datetime import datetime

from framekiln.db.pool import Connection


async def register(connection: Connection, paths: Sequence[str], *, delete_at: datetime) -> None:
    """Add paths that are deleted at that time unless they are recorded."""
    await connection.execute(
        """
        INSERT INTO unrecorded_blob (path, delete_at) SELECT unnest(%s::text[]), %s
        ON CONFLICT DO NOTHING
        """,
        (list(paths), delete_at),
    )


async def take_unrecorded(connection: Connection, paths: Sequence[str]) -> list[str]:
    """Have blobs deleted that are not recorded; return which."""
    cursor = await connection.execute(
        """
        WITH taken AS (
            DELETE FROM unrecorded_blob WHERE path = ANY(%s) RETURNING path),
        added AS (
            INSERT INTO blob_deletion (path) SELECT path FROM taken ON CONFLICT DO NOTHING)
        SELECT path FROM taken
        """,
        (list(paths),),
    )
    return [row["path"] for row in await cursor.fetchall()]


async def give_up(connection: Connection, *, now: datetime, limit: int) -> None:
    """Have blobs deleted that are due. One that is being recorded now is left alone."""
    await connection.execute(
        """
        WITH given_up AS (
            UPDATE unrecorded_blob SET is_given_up = true WHERE path IN (
                SELECT path FROM unrecorded_blob WHERE delete_at <= %s AND NOT is_given_up
                ORDER BY delete_at LIMIT %s FOR UPDATE SKIP LOCKED)
            RETURNING path)
        INSERT INTO blob_deletion (path) SELECT path FROM given_up ON CONFLICT DO NOTHING
        """,
        (now, limit),
    )


async def forget_given_up(connection: Connection, *, before: datetime, limit: int) -> None:
    """Forget blobs that were due before that time, and have them deleted again."""
    await connection.execute(
        """
        WITH forgotten AS (
            DELETE FROM unrecorded_blob WHERE path IN (
                SELECT path FROM unrecorded_blob WHERE is_given_up AND delete_at < %s
                ORDER BY delete_at LIMIT %s FOR UPDATE SKIP LOCKED)
            RETURNING path)
        INSERT INTO blob_deletion (path) SELECT path FROM forgotten ON CONFLICT DO NOTHING
        """,
        (before, limit),
    )


async def insert(connection: Connection, paths: Sequence[str], *, again_at: datetime) -> None:
    """Add paths to delete; folders are deleted again at that time."""
    folders = [path for path in paths if path.endswith("/")]
    await connection.execute(
        """
        WITH again AS (
            INSERT INTO unrecorded_blob (path, delete_at) SELECT unnest(%s::text[]), %s
            ON CONFLICT (path) DO UPDATE
                SET delete_at = excluded.delete_at, is_given_up = false)
        INSERT INTO blob_deletion (path) SELECT unnest(%s::text[]) ON CONFLICT DO NOTHING
        """,
        (folders, again_at, list(paths)),
    )


async def list_next(connection: Connection, *, limit: int) -> list[str]:
    """Return paths to delete; those that failed least often come first."""
    cursor = await connection.execute(
        "SELECT path FROM blob_deletion ORDER BY attempts, path LIMIT %s", (limit,)
    )
    return [row["path"] for row in await cursor.fetchall()]


async def count_attempt(connection: Connection, path: str) -> None:
    """Count a failed deletion."""
    await connection.execute(
        "UPDATE blob_deletion SET attempts = attempts + 1 WHERE path = %s", (path,)
    )


async def delete(connection: Connection, paths: Sequence[str]) -> None:
    """Forget paths whose blobs are deleted."""
    await connection.execute("DELETE FROM blob_deletion WHERE path = ANY(%s)", (list(paths),))
