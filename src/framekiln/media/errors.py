"""Errors of media; FFmpeg's own errors never leave this package."""

from framekiln.kit.errors import CompositionFailed, FramekilnError


class UnreadableMedia(CompositionFailed):
    """The file is not readable video or audio."""

    code = "unreadable_media"


class UnreadableCaptions(CompositionFailed):
    """The text is not a caption file; the message names the line."""

    code = "unreadable_captions"


class SlicesDiffer(FramekilnError):
    """Slices of one film were encoded with different settings and cannot be joined."""

    code = "slices_differ"


class FramesMissing(FramekilnError):
    """The slices of a film have other frames than its plan; a retry reads them again."""

    code = "frames_missing"
    retryable = True
