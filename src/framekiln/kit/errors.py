"""Every error this service raises on purpose descends from `FramekilnError`.

    FramekilnError          code, blame, retryable, details
    ├── InvalidInput        the caller sent something that cannot be accepted
    ├── Unauthenticated     no key, or one that does not work
    ├── Forbidden           we know who asks, and they may not, from there
    ├── NotFound            no such thing for this organization
    ├── Conflict            it exists, but its state forbids the request
    ├── TooLarge            over a stated limit
    ├── Gone                it was there and has expired
    ├── RateLimited         asked too often; `retry_after_s` says when to try again
    ├── OutOfRange          bytes that cannot be joined to what is there
    ├── RemoteFailed        somebody else's server or media misbehaved
    ├── CompositionFailed   the caller's page or media cannot be rendered
    └── Unavailable         we cannot do it now; trying again may help

`code` is the word on the wire, `blame` says whose fault it is, `retryable` whether the same
request may succeed later. How they look over HTTP is known to `api/errors.py` alone.
"""

from enum import StrEnum
from typing import Any, ClassVar


class Blame(StrEnum):
    """Whose fault an error is."""

    CALLER = "caller"
    REMOTE = "remote"
    US = "us"


class FramekilnError(Exception):
    """Base of all errors; `details` are extra fields for the wire."""

    code: ClassVar[str] = "internal_error"
    blame: ClassVar[Blame] = Blame.US
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.details = details
        self.warnings: tuple[str, ...] = ()
        """What was noticed before it came to this; told to the owner, too."""


class InvalidInput(FramekilnError):
    """The caller sent something that cannot be accepted; `field` names where."""

    code = "invalid_request"
    blame = Blame.CALLER


class Unauthenticated(FramekilnError):
    """No key, or one that does not work."""

    code = "unauthorized"
    blame = Blame.CALLER


class Forbidden(FramekilnError):
    """Authenticated, but not allowed from this origin."""

    code = "forbidden"
    blame = Blame.CALLER


class NotFound(FramekilnError):
    """No such thing for this organization."""

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
    """It was there and has expired."""

    code = "gone"
    blame = Blame.CALLER


class OutOfRange(FramekilnError):
    """The range does not continue the stored bytes."""

    code = "out_of_range"
    blame = Blame.CALLER


class RateLimited(FramekilnError):
    """Asked too often; `retry_after_s` says when to try again."""

    code = "rate_limited"
    blame = Blame.CALLER
    retryable = True


class RemoteFailed(FramekilnError):
    """Somebody else's server or media misbehaved."""

    code = "remote_failed"
    blame = Blame.REMOTE
    retryable = True


class CompositionFailed(FramekilnError):
    """The caller's page or media cannot be rendered."""

    code = "composition_failed"
    blame = Blame.CALLER


class Unavailable(FramekilnError):
    """We cannot do it now; trying again may help."""

    code = "unavailable"
    retryable = True
