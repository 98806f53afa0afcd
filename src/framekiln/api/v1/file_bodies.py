"""Request and response bodies of files (spec 2.6, 2.7, 4.4)."""

import re
from datetime import datetime
from typing import Annotated, Any, Final, Literal
from uuid import UUID

from pydantic import AfterValidator, BaseModel, Field

from framekiln.api.unknown_fields import RequestBody
from framekiln.api.v1.names import VISIBLE, FileName
from framekiln.api.v1.numbers import NUMBER, WHOLE
from framekiln.api.v1.render_bodies import Instant
from framekiln.files.model import (
    MAX_BYTES,
    MAX_TRACK_BYTES,
    File,
    FileStatus,
    FileType,
    NewFile,
    NewTrack,
    Track,
)
from framekiln.files.representation import file_detail, file_summary
from framekiln.files.uploads import Upload
from framekiln.kit.errors import InvalidInput, TooLarge

# Clients send it plain, or with the dashes of a UUID.
_MD5: Final = re.compile(r"[0-9a-fA-F]{32}|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_MAX_BYTES: Final = (1 << 63) - 1
_MAX_DURATION_MS: Final = 7 * 24 * 3_600_000


def _check_md5(text: str) -> str:
    if not _MD5.fullmatch(text):
        raise ValueError("must be an MD5: 32 hexadecimal digits, with or without dashes")
    return text


Bytes = Annotated[int, Field(ge=1, le=_MAX_BYTES), WHOLE]
Md5 = Annotated[
    str,
    Field(json_schema_extra={"pattern": f"^({_MD5.pattern})$"}),
    AfterValidator(_check_md5),
]


class CreateFile(RequestBody):
    """The body of POST /api/v1/files."""

    filename: FileName
    type: Literal["video", "image", "caption"]
    byte_size: Bytes
    md5: Md5 | None = None
    mime_type: Annotated[str, Field(max_length=255, strict=True)] | None = None
    expires_at: Annotated[
        Any, Field(json_schema_extra={"type": ["string", "null"], "format": "date-time"})
    ] = None

    def as_new_file(self, *, expires_at: datetime | None) -> NewFile:
        """Return the new file, or raise `TooLarge` when it is too large for its type."""
        kind = FileType(self.type)
        check_size(self.byte_size, MAX_BYTES[kind], what=f"a file of type {kind}")
        return NewFile(
            filename=self.filename,
            type=kind,
            byte_size=self.byte_size,
            md5=self.md5,
            mime_type=self.mime_type,
            expires_at=expires_at,
        )


class CreateTrack(RequestBody):
    """The body of POST /api/v1/files/:id/tracks."""

    file_id: str | None = None
    track_id: Annotated[int, Field(ge=-1, le=10_000), WHOLE]
    type: Literal["audio", "video"]
    probe_info: dict[str, Any] = Field(default_factory=dict)
    duration_ms: Annotated[float, Field(ge=0, le=_MAX_DURATION_MS), NUMBER]
    codec_name: Annotated[str, Field(min_length=1, max_length=100, strict=True), VISIBLE]
    byte_size: Bytes

    def as_new_track(self, *, file_id: str) -> NewTrack:
        """Return the new track, or raise `InvalidInput`."""
        if self.file_id is not None and self.file_id.lower() != file_id.lower():
            raise InvalidInput(
                f"file_id is {self.file_id[:64]!r}, but the address names another file",
                field="file_id",
            )
        if self.track_id == 0:
            raise InvalidInput("track_id must be at least 1", field="track_id")
        check_size(self.byte_size, MAX_TRACK_BYTES, what="a track")
        return NewTrack(
            track_id=self.track_id,
            type=self.type,
            codec_name=self.codec_name,
            duration_ms=round(self.duration_ms),
            byte_size=self.byte_size,
            probe_info=self.probe_info,
        )


class FileRecord(BaseModel):
    """A file, in the response to its creation."""

    id: UUID
    filename: str
    type: FileType
    status: FileStatus
    byte_size: int | None
    md5: str | None
    next_byte: int
    expires_at: Instant | None

    @classmethod
    def of(cls, file: File) -> "FileRecord":
        """Return the fields of every response about a file."""
        return cls(**file_summary(file))


class TrackRecord(BaseModel):
    """A track in the detail of its file."""

    track_id: int
    type: Literal["audio", "video"]
    codec_name: str
    duration_ms: int
    byte_size: int


class FileError(BaseModel):
    """Why a file failed."""

    code: str
    message: str


class FileDetail(FileRecord):
    """The answer of GET /api/v1/files/:id."""

    mime_type: str | None
    width: int | None
    height: int | None
    duration_ms: int | None
    created_at: Instant
    completed_at: Instant | None
    failed_at: Instant | None
    error: FileError | None
    tracks: list[TrackRecord]

    @classmethod
    def describe(cls, file: File, tracks: list[Track]) -> "FileDetail":
        """Return all fields; the scrub track is not listed with the file's own tracks."""
        return cls(**file_detail(file, tracks))


class FileUploadState(BaseModel):
    """The progress of a file's upload."""

    id: UUID
    status: FileStatus
    next_byte: int
    byte_size: int | None
    complete: bool

    @classmethod
    def of(cls, upload: Upload) -> "FileUploadState":
        """Return the state of an upload."""
        return cls(
            id=upload.file.id,
            status=upload.file.status,
            next_byte=upload.next_byte,
            byte_size=upload.byte_size,
            complete=upload.is_complete,
        )


class TrackUploadState(BaseModel):
    """The progress of a track's upload; also the response to its creation."""

    file_id: UUID
    track_id: int
    next_byte: int
    byte_size: int
    complete: bool

    @classmethod
    def of(cls, track: Track) -> "TrackUploadState":
        """Return the state of a track."""
        return cls(
            file_id=track.file_id,
            track_id=track.track_id,
            next_byte=track.next_byte,
            byte_size=track.byte_size,
            complete=track.is_complete,
        )


class IndexAccepted(BaseModel):
    """The response to an index upload."""

    id: UUID
    status: FileStatus


def check_size(byte_size: int, limit_bytes: int, *, what: str) -> None:
    """Raise `TooLarge` when a declared size is over its limit."""
    if byte_size > limit_bytes:
        raise TooLarge(
            f"{what} may have at most {limit_bytes} bytes, not {byte_size}",
            field="byte_size",
            limit_bytes=limit_bytes,
        )
