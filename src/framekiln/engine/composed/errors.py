"""Why a page, or a slice of it, is filmed instead of composed. Not errors of the film."""


class NotComposable(Exception):
    """The motion of the page is not known beforehand, or cannot be composed.

    Its text is the first of the `reasons`.
    """

    def __init__(self, *reasons: str) -> None:
        super().__init__(reasons[0])
        self.reasons = reasons


class LayersNotDrawn(NotComposable):
    """Chromium failed to draw layers; a new tab may succeed."""


class ComposedFramesDiffer(Exception):
    """A composed frame does not look like Chromium's; the slice must be filmed."""
