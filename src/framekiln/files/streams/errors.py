"""Errors of streamed uploads."""

from framekiln.kit.errors import CompositionFailed, Conflict, InvalidInput, NotFound


class StreamNotFound(NotFound):
    """The file is not uploaded as a stream."""

    code = "stream_not_found"


class ExcerptEmpty(NotFound):
    """The file has nothing between the two times."""

    code = "content_not_found"


class StreamClosed(Conflict):
    """The stream was sealed or has failed; nothing can be added to it."""

    code = "stream_closed"


class StreamIncomplete(Conflict):
    """The stream cannot be sealed because fragments are missing."""

    code = "stream_incomplete"


class InitMissing(Conflict):
    """A fragment was sent before the init segment of its track."""

    code = "init_missing"


class FragmentGap(Conflict):
    """The number of a fragment is higher than the expected one, which is in `next`."""

    code = "fragment_gap"


class FragmentDiffers(Conflict):
    """Different bytes are stored under this number: it is not the media the stream began with."""

    code = "fragment_differs"


class InvalidTracks(InvalidInput):
    """A stream has 1 to 8 tracks, each with its own number, at most one of them video."""

    code = "invalid_tracks"


class InvalidFragment(InvalidInput):
    """The bytes are not an init segment or fragment, or do not continue the previous fragment."""

    code = "invalid_fragment"


class UnsupportedCoding(InvalidInput):
    """Not every browser plays this codec, so it cannot be stored unchanged."""

    code = "unsupported_coding"


class InvalidDigest(InvalidInput):
    """Content-Digest is missing, or has no SHA-256 digest."""

    code = "invalid_digest"


class DigestMismatch(InvalidInput):
    """The digest of the body is not the one in Content-Digest."""

    code = "digest_mismatch"


class StreamAbandoned(CompositionFailed):
    """The stream received nothing for a day and was not sealed."""

    code = "stream_abandoned"
