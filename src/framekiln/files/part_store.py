"""The SQL of upload parts. Callers that change them must hold the lock of the file's row."""

from dataclasses import dataclass

from framekiln.db.pool import Connection
from framekiln.kit.ids import FileId


@dataclass(frozen=True)
class Part:
    """Some bytes of an upload, from `first_byte` up to, not including, `end_byte`."""

    first_byte: int
    end_byte: int
    blob_key: str


async def insert(connection: Connection, file_id: FileId, track_id: int, part: Part) -> None:
    """Add a part that follows the last one without a gap."""
    await connection.execute(
        """
        INSERT INTO upload_part (file_id, track_id, first_byte, end_byte, blob_key)
        VALUES (%s, %s, %s, %s, %s)
        """,
        (file_id, track_id, part.first_byte, part.end_byte, part.blob_key),
    )


async def list_all(connection: Connection, file_id: FileId, track_id: int) -> list[Part]:
    """Return all parts, in order."""
    cursor = await connection.execute(
        """
        SELECT first_byte, end_byte, blob_key FROM upload_part
        WHERE file_id = %s AND track_id = %s ORDER BY first_byte
        """,
        (file_id, track_id),
    )
    return [Part(**row) for row in await cursor.fetchall()]


async def count(connection: Connection, file_id: FileId, track_id: int) -> int:
    """Return the number of parts."""
    cursor = await connection.execute(
        "SELECT count(*) AS n FROM upload_part WHERE file_id = %s AND track_id = %s",
        (file_id, track_id),
    )
    row = await cursor.fetchone()
    assert row is not None
    return int(row["n"])


async def delete_all(connection: Connection, file_id: FileId, track_id: int) -> None:
    """Delete the rows of an upload's parts; the caller deletes the blobs."""
    await connection.execute(
        "DELETE FROM upload_part WHERE file_id = %s AND track_id = %s", (file_id, track_id)
    )
