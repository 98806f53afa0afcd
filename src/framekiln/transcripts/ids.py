"""Ids in the addresses of transcriptions; what is none is like one that does not exist. Pure."""

import re

from framekiln.kit.ids import TranscriptionId, parse_uuid
from framekiln.transcripts.errors import TranscriptionNotFound


def transcription_id_of(text: str) -> TranscriptionId:
    """Return the transcription's id in an address."""
    found = parse_uuid(text)
    if found is None:
        raise TranscriptionNotFound(f"there is no transcription {text[:100]!r}: ids are UUIDs")
    return TranscriptionId(found)


def fragment_number_of(text: str) -> int:
    """Return the number of a fragment in an address."""
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise TranscriptionNotFound(f"there is no fragment {text[:100]!r}: they count from 0")
    return int(text)
