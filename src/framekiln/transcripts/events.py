"""Webhook events of transcriptions."""

from typing import Any, Final

from framekiln.kit.clock import iso
from framekiln.transcripts.model import Transcription, TranscriptionStatus
from framekiln.webhooks.model import Event

# Preparation sends no event.
_TOPICS: Final = {
    TranscriptionStatus.CREATED: "transcription.created",
    TranscriptionStatus.TRANSCRIBING: "transcription.transcribing",
    TranscriptionStatus.COMPLETE: "transcription.completed",
    TranscriptionStatus.FAILED: "transcription.failed",
}


def event_of(transcription: Transcription) -> Event:
    """Return the event for the current status."""
    return Event(
        organization_id=transcription.organization_id,
        api_key_id=transcription.api_key_id,
        topic=_TOPICS[transcription.status],
        resource_id=transcription.id,
        data=_data(transcription),
    )


def _data(transcription: Transcription) -> dict[str, Any]:
    ended, failed = transcription.completed_at, transcription.failed_at
    failure = transcription.failure
    return {
        "id": str(transcription.id),
        "file_id": str(transcription.file_id),
        "track_id": transcription.track_id,
        "status": str(transcription.status),
        "engine": transcription.engine,
        "warnings": list(transcription.warnings),
        "created_at": transcription.created_at.isoformat(),
        "completed_at": iso(ended),
        "failed_at": iso(failed),
        "error": {"code": failure.code, "message": failure.message} if failure else None,
    }
