"""What can go wrong between a client and the service."""

from framekiln.kit.errors import Blame, FramekilnError, InvalidInput, NotFound, Unavailable


class ServiceUnreachable(Unavailable):
    """The service does not answer, or says that it cannot now; the connection broke."""

    code = "service_unreachable"


class ServiceRefused(FramekilnError):
    """The service said no; `status` and `error` are what it answered."""

    code = "service_refused"
    blame = Blame.CALLER


class EndedBadly(FramekilnError):
    """What was waited for has failed on the service; `error` is its reason."""

    code = "ended_badly"
    blame = Blame.CALLER


class NoSuchPipeline(NotFound):
    """No pipeline in use is called so."""

    code = "no_such_pipeline"


class NotStreamable(InvalidInput):
    """A local video cannot be sent as fragments without being encoded anew."""

    code = "not_streamable"


class OtherMedia(InvalidInput):
    """A stream is to be continued with another video than it began with."""

    code = "other_media"


class LocalFileUnusable(InvalidInput):
    """A local file cannot be read, is empty, or changes while it is sent."""

    code = "local_file_unusable"
