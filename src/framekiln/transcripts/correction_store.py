"""The SQL of corrections. Callers that change them hold the row lock of the file."""

from typing import Any

from framekiln.db.pool import Connection
from framekiln.transcripts.corrections import TranscriptCorrection
from framekiln.transcripts.model import Transcription


async def list_all(
    connection: Connection, transcription: Transcription
) -> list[TranscriptCorrection]:
    """Return the corrections of the track of a transcription, in order of time."""
    cursor = await connection.execute(
        """
        SELECT * FROM transcript_correction
        WHERE organization_id = %s AND file_id = %s AND track_id = %s ORDER BY start_ms
        """,
        _track(transcription),
    )
    return [_correction(row) async for row in cursor]


async def replace(
    connection: Connection, transcription: Transcription, correction: TranscriptCorrection
) -> None:
    """Insert a correction instead of those within its span."""
    await connection.execute(
        """
        DELETE FROM transcript_correction
        WHERE organization_id = %s AND file_id = %s AND track_id = %s
            AND start_ms >= %s AND end_ms <= %s
        """,
        (*_track(transcription), correction.start_ms, correction.end_ms),
    )
    await connection.execute(
        """
        INSERT INTO transcript_correction (organization_id, file_id, track_id, start_ms, end_ms,
            original_text, corrected_text, updated_at)
        VALUES (%s, %s, %s, %s, %s, %s, %s, %s)
        """,
        (
            *_track(transcription),
            correction.start_ms,
            correction.end_ms,
            correction.original_text,
            correction.text,
            correction.updated_at,
        ),
    )


async def delete(
    connection: Connection, transcription: Transcription, start_ms: int
) -> TranscriptCorrection | None:
    """Delete the correction that starts there, and return it."""
    cursor = await connection.execute(
        """
        DELETE FROM transcript_correction
        WHERE organization_id = %s AND file_id = %s AND track_id = %s AND start_ms = %s RETURNING *
        """,
        (*_track(transcription), start_ms),
    )
    row = await cursor.fetchone()
    return _correction(row) if row else None


def _track(transcription: Transcription) -> tuple[object, object, int]:
    return transcription.organization_id, transcription.file_id, transcription.track_id


def _correction(row: dict[str, Any]) -> TranscriptCorrection:
    return TranscriptCorrection(
        start_ms=row["start_ms"],
        end_ms=row["end_ms"],
        original_text=row["original_text"],
        text=row["corrected_text"],
        updated_at=row["updated_at"],
    )
