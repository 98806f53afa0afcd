"""Errors of videos, their frames and segments, and of templates."""

from framekiln.kit.errors import CompositionFailed, Conflict, NotFound, Unavailable


class VideoNotFound(NotFound):
    """No such video in this organization."""

    code = "video_not_found"


class VideoNotReady(Conflict):
    """The video was requested before it was ready."""

    code = "video_not_ready"


class NotAFilm(Conflict):
    """A stream or frame was requested of a video that has none."""

    code = "not_a_film"


class HlsSegmentNotFound(NotFound):
    """The film does not have this segment, or does not have it yet."""

    code = "segment_not_found"


class FrameFailed(CompositionFailed):
    """The config cannot be drawn; `reason` is the code of the failure."""

    code = "frame_failed"


class FrameTookTooLong(Unavailable):
    """No worker made the frame in time."""

    code = "frame_took_too_long"


class TemplateNotFound(NotFound):
    """No such template in this organization."""

    code = "template_not_found"


class TemplateVersionNotFound(NotFound):
    """The template has no such version."""

    code = "template_version_not_found"


class TooManyVersions(Conflict):
    """The template has as many versions as a template may have."""

    code = "too_many_versions"


class BulkNotFound(NotFound):
    """No such bulk in this organization."""

    code = "bulk_not_found"


class BulkNotEnded(Conflict):
    """All videos of a bulk were requested while it was running."""

    code = "bulk_not_ended"


class BulkKeyReused(Conflict):
    """The `Idempotency-Key` of a bulk was used with other rows or another template."""

    code = "bulk_key_reused"


class TooManyBulks(Conflict):
    """The organization runs as many bulks as it may at a time."""

    code = "too_many_bulks"
