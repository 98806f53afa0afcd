"""What is told of a transcription, as plain JSON: to callers, and to pages being filmed. Pure."""

from typing import Any, Final

from framekiln.transcripts.model import Transcription, TranscriptionStatus

# In the record of a file it is spelled in another way, as its readers know it (spec 2.9).
_COMPLETED: Final = "completed"


def detail(transcription: Transcription) -> dict[str, Any]:
    """Return all that is known."""
    failure = transcription.failure
    completed_at, failed_at = transcription.completed_at, transcription.failed_at
    return {
        "id": str(transcription.id),
        "file_id": str(transcription.file_id),
        "track_id": transcription.track_id,
        "status": str(transcription.status),
        "language": transcription.language,
        "engine": transcription.engine,
        "warnings": list(transcription.warnings),
        "duration_ms": transcription.duration_ms,
        "work_slice_ms": transcription.work_slice_ms,
        "created_at": transcription.created_at.isoformat(),
        "completed_at": completed_at.isoformat() if completed_at else None,
        "failed_at": failed_at.isoformat() if failed_at else None,
        "error": {"code": failure.code, "message": failure.message} if failure else None,
    }


def detail_for_file(transcription: Transcription) -> dict[str, Any]:
    """Return the same, but that `complete` is called `completed`."""
    is_complete = transcription.status is TranscriptionStatus.COMPLETE
    status = _COMPLETED if is_complete else str(transcription.status)
    return {**detail(transcription), "status": status}
