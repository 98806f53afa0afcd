"""Errors of files and their uploads."""

from framekiln.kit.errors import (
    CompositionFailed,
    Conflict,
    Gone,
    InvalidInput,
    NotFound,
    OutOfRange,
)


class FileNotFound(NotFound):
    """No such file in this organization."""

    code = "file_not_found"


class TrackNotFound(NotFound):
    """The file has no such track."""

    code = "track_not_found"


class FrameNotFound(NotFound):
    """The video has no frame with this number, or the file is no video."""

    code = "frame_not_found"


class FileExpired(Gone):
    """Its `expires_at` has passed and its content is deleted."""

    code = "file_expired"


class FileNotReady(Conflict):
    """Its content was requested before it was ready, or it failed."""

    code = "file_not_ready"


class FileTakesNoContent(Conflict):
    """Bytes were sent for a file whose upload has ended, or that has no size."""

    code = "file_takes_no_content"


class TrackExists(Conflict):
    """A track with this number and another size is complete."""

    code = "track_exists"


class TooManyTracks(Conflict):
    """The file has as many tracks as a file may have."""

    code = "too_many_tracks"


class UploadGap(OutOfRange):
    """A chunk begins after the next missing byte, which is in `next_byte`."""

    code = "upload_gap"


class ChunkMismatch(InvalidInput):
    """Range, length and size of a chunk do not match each other, or the upload."""

    code = "chunk_mismatch"


class TooManyParts(InvalidInput):
    """An upload was sent in too many small chunks."""

    code = "too_many_parts"


class Md5Mismatch(InvalidInput):
    """The MD5 of the uploaded bytes is not the declared one."""

    code = "md5_mismatch"


class WrongContent(InvalidInput):
    """The bytes do not match the file's type."""

    code = "wrong_content"


class InvalidIndex(InvalidInput):
    """A fragment index is malformed or does not match the tracks."""

    code = "invalid_index"


class FileKillsWorkers(CompositionFailed):
    """Several workers died while they processed the file."""

    code = "file_kills_workers"
