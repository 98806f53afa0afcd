"""What can go wrong with videos."""

from framekiln.kit.errors import Conflict, NotFound


class VideoNotFound(NotFound):
    """No such video in this organization."""

    code = "video_not_found"


class VideoNotReady(Conflict):
    """Its content was asked for before it was there."""

    code = "video_not_ready"


class NotAFilm(Conflict):
    """A stream, or a frame, was asked for of a video that has none."""

    code = "not_a_film"
