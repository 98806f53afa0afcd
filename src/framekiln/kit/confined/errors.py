"""Errors of a confined run, and the transfer of errors from the child.

Only known errors are rebuilt, by name: what the child writes is as untrusted as what it reads.
"""

import errno
import importlib
import re
from collections.abc import Iterator
from typing import Any, Final

from framekiln.kit.errors import CompositionFailed, FramekilnError, Unavailable

_MAX_MESSAGE_CHARS: Final = 4000
_OUR_MODULE: Final = re.compile(r"framekiln(\.[a-z][a-z0-9_]*)+")
_LIMITS_BY_ERRNO: Final = {errno.EMFILE: "open_files", errno.EFBIG: "file_bytes"}


class ConfinedFailed(FramekilnError):
    """The child exited without a result, or with an unknown error."""

    code = "confined_failed"


class ConfinedKilled(CompositionFailed):
    """The child crashed or was killed; the message names the exceeded limit."""

    code = "decoder_killed"
    retryable = True


class SourceKillsDecoder(ConfinedKilled):
    """It would happen again: the source crashed two children, or one exceeded a fixed limit."""

    retryable = False


class NoDecoderFree(Unavailable):
    """Other films had all places for decoders, and none became free in time."""

    code = "no_decoder_free"


class TooManySessions(CompositionFailed):
    """A film reads media of too many pages at the same time."""

    code = "too_many_sessions"


def describe_error(error: BaseException) -> dict[str, Any]:
    """Return an error in the child's message format."""
    limit = _limit_behind(error)
    if limit is not None:
        return {"limit": limit}
    if isinstance(error, FramekilnError):
        return {
            "module": type(error).__module__,
            "name": type(error).__qualname__,
            "message": error.message,
            "details": error.details,
        }
    return {"message": f"{type(error).__name__}: {error}"}


def rebuild_error(described: dict[str, Any], task: str) -> FramekilnError:
    """Return the error that a child reported; the caller fills in `limit`."""
    message = str(described.get("message", ""))[:_MAX_MESSAGE_CHARS]
    kind = _our_class(described.get("module"), described.get("name"))
    details = described.get("details")
    if kind is None or not isinstance(details, dict):
        return ConfinedFailed(f"{task}: {message or 'an error without a message'}")
    # Its own constructor may take other arguments.
    error = kind.__new__(kind)
    FramekilnError.__init__(error, message, **details)
    return error


def _our_class(module: object, name: object) -> type[FramekilnError] | None:
    if not isinstance(module, str) or not isinstance(name, str):
        return None
    if not _OUR_MODULE.fullmatch(module) or not name.isidentifier():
        return None
    try:
        found = getattr(importlib.import_module(module), name, None)
    except ImportError:
        return None
    is_ours = isinstance(found, type) and issubclass(found, FramekilnError)
    return found if is_ours else None


def _limit_behind(error: BaseException) -> str | None:
    """Return the limit that caused an error, directly or through a chain of exceptions."""
    for cause in _causes(error):
        if isinstance(cause, MemoryError):
            return "memory_bytes"
        if isinstance(cause, OSError) and cause.errno in _LIMITS_BY_ERRNO:
            return _LIMITS_BY_ERRNO[cause.errno]
    return None


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or current.__context__
