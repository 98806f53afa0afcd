"""Errors of compositions that cannot become a film."""

from framekiln.kit.errors import CompositionFailed


class LengthUnknown(CompositionFailed):
    """Neither the request nor the page defines how long the film is."""

    code = "duration_unknown"


class FilmTookTooLong(CompositionFailed):
    """The render exceeded its time limit."""

    code = "render_timeout"


class ScriptMissing(CompositionFailed):
    """One of the page's scripts did not run, and nothing is drawn without it."""

    code = "script_missing"


class SizeUnsettled(CompositionFailed):
    """The page reports a different size in every window."""

    code = "size_unsettled"
