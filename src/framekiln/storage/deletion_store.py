"""The SQL of blobs that have to be deleted."""

from collections.abc import Sequence

from framekiln.db.pool import Connection


async def insert(connection: Connection, paths: Sequence[str]) -> None:
    """Add paths to delete."""
    await connection.execute(
        "INSERT INTO blob_deletion (path) SELECT unnest(%s::text[]) ON CONFLICT DO NOTHING",
        (list(paths),),
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
