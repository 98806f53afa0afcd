"""Request and response bodies of transcriptions (spec 2.8, 2.9, 4.5)."""

import re
from typing import Annotated, Any, Final
from uuid import UUID

from pydantic import AfterValidator, AliasChoices, BaseModel, BeforeValidator, Field

from framekiln.api.unknown_fields import RequestBody
from framekiln.api.v1.pages import MAX_LIMIT, ListQuery
from framekiln.api.v1.render_bodies import Instant
from framekiln.kit.ids import FileId
from framekiln.transcripts.documents import transcription_document, transcription_document_for_file
from framekiln.transcripts.model import Transcription, TranscriptionRequest

_NUMBER: Final = re.compile(r"-?[0-9]{1,9}")
_LANGUAGE: Final = re.compile(r"[A-Za-z]{2,3}([-_][A-Za-z0-9]{1,8}){0,4}")


def _track_number(value: Any) -> Any:
    """Return the track number, which clients send as a number or as text."""
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError("must be the number of a track")
    return value


def _check_language(text: str) -> str:
    if not _LANGUAGE.fullmatch(text):
        raise ValueError("must be a language code, such as en or de")
    return text


TrackNumberOrText = Annotated[
    int,
    Field(ge=-(1 << 31), lt=1 << 31, json_schema_extra={"type": ["integer", "string"]}),
    BeforeValidator(_track_number),
]
Language = Annotated[
    str,
    Field(strict=True, json_schema_extra={"pattern": f"^{_LANGUAGE.pattern}$"}),
    AfterValidator(_check_language),
]


class TranscribeFile(RequestBody):
    """The body of POST /api/v1/{files,isobmff_files}/:id/transcribe."""

    track_id: TrackNumberOrText | None = Field(
        default=None, validation_alias=AliasChoices("trackId", "track_id")
    )
    language: Language | None = None

    def as_ask(self, file_id: FileId) -> TranscriptionRequest:
        """Return the transcription request."""
        return TranscriptionRequest(file_id, self.track_id, self.language)


class CreateTranscription(TranscribeFile):
    """The body of POST /api/v1/transcriptions."""

    track_id: TrackNumberOrText | None = Field(
        default=None, validation_alias=AliasChoices("track_id", "trackId")
    )
    file_id: Annotated[str, Field(max_length=64, strict=True)]


class TranscribeStarted(BaseModel):
    """The response to a transcribe request."""

    id: UUID
    file_id: UUID
    track_id: int

    @classmethod
    def of(cls, transcription: Transcription) -> "TranscribeStarted":
        """Return the id of the transcription."""
        return cls(
            id=transcription.id, file_id=transcription.file_id, track_id=transcription.track_id
        )


class TranscriptionError(BaseModel):
    """Why a transcription failed."""

    code: str
    message: str


class TranscriptionRecord(TranscribeStarted):
    """A transcription."""

    status: str
    language: str | None
    engine: str | None
    warnings: list[str]
    duration_ms: int
    work_slice_ms: int
    created_at: Instant
    completed_at: Instant | None
    failed_at: Instant | None
    error: TranscriptionError | None

    @classmethod
    def of(cls, transcription: Transcription) -> "TranscriptionRecord":
        """Return the response for a transcription."""
        return cls(**transcription_document(transcription))


class FileTranscriptionRecord(TranscriptionRecord):
    """The transcription of a file: the same, but `complete` is called `completed`."""

    @classmethod
    def of(cls, transcription: Transcription) -> "FileTranscriptionRecord":
        """Return the response for a transcription."""
        return cls(**transcription_document_for_file(transcription))


class IsobmffTrackLength(BaseModel):
    """The transcribed track."""

    duration_ms: int


class IsobmffTranscriptionRecord(FileTranscriptionRecord):
    """The transcription of a file at its older address (spec 2.8)."""

    isobmff_track: IsobmffTrackLength

    @classmethod
    def of(cls, transcription: Transcription) -> "IsobmffTranscriptionRecord":
        """Return the response for a transcription."""
        record = FileTranscriptionRecord.of(transcription).model_dump()
        length = IsobmffTrackLength(duration_ms=transcription.duration_ms)
        return cls(**record, isobmff_track=length)


class TranscriptionQuery(ListQuery):
    """The query of GET /api/v1/transcriptions."""

    limit: int = Field(default=20, ge=1, le=MAX_LIMIT, description="Transcriptions on a page.")
    file_id: str | None = Field(default=None, description="Only those of this file.")


class TranscriptionList(BaseModel):
    """A page of transcriptions, newest first."""

    transcriptions: list[TranscriptionRecord]
    next_cursor: str | None


class CaptionText(BaseModel):
    """Some text and its time, in seconds."""

    start: float
    end: float
    text: str


class TranscriptFragment(BaseModel):
    """The transcript of one slice of a file."""

    segments: list[CaptionText]
    word_segments: list[CaptionText]


class TranscriptCaptions(TranscriptFragment):
    """The transcript of a whole file."""

    language: str | None
    engine: str | None
    status: str
