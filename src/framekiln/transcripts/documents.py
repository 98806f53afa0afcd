"""The JSON of a transcription, for callers, and for pages during a render. Pure."""

import json
from typing import Any, Final

from framekiln.kit.clock import iso
from framekiln.speech.captions import from_document, to_page_captions
from framekiln.speech.model import Transcript
from framekiln.storage.blob_store import BlobStore
from framekiln.transcripts.model import Transcription, TranscriptionStatus

# The record of a file spells it differently (spec 2.9).
_COMPLETED: Final = "completed"


def transcription_document(transcription: Transcription) -> dict[str, Any]:
    """Return the transcription as JSON."""
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
        "completed_at": iso(completed_at),
        "failed_at": iso(failed_at),
        "error": {"code": failure.code, "message": failure.message} if failure else None,
    }


def transcription_document_for_file(transcription: Transcription) -> dict[str, Any]:
    """Return the same, but with `completed` instead of `complete`."""
    is_complete = transcription.status is TranscriptionStatus.COMPLETE
    status = _COMPLETED if is_complete else str(transcription.status)
    return {**transcription_document(transcription), "status": status}


def page_captions(transcript: Transcript) -> dict[str, Any]:
    """Return `segments` and `word_segments`, the language, the engine, and that it is complete."""
    return {
        **to_page_captions(transcript),
        "language": transcript.language,
        "engine": transcript.engine,
        "status": str(TranscriptionStatus.COMPLETE),
    }


async def read_transcript(blobs: BlobStore, key: str) -> Transcript:
    """Return the transcript stored under a key."""
    return from_document(json.loads(await blobs.get(key)))
