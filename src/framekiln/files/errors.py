"""What can be wrong with files and their uploads."""

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


class FileExpired(Gone):
    """Its `expires_at` has passed and its content is gone."""

    code = "file_expired"


class FileNotReady(Conflict):
    """Its content was asked for before it was there, or it failed."""

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
    """A chunk begins after the next byte that is expected; `next_byte` says which."""

    code = "upload_gap"


class ChunkMismatch(InvalidInput):
    """Range, length and size of a chunk do not fit each other, or the upload."""

    code = "chunk_mismatch"


class TooManyParts(InvalidInput):
    """An upload came in too many small pieces."""

    code = "too_many_parts"


class Md5Mismatch(InvalidInput):
    """The bytes that came have another sum than was declared."""

    code = "md5_mismatch"


class WrongContent(InvalidInput):
    """The bytes are not what the file's type says."""

    code = "wrong_content"


class InvalidIndex(InvalidInput):
    """A fragment index has the wrong shape or does not fit the tracks."""

    code = "invalid_index"


class FileKillsWorkers(CompositionFailed):
    """One worker after the other died while it processed the file."""

    code = "file_kills_workers"
