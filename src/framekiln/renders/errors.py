"""Errors of renders and what is uploaded for them."""

from framekiln.kit.errors import Conflict, InvalidInput, NotFound, TooLarge


class RenderNotFound(NotFound):
    """The organization has no such render."""

    code = "render_not_found"


class RenderNotComplete(Conflict):
    """The output was requested before it was complete."""

    code = "render_not_complete"


class RenderIsActive(Conflict):
    """The render cannot be deleted while workers render it."""

    code = "render_is_active"


class RenderOfVideo(Conflict):
    """The render belongs to videos, which would be lost with it."""

    code = "render_of_video"


class RenderHasComposition(Conflict):
    """The render already has its composition, so it takes no upload."""

    code = "render_has_composition"


class BadBundle(InvalidInput):
    """The upload is not a valid bundle."""

    code = "invalid_bundle"


class BadFilm(InvalidInput):
    """The upload is not a film that a render could have made."""

    code = "invalid_film"


class BundleTooLarge(TooLarge):
    """The unpacked bundle exceeds a limit."""

    code = "bundle_too_large"
