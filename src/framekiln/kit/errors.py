"""Every error this service raises on purpose descends from `FramekilnError`.

    FramekilnError          code, blame, retryable, details
    ├── InvalidInput        the caller sent something that cannot be accepted
    ├── Unauthenticated     no key, or one that does not work
    ├── Forbidden           known, but not allowed: the origin, role or token is another one
    ├── NotFound            no such resource in this organization
    ├── Conflict            it exists, but its state forbids the request
    ├── TooLarge            over a stated limit
    ├── Gone                it has expired
    ├── RateLimited         too many requests; `retry_after_s` says when to try again
    ├── OutOfRange          the range does not continue the stored bytes
    ├── RemoteFailed        another server failed, or its media is broken
    ├── CompositionFailed   the caller's page or media cannot be rendered
    └── Unavailable         the service cannot do it now; a retry may help
        └── Outage          a server that the service itself needs is away

`code` is sent to callers, `blame` says whose fault it is, `retryable` whether the same
request may succeed later. Only `api/errors.py` knows their HTTP form.
"""

from enum import StrEnum
from typing import Any, ClassVar


class Blame(StrEnum):
    """Whose fault an error is."""

    CALLER = "caller"
    REMOTE = "remote"
    US = "us"


class FramekilnError(Exception):
    """Base of all errors; `details` are extra fields of the response."""

    code: ClassVar[str] = "internal_error"
    blame: ClassVar[Blame] = Blame.US
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.details = details
        self.warnings: tuple[str, ...] = ()
        """Warnings from before the error, for the owner."""


class InvalidInput(FramekilnError):
    """The caller sent something that cannot be accepted; `field` names where."""

    code = "invalid_request"
    blame = Blame.CALLER


class Unauthenticated(FramekilnError):
    """No key, or one that does not work."""

    code = "unauthorized"
    blame = Blame.CALLER


class Forbidden(FramekilnError):
    """The caller is known, but not allowed to do this: from this origin, or in this role."""

    code = "forbidden"
    blame = Blame.CALLER


class NotFound(FramekilnError):
    """No such resource in this organization."""

    code = "not_found"
    blame = Blame.CALLER


class Conflict(FramekilnError):
    """It exists, but its state forbids the request."""

    code = "conflict"
    blame = Blame.CALLER


class TooLarge(FramekilnError):
    """Over a stated limit."""

    code = "too_large"
    blame = Blame.CALLER


class Gone(FramekilnError):
    """The resource has expired."""

    code = "gone"
    blame = Blame.CALLER


class OutOfRange(FramekilnError):
    """The range does not continue the stored bytes."""

    code = "out_of_range"
    blame = Blame.CALLER


class RateLimited(FramekilnError):
    """Too many requests; `retry_after_s` says when to try again."""

    code = "rate_limited"
    blame = Blame.CALLER
    retryable = True


class RemoteFailed(FramekilnError):
    """Another server failed, or its media is broken."""

    code = "remote_failed"
    blame = Blame.REMOTE
    retryable = True


class CompositionFailed(FramekilnError):
    """The caller's page or media cannot be rendered."""

    code = "composition_failed"
    blame = Blame.CALLER


class Unavailable(FramekilnError):
    """The service cannot do it now; a retry may help."""

    code = "unavailable"
    retryable = True


class Outage(Unavailable):
    """A server that the service itself needs is away, so it costs a job no attempt."""


def reason_of(error: Exception) -> str:
    """Return what went wrong, for messages that name the file already: `OSError` repeats it."""
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)
