"""Why a page, or a slice of it, is filmed instead of composed. Not errors of the film."""


class NotComposable(Exception):
    """The motion of the page is not known beforehand, or cannot be composed."""


class ComposedFramesDiffer(Exception):
    """A composed frame does not look like Chromium's; the slice must be filmed."""
