"""A transcription: its file and track, its status, and the keys of its blobs."""

import re
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from framekiln.files.model import file_prefix
from framekiln.jobs.failures import Failure
from framekiln.kit.ids import ApiKeyId, FileId, OrganizationId, TranscriptionId, parse_uuid
from framekiln.storage.keys import NewKey, TrackedKey, new_key
from framekiln.transcripts.errors import TranscriptionNotFound

WORK_SLICE_MS: Final = 22_000
"""Duration of the audio of one job and of a fragment: what the recognizer takes at once.

It repeats the recognizer's own number, because this module must not load it.
"""


class TranscriptionStatus(StrEnum):
    """The status of a transcription (spec 3.3)."""

    CREATED = "created"
    PENDING = "pending"
    TRANSCRIBING = "transcribing"
    COMPLETE = "complete"
    FAILED = "failed"

    @property
    def is_terminal(self) -> bool:
        """Whether the status is final."""
        return self in (TranscriptionStatus.COMPLETE, TranscriptionStatus.FAILED)


_S = TranscriptionStatus
# The only table of allowed transitions. A worker prepares the audio (`pending`), then slices are
# transcribed.
CHANGES: dict[TranscriptionStatus, frozenset[TranscriptionStatus]] = {
    _S.CREATED: frozenset({_S.PENDING, _S.FAILED}),
    _S.PENDING: frozenset({_S.PENDING, _S.TRANSCRIBING, _S.COMPLETE, _S.FAILED}),
    _S.TRANSCRIBING: frozenset({_S.COMPLETE, _S.FAILED}),
    _S.COMPLETE: frozenset(),
    _S.FAILED: frozenset(),
}


def states_before(after: TranscriptionStatus) -> list[str]:
    """Return the statuses from which `after` may be entered, for the guard of an update."""
    return [str(state) for state, changes in CHANGES.items() if after in changes]


@dataclass(frozen=True)
class TranscriptionRequest:
    """A request for a transcription; without a track, of the first audio track."""

    file_id: FileId
    track_id: int | None = None
    language: str | None = None


@dataclass(frozen=True)
class NewTranscription:
    """A transcription to create."""

    file_id: FileId
    track_id: int
    asked_language: str | None
    duration_ms: int
    work_slice_ms: int


@dataclass(frozen=True)
class Transcription:
    """A stored transcription."""

    id: TranscriptionId
    position: int
    organization_id: OrganizationId
    api_key_id: ApiKeyId | None
    file_id: FileId
    track_id: int
    status: TranscriptionStatus
    asked_language: str | None
    language: str | None
    work_slice_ms: int
    duration_ms: int
    samples_key: str | None
    transcript_key: str | None
    failure: Failure | None
    engine: str | None
    """The engine, such as `whisper-base`; None until it is complete."""
    warnings: tuple[str, ...]
    """Notes on quality: which fallback engine made it, and why."""
    created_at: datetime
    completed_at: datetime | None
    failed_at: datetime | None

    @property
    def slice_count(self) -> int:
        """Number of slices, once the audio is decoded."""
        return -(-self.duration_ms // self.work_slice_ms)

    def satisfies(self, language: str | None) -> bool:
        """Return whether it answers a request for this language, or for any."""
        if self.status is TranscriptionStatus.FAILED:
            return False
        return language is None or language in (self.asked_language, self.language)


@dataclass(frozen=True)
class TranscriptionProgress:
    """The progress of a transcription; preparation and joining count as one slice each."""

    status: TranscriptionStatus
    is_prepared: bool
    slices_done: int
    slice_count: int
    failure: Failure | None

    @property
    def fraction(self) -> float:
        """From 0 to 1; 1 only when the text can be fetched."""
        if self.status is TranscriptionStatus.COMPLETE:
            return 1.0
        return (self.slices_done + self.is_prepared) / (self.slice_count + 2)


def topic(transcription: TranscriptionId) -> str:
    """Return the notification topic for a transcription's progress."""
    return f"transcription:{transcription}"


def transcription_prefix(
    organization: OrganizationId, file: FileId, transcription: TranscriptionId
) -> str:
    """Return the key prefix of a transcription: below its file, so they are deleted together."""
    return f"{file_prefix(organization, file)}/transcriptions/{transcription}"


def prefix_of(transcription: Transcription) -> str:
    """Return the key prefix of this transcription."""
    return transcription_prefix(
        transcription.organization_id, transcription.file_id, transcription.id
    )


def samples_key(transcription: Transcription) -> NewKey:
    """Return a new key for the decoded audio, which slices need."""
    return new_key(parts_prefix(transcription), "samples.s16")


def slice_key(transcription: Transcription, number: int) -> NewKey:
    """Return a new key for a slice's transcript, which is needed until all are complete."""
    return new_key(parts_prefix(transcription), f"slice-{number}.json")


def parts_prefix(transcription: Transcription) -> str:
    """Return the key prefix of everything that is deleted on completion."""
    return f"{prefix_of(transcription)}/parts"


def transcript_key(transcription: Transcription) -> TrackedKey:
    """Return the blob key of the whole transcript."""
    return TrackedKey(f"{prefix_of(transcription)}/transcript.json")


def transcription_id_of(text: str) -> TranscriptionId:
    """Parse the transcription id in a URL."""
    found = parse_uuid(text)
    if found is None:
        raise TranscriptionNotFound(f"there is no transcription {text[:100]!r}: ids are UUIDs")
    return TranscriptionId(found)


def fragment_number_of(text: str) -> int:
    """Parse the fragment number in a URL."""
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise TranscriptionNotFound(
            f"there is no fragment {text[:100]!r}: fragments are numbered from 0"
        )
    return int(text)
