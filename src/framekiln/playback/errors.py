"""Errors of playback."""

from framekiln.kit.errors import Blame, InvalidInput, NotFound, Unavailable


class RenditionNotFound(NotFound):
    """The source has no such rendition."""

    code = "rendition_not_found"


class PlaybackSegmentNotFound(NotFound):
    """The rendition has no segment with this number."""

    code = "segment_not_found"


class InitNotFound(NotFound):
    """The source has no such rendition, so it has no init segment."""

    code = "init_segment_not_found"


class SourceAddressInvalid(InvalidInput):
    """`url` is neither an https URL nor a file of this service."""

    code = "source_address_invalid"


class MediaNotReady(Unavailable):
    """The segment is not ready yet; retry soon."""

    code = "media_not_ready"
    # No one's fault: the message may be shown.
    blame = Blame.CALLER
