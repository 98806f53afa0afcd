"""Errors of the client."""

from framekiln.kit.errors import Blame, FramekilnError, InvalidInput, NotFound, Unavailable


class ServiceUnreachable(Unavailable):
    """The service does not respond, is unavailable or refuses more, or the connection broke."""

    code = "service_unreachable"

    @property
    def retry_after_s(self) -> int | None:
        """In how many seconds to try again, if the service says so."""
        found: int | None = self.details.get("retry_after_s")
        return found


class ServiceRefused(FramekilnError):
    """The service refused the request; `status` and `error` are those of the response."""

    code = "service_refused"
    blame = Blame.CALLER


class EndedBadly(FramekilnError):
    """The awaited resource has failed; `error` is its reason."""

    code = "ended_badly"
    blame = Blame.CALLER


class NoSuchPipeline(NotFound):
    """No active pipeline has this name."""

    code = "no_such_pipeline"


class NotStreamable(InvalidInput):
    """A local video cannot be streamed without re-encoding."""

    code = "not_streamable"


class OtherMedia(InvalidInput):
    """The stream was started with another video."""

    code = "other_media"


class LocalFileUnusable(InvalidInput):
    """A local file cannot be read, is empty, or changed during the upload."""

    code = "local_file_unusable"


class WrongSignature(InvalidInput):
    """A message to a webhook is not signed with the secret, or is too old."""

    code = "wrong_signature"
