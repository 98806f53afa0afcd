"""Errors of videos."""

from framekiln.kit.errors import Conflict, NotFound


class VideoNotFound(NotFound):
    """No such video in this organization."""

    code = "video_not_found"


class VideoNotReady(Conflict):
    """Its content was requested before it was ready."""

    code = "video_not_ready"


class NotAFilm(Conflict):
    """A stream or frame was requested of a video that has none."""

    code = "not_a_film"
