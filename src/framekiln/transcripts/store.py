"""The SQL of transcriptions. Every read of an owner checks the organization."""

from datetime import datetime
from typing import Any

from framekiln.db.pool import Connection
from framekiln.jobs.failures import Failure
from framekiln.kit.ids import ApiKeyId, FileId, OrganizationId, TranscriptionId
from framekiln.speech.model import Transcript
from framekiln.transcripts.model import (
    NewTranscription,
    Transcription,
    TranscriptionProgress,
    TranscriptionStatus,
    states_before,
)

Row = dict[str, Any]


async def insert(
    connection: Connection,
    transcription_id: TranscriptionId,
    new: NewTranscription,
    *,
    organization_id: OrganizationId,
    api_key_id: ApiKeyId | None,
    now: datetime,
) -> Transcription:
    """Insert a transcription in its first status."""
    cursor = await connection.execute(
        """
        INSERT INTO transcription (id, organization_id, api_key_id, file_id, track_id, status,
            asked_language, work_slice_ms, duration_ms, created_at)
        VALUES (%(id)s, %(organization_id)s, %(api_key_id)s, %(file_id)s, %(track_id)s, 'created',
            %(asked_language)s, %(work_slice_ms)s, %(duration_ms)s, %(now)s)
        RETURNING *
        """,
        {
            "id": transcription_id,
            "organization_id": organization_id,
            "api_key_id": api_key_id,
            "file_id": new.file_id,
            "track_id": new.track_id,
            "asked_language": new.asked_language,
            "work_slice_ms": new.work_slice_ms,
            "duration_ms": new.duration_ms,
            "now": now,
        },
    )
    row = await cursor.fetchone()
    assert row is not None
    return _transcription(row)


async def find(
    connection: Connection, organization_id: OrganizationId, transcription_id: TranscriptionId
) -> Transcription | None:
    """Return a transcription of the organization."""
    cursor = await connection.execute(
        "SELECT * FROM transcription WHERE id = %s AND organization_id = %s",
        (transcription_id, organization_id),
    )
    row = await cursor.fetchone()
    return _transcription(row) if row else None


async def find_newest(
    connection: Connection,
    organization_id: OrganizationId,
    file_id: FileId,
    *,
    track_id: int | None = None,
    complete_first: bool = False,
) -> Transcription | None:
    """Return the newest transcription of a file, or of one of its tracks."""
    cursor = await connection.execute(
        """
        SELECT * FROM transcription
        WHERE organization_id = %(organization_id)s AND file_id = %(file_id)s
            AND (%(track_id)s::integer IS NULL OR track_id = %(track_id)s)
        ORDER BY %(complete_first)s AND status = 'complete' DESC, position DESC LIMIT 1
        """,
        {
            "organization_id": organization_id,
            "file_id": file_id,
            "track_id": track_id,
            "complete_first": complete_first,
        },
    )
    row = await cursor.fetchone()
    return _transcription(row) if row else None


async def list_newest(
    connection: Connection,
    organization_id: OrganizationId,
    *,
    file_id: FileId | None,
    before_position: int | None,
    limit: int,
) -> list[Transcription]:
    """Return transcriptions of the organization, newest first."""
    cursor = await connection.execute(
        """
        SELECT * FROM transcription
        WHERE organization_id = %(organization_id)s
            AND (%(file_id)s::uuid IS NULL OR file_id = %(file_id)s)
            AND (%(before)s::bigint IS NULL OR position < %(before)s)
        ORDER BY position DESC LIMIT %(limit)s
        """,
        {
            "organization_id": organization_id,
            "file_id": file_id,
            "before": before_position,
            "limit": limit,
        },
    )
    return [_transcription(row) for row in await cursor.fetchall()]


async def find_any(
    connection: Connection, transcription_id: TranscriptionId
) -> Transcription | None:
    """Return a transcription, for workers."""
    cursor = await connection.execute(
        "SELECT * FROM transcription WHERE id = %s", (transcription_id,)
    )
    row = await cursor.fetchone()
    return _transcription(row) if row else None


async def lock(connection: Connection, transcription_id: TranscriptionId) -> Transcription | None:
    """Return a transcription and lock its row until the transaction ends."""
    cursor = await connection.execute(
        "SELECT * FROM transcription WHERE id = %s FOR UPDATE", (transcription_id,)
    )
    row = await cursor.fetchone()
    return _transcription(row) if row else None


async def take(connection: Connection, transcription_id: TranscriptionId) -> int | None:
    """Take the preparation of the audio, for one worker; return the fence."""
    cursor = await connection.execute(
        """
        UPDATE transcription SET fence = fence + 1, status = 'pending'
        WHERE id = %s AND status = ANY(%s) AND samples_key IS NULL RETURNING fence
        """,
        (transcription_id, states_before(TranscriptionStatus.PENDING)),
    )
    row = await cursor.fetchone()
    return int(row["fence"]) if row else None


