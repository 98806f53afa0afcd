"""The SQL of a transcription's slices. Callers that change them hold the row lock."""

from dataclasses import dataclass

from framekiln.db.pool import Connection
from framekiln.kit.ids import TranscriptionId
from framekiln.transcripts.model import Transcription


@dataclass(frozen=True)
class TakenSpeechSlice:
    """A slice that one worker has taken."""

    transcription: Transcription
    number: int
    fence: int


async def insert(connection: Connection, transcription_id: TranscriptionId, count: int) -> None:
    """Insert the slices of newly decoded audio."""
    await connection.execute(
        """
        INSERT INTO transcription_slice (transcription_id, number)
        SELECT %s, number FROM generate_series(0, %s) AS number
        """,
        (transcription_id, count - 1),
    )


async def take(
    connection: Connection, transcription_id: TranscriptionId, number: int
) -> int | None:
    """Take a slice that is not done, for one worker; return the fence."""
    cursor = await connection.execute(
        """
        UPDATE transcription_slice SET fence = fence + 1
        WHERE transcription_id = %s AND number = %s AND blob_key IS NULL RETURNING fence
        """,
        (transcription_id, number),
    )
    row = await cursor.fetchone()
    return int(row["fence"]) if row else None


async def finish(connection: Connection, taken: TakenSpeechSlice, *, blob_key: str) -> bool:
    """Record a finished slice; return False if another worker has taken it since.

    It may be recorded twice, if the response to the first attempt was lost with the connection.
    """
    cursor = await connection.execute(
        """
        UPDATE transcription_slice SET blob_key = %(key)s
        WHERE transcription_id = %(id)s AND number = %(number)s AND fence = %(fence)s
            AND coalesce(blob_key, %(key)s) = %(key)s
        """,
        {
            "key": blob_key,
            "id": taken.transcription.id,
            "number": taken.number,
            "fence": taken.fence,
        },
    )
    return cursor.rowcount == 1


async def keys(
    connection: Connection,
    transcription_id: TranscriptionId,
    *,
    first: int = 0,
    last: int | None = None,
) -> list[str | None]:
    """Return the blob keys of the slices from `first` to `last`, in order; None if not done."""
    cursor = await connection.execute(
        """
        SELECT blob_key FROM transcription_slice
        WHERE transcription_id = %(id)s AND number >= %(first)s
            AND (%(last)s::integer IS NULL OR number <= %(last)s)
        ORDER BY number
        """,
        {"id": transcription_id, "first": first, "last": last},
    )
    return [row["blob_key"] for row in await cursor.fetchall()]


async def count_unfinished(connection: Connection, transcription_id: TranscriptionId) -> int:
    """Return the number of slices that are not done."""
    cursor = await connection.execute(
        """
        SELECT count(*) AS n FROM transcription_slice
        WHERE transcription_id = %s AND blob_key IS NULL
        """,
        (transcription_id,),
    )
    row = await cursor.fetchone()
    assert row is not None
    return int(row["n"])
