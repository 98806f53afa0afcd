"""The jobs of a transcription: prepare its audio, transcribe each slice, join the results.

The number of a slice is its priority: a long recording does not delay a short clip, because the
first slices of all transcriptions come before the later ones of any.
"""

from typing import Any, Final

from framekiln.jobs.model import NewJob
from framekiln.transcripts.model import Transcription

PREPARE: Final = "transcript.prepare"
TRANSCRIBE_SLICE: Final = "transcript.slice"
JOIN: Final = "transcript.join"
SPEECH_QUEUE: Final = "speech"

# Finish one transcription before starting another.
_JOIN_PRIORITY: Final = 10


def prepare_job(transcription: Transcription) -> NewJob:
    """Return the job that decodes the audio and cuts it into slices."""
    return NewJob(kind=PREPARE, args=_args(transcription), queue=SPEECH_QUEUE)


def slice_job(transcription: Transcription, number: int) -> NewJob:
    """Return the job that transcribes one slice."""
    return NewJob(
        kind=TRANSCRIBE_SLICE,
        args={**_args(transcription), "number": number},
        queue=SPEECH_QUEUE,
        priority=-number,
    )


def join_job(transcription: Transcription) -> NewJob:
    """Return the job that joins the transcripts of all slices."""
    return NewJob(kind=JOIN, args=_args(transcription), queue=SPEECH_QUEUE, priority=_JOIN_PRIORITY)


def _args(transcription: Transcription) -> dict[str, Any]:
    return {
        "transcription_id": str(transcription.id),
        "organization_id": str(transcription.organization_id),
        "file_id": str(transcription.file_id),
    }
