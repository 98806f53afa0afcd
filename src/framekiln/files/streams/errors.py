"""What can be wrong with streamed uploads."""

from framekiln.kit.errors import CompositionFailed, Conflict, InvalidInput, NotFound


class StreamNotFound(NotFound):
    """The file is not uploaded as a stream."""

    code = "stream_not_found"


class StreamClosed(Conflict):
    """The stream was sealed or has failed; nothing can be added to it."""

    code = "stream_closed"


class StreamIncomplete(Conflict):
    """A stream was to be sealed, and has not as many fragments as the caller says."""

    code = "stream_incomplete"


class InitMissing(Conflict):
    """A fragment came before the init segment of its track."""

    code = "init_missing"


class FragmentGap(Conflict):
    """A fragment has a higher number than the one that is expected; `next` says which."""

    code = "fragment_gap"


class FragmentDiffers(Conflict):
    """Other bytes are there under this number: this is not the media that the stream began with."""

    code = "fragment_differs"


class InvalidTracks(InvalidInput):
    """A stream has 1 to 8 tracks, each with its own number, at most one of them video."""

    code = "invalid_tracks"


class InvalidFragment(InvalidInput):
    """The bytes are no init segment or fragment, or do not follow what has come before."""

    code = "invalid_fragment"


class UnsupportedCoding(InvalidInput):
    """Not every browser plays this coding, so it cannot be kept as it comes."""

    code = "unsupported_coding"


class InvalidDigest(InvalidInput):
    """Content-Digest is missing, or has no SHA-256 sum."""

    code = "invalid_digest"


class DigestMismatch(InvalidInput):
    """The bytes that came have another sum than Content-Digest says."""

    code = "digest_mismatch"


class StreamAbandoned(CompositionFailed):
    """Nothing came for a day, and the stream was never sealed."""

    code = "stream_abandoned"
