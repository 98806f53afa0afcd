"""A transcript as captions for pages and players: times in seconds, from the start of the file."""

from typing import Any

from framekiln.speech.captions import as_page_captions
from framekiln.speech.model import Transcript
from framekiln.transcripts.model import TranscriptionStatus


def page_captions(transcript: Transcript) -> dict[str, Any]:
    """Return `segments` and `word_segments`, what is spoken, who heard it, and that it is all."""
    return {
        **as_page_captions(transcript),
        "language": transcript.language,
        "engine": transcript.engine,
        "status": str(TranscriptionStatus.COMPLETE),
    }