async def set_prepared(
    connection: Connection,
    transcription_id: TranscriptionId,
    *,
    fence: int,
    samples_key: str,
    duration_ms: int,
    language: str | None,
) -> Transcription | None:
    """Record the decoded audio; return None if another worker has taken it since."""
    cursor = await connection.execute(
        """
        UPDATE transcription SET samples_key = %(samples_key)s, duration_ms = %(duration_ms)s,
            language = %(language)s
        WHERE id = %(id)s AND status = 'pending' AND fence = %(fence)s AND samples_key IS NULL
        RETURNING *
        """,
        {
            "id": transcription_id,
            "fence": fence,
            "samples_key": samples_key,
            "duration_ms": duration_ms,
            "language": language,
        },
    )
    row = await cursor.fetchone()
    return _transcription(row) if row else None


async def set_transcribing(
    connection: Connection, transcription_id: TranscriptionId
) -> Transcription | None:
    """Record that the first slice is taken; return None if it already was."""
    cursor = await connection.execute(
        "UPDATE transcription SET status = 'transcribing' WHERE id = %s AND status = ANY(%s)"
        " RETURNING *",
        (transcription_id, states_before(TranscriptionStatus.TRANSCRIBING)),
    )
    row = await cursor.fetchone()
    return _transcription(row) if row else None


async def complete(
    connection: Connection,
    transcription_id: TranscriptionId,
    *,
    transcript_key: str,
    transcript: Transcript,
    now: datetime,
) -> Transcription | None:
    """Record the transcript's key and engine; return None if it has already ended."""
    cursor = await connection.execute(
        """
        UPDATE transcription SET status = 'complete', completed_at = %(now)s, samples_key = NULL,
            transcript_key = %(transcript_key)s, language = %(language)s,
            engine = %(engine)s, warnings = %(warnings)s
        WHERE id = %(id)s AND status = ANY(%(before)s)
        RETURNING *
        """,
        {
            "id": transcription_id,
            "before": states_before(TranscriptionStatus.COMPLETE),
            "transcript_key": transcript_key,
            "language": transcript.language,
            "engine": transcript.engine,
            "warnings": list(transcript.warnings),
            "now": now,
        },
    )
    row = await cursor.fetchone()
    return _transcription(row) if row else None


async def fail(
    connection: Connection, transcription_id: TranscriptionId, failure: Failure, *, now: datetime
) -> Transcription | None:
    """Record the failure; return None if it has already ended."""
    cursor = await connection.execute(
        """
        UPDATE transcription SET status = 'failed', failed_at = %(now)s, samples_key = NULL,
            error_code = %(code)s, error_message = %(message)s
        WHERE id = %(id)s AND status = ANY(%(before)s)
        RETURNING *
        """,
        {
            "id": transcription_id,
            "before": states_before(TranscriptionStatus.FAILED),
            "now": now,
            "code": failure.code,
            "message": failure.message,
        },
    )
    row = await cursor.fetchone()
    return _transcription(row) if row else None


async def find_progress(
    connection: Connection, transcription_id: TranscriptionId
) -> TranscriptionProgress | None:
    """Return the progress of a transcription."""
    cursor = await connection.execute(
        """
        SELECT status, samples_key IS NOT NULL AS is_prepared, error_code, error_message,
            (SELECT count(*) FROM transcription_slice WHERE transcription_id = id) AS slice_count,
            (SELECT count(blob_key) FROM transcription_slice WHERE transcription_id = id) AS done
        FROM transcription WHERE id = %s
        """,
        (transcription_id,),
    )
    row = await cursor.fetchone()
    if row is None:
        return None
    return TranscriptionProgress(
        status=TranscriptionStatus(row["status"]),
        is_prepared=row["is_prepared"],
        slices_done=row["done"],
        slice_count=row["slice_count"],
        failure=_failure(row),
    )


def _transcription(row: Row) -> Transcription:
    return Transcription(
        id=TranscriptionId(row["id"]),
        position=row["position"],
        organization_id=OrganizationId(row["organization_id"]),
        api_key_id=ApiKeyId(row["api_key_id"]) if row["api_key_id"] else None,
        file_id=FileId(row["file_id"]),
        track_id=row["track_id"],
        status=TranscriptionStatus(row["status"]),
        asked_language=row["asked_language"],
        language=row["language"],
        work_slice_ms=row["work_slice_ms"],
        duration_ms=row["duration_ms"],
        samples_key=row["samples_key"],
        transcript_key=row["transcript_key"],
        failure=_failure(row),
        engine=row["engine"],
        warnings=tuple(row["warnings"]),
        created_at=row["created_at"],
        completed_at=row["completed_at"],
        failed_at=row["failed_at"],
    )


def _failure(row: Row) -> Failure | None:
    if row["error_code"] is None:
        return None
    return Failure(code=row["error_code"], message=row["error_message"])
