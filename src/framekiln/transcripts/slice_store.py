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
    """Add the slices of a sound that has just been decoded."""
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
    """Become the one worker of a slice that is not done; return our fence."""
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
    """Record a finished slice; False when another worker has it by now.

    It may be recorded twice, when the answer to the first try was lost with the database.
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
    """Return where the slices from `first` to `last` are, in order; None for one not done."""
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
    """Return how many slices are still to be heard."""
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
