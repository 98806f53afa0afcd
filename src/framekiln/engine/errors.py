"""Why a composition cannot become a film."""

from framekiln.kit.errors import CompositionFailed


class LengthUnknown(CompositionFailed):
    """Neither the request nor the page says how long the film is."""

    code = "duration_unknown"


class FilmTookTooLong(CompositionFailed):
    """The whole render overran its time."""

    code = "render_timeout"


class ScriptMissing(CompositionFailed):
    """A script of the page's own did not run, and nothing is drawn without it."""

    code = "script_missing"


class SizeUnsettled(CompositionFailed):
    """The page says another size in every window it is shown in."""

    code = "size_unsettled"
