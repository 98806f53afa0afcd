"""Request and response bodies of the older file addresses, one shape for each type."""

from typing import Annotated, Any, Final
from uuid import UUID

from pydantic import BaseModel, Field

from framekiln.api.unknown_fields import RequestBody
from framekiln.api.v1.file_bodies import Bytes, CreateTrack, Md5, check_size
from framekiln.api.v1.names import FileName
from framekiln.api.v1.render_bodies import Instant
from framekiln.files.model import MAX_BYTES, File, FileStatus, FileType, NewFile, OlderType
from framekiln.kit.clock import iso

_OLDER_TYPES: Final = {FileType.IMAGE: OlderType.IMAGE, FileType.VIDEO: OlderType.UNPROCESSED}


class CreateTyped(RequestBody):
    """The body of POST /api/v1/{caption_files,unprocessed_files}."""

    filename: FileName
    byte_size: Bytes
    md5: Md5 | None = None

    def as_new_file(self, file_type: FileType, *, mime_type: str | None = None) -> NewFile:
        """Return the new file, or raise `TooLarge` when it is too large for its type."""
        check_size(self.byte_size, MAX_BYTES[file_type], what=f"a file of type {file_type}")
        older_type = _OLDER_TYPES.get(file_type)
        return NewFile(
            self.filename,
            file_type,
            self.byte_size,
            self.md5,
            mime_type,
            older_type=older_type,
        )


class CreateImage(CreateTyped):
    """The body of POST /api/v1/image_files; width and height come from the image itself."""

    mime_type: Annotated[str, Field(max_length=255, strict=True)] | None = None
    width: Any = None
    height: Any = None


class CreateIsobmff(RequestBody):
    """The body of POST /api/v1/isobmff_files, whose tracks are uploaded separately."""

    filename: FileName
    md5: Md5 | None = None


class CreateIsobmffTrack(CreateTrack):
    """The body of POST /api/v1/isobmff_tracks."""

    file_id: Annotated[str, Field(max_length=64)]


class ImageCreated(BaseModel):
    """An image, in the response to its creation."""

    id: UUID
    complete: bool
    byte_size: int | None
    md5: str | None

    @classmethod
    def of(cls, file: File) -> "ImageCreated":
        """Return the image."""
        return cls(id=file.id, complete=is_ready(file), byte_size=file.byte_size, md5=file.md5)


class ImageRecord(ImageCreated):
    """An image and its size, once that is known."""

    height: int | None
    width: int | None

    @classmethod
    def of(cls, file: File) -> "ImageRecord":
        """Return the image."""
        created = ImageCreated.of(file).model_dump()
        return cls(**created, height=file.height_px, width=file.width_px)


class CaptionRecord(BaseModel):
    """A caption file."""

    id: UUID
    complete: bool
    md5: str | None

    @classmethod
    def of(cls, file: File) -> "CaptionRecord":
        """Return the caption file."""
        return cls(id=file.id, complete=is_ready(file), md5=file.md5)


class UnprocessedRecord(BaseModel):
    """A video, as uploaded."""

    id: UUID
    md5: str | None
    byte_size: int | None
    next_byte: int
    complete: bool

    @classmethod
    def of(cls, file: File) -> "UnprocessedRecord":
        """Return the original of a video."""
        return cls(
            id=file.id,
            md5=file.md5,
            byte_size=file.byte_size,
            next_byte=file.next_byte,
            complete=file.status.is_all_sent,
        )


class ProcessStarted(BaseModel):
    """The processing of a video, which has the id of the file."""

    id: UUID


class ProcessRecord(BaseModel):
    """The result of a video's processing."""

    id: UUID
    created_at: Instant
    completed_at: Instant | None
    failed_at: Instant | None
    isobmff_file_id: UUID | None
    unprocessed_file_id: UUID

    @classmethod
    def of(cls, file: File) -> "ProcessRecord":
        """Return the processing of a file."""
        return cls(
            id=file.id,
            created_at=file.created_at.isoformat(),
            completed_at=iso(file.completed_at),
            failed_at=iso(file.failed_at),
            isobmff_file_id=file.id if is_ready(file) else None,
            unprocessed_file_id=file.id,
        )


class IsobmffRecord(BaseModel):
    """A video as tracks and their index (spec 2.8)."""

    id: UUID
    filename: str
    md5: str | None
    fragment_index_complete: bool

    @classmethod
    def of(cls, file: File) -> "IsobmffRecord":
        """Return the tracks' file."""
        return cls(
            id=file.id,
            filename=file.filename,
            md5=file.md5,
            fragment_index_complete=is_ready(file),
        )


def is_ready(file: File) -> bool:
    """Return whether the file is ready."""
    return file.status is FileStatus.READY
