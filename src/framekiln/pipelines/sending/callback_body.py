"""The body of a callback: a sign of life, a result, or a failure (spec 4.7). Pure."""

import re
from dataclasses import dataclass
from typing import Annotated, Any, Final

from framekiln.jobs.ending import Failure
from framekiln.pipelines.errors import invalid_request
from framekiln.pipelines.forms.issues import Code, Issue, Place, sorted_issues
from framekiln.pipelines.forms.records import read_record, report_unknown
from framekiln.pipelines.forms.shapes import Text
from framekiln.pipelines.sending.errors import EndpointFailed
from framekiln.pipelines.sending.verdict import Failed

MAX_MESSAGE_CHARS: Final = 1000
MAX_CODE_CHARS: Final = 64
CODE: Final = re.compile(r"[a-z][a-z0-9_]*")
STATUSES: Final = ("heartbeat", "succeeded", "failed")


@dataclass(frozen=True)
class Flag:
    """True or false."""

    def read(self, value: Any, place: Place) -> bool | None:
        """Return it, or report."""
        if not isinstance(value, bool):
            place.report(Code.TYPE)
            return None
        return value


@dataclass(frozen=True, kw_only=True)
class CallbackError:
    """`error` of a callback that failed."""

    message: Annotated[str, Text(maximum=MAX_MESSAGE_CHARS)]
    code: Annotated[str | None, Text(maximum=MAX_CODE_CHARS, pattern=CODE)] = None
    retryable: Annotated[bool | None, Flag()] = None


@dataclass(frozen=True)
class Heartbeat:
    """The endpoint is still at it."""


@dataclass(frozen=True)
class RawOutput:
    """The endpoint has done it; what it sent is not checked yet."""

    value: Any


Callback = Heartbeat | RawOutput | Failed


def read_callback(value: Any) -> Callback:
    """Return what is called back, or raise with all that is wrong with it."""
    if not isinstance(value, dict):
        raise invalid_request([Issue("", Code.TYPE)])
    issues: list[Issue] = []
    callback = _read(value, Place(issues))
    if callback is None or issues:
        raise invalid_request(sorted_issues(issues))
    return callback


def _read(value: dict[Any, Any], place: Place) -> Callback | None:
    status = value.get("status")
    if status == "heartbeat":
        report_unknown(value, ("status",), place)
        return Heartbeat()
    if status == "succeeded":
        report_unknown(value, ("status", "output"), place)
        output = value.get("output")
        return RawOutput({} if output is None else output)
    if status == "failed":
        report_unknown(value, ("status", "error"), place)
        return _read_error(value, place / "error")
    absent = Code.REQUIRED if "status" not in value else Code.UNKNOWN_VALUE
    (place / "status").report(absent)
    return None


def _read_error(value: dict[Any, Any], place: Place) -> Failed | None:
    if "error" not in value:
        place.report(Code.REQUIRED)
        return None
    error = read_record(CallbackError, value["error"], place)
    if error is None:
        return None
    return Failed(Failure(error.code or EndpointFailed.code, error.message), bool(error.retryable))
