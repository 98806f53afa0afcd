"""The body of a callback: a heartbeat, an output, or a failure (spec 4.7). Pure."""

import re
from dataclasses import dataclass
from typing import Annotated, Any, Final

from framekiln.jobs.failures import Failure
from framekiln.pipelines.endpoints.attempt_result import AttemptFailed
from framekiln.pipelines.endpoints.errors import EndpointFailed
from framekiln.pipelines.errors import invalid_request
from framekiln.pipelines.schema.issues import IssueCode, Location, ValidationIssue, sorted_issues
from framekiln.pipelines.schema.records import read_record, report_unknown
from framekiln.pipelines.schema.shapes import Text

MAX_MESSAGE_CHARS: Final = 1000
MAX_CODE_CHARS: Final = 64
CODE: Final = re.compile(r"[a-z][a-z0-9_]*")
STATUSES: Final = ("heartbeat", "succeeded", "failed")


@dataclass(frozen=True)
class Flag:
    """True or false."""

    def read(self, value: Any, place: Location) -> bool | None:
        """Return it, or report."""
        if not isinstance(value, bool):
            place.report(IssueCode.TYPE)
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
    """The endpoint is still working."""


@dataclass(frozen=True)
class UncheckedOutput:
    """The endpoint has done the work; its output is not checked yet."""

    value: Any


Callback = Heartbeat | UncheckedOutput | AttemptFailed


def read_callback(value: Any) -> Callback:
    """Return the callback, or raise with all issues of its body."""
    if not isinstance(value, dict):
        raise invalid_request([ValidationIssue("", IssueCode.TYPE)])
    issues: list[ValidationIssue] = []
    callback = _read(value, Location(issues))
    if callback is None or issues:
        raise invalid_request(sorted_issues(issues))
    return callback


def _read(value: dict[Any, Any], place: Location) -> Callback | None:
    status = value.get("status")
    if status == "heartbeat":
        report_unknown(value, ("status",), place)
        return Heartbeat()
    if status == "succeeded":
        report_unknown(value, ("status", "output"), place)
        output = value.get("output")
        return UncheckedOutput({} if output is None else output)
    if status == "failed":
        report_unknown(value, ("status", "error"), place)
        return _read_error(value, place / "error")
    absent = IssueCode.REQUIRED if "status" not in value else IssueCode.UNKNOWN_VALUE
    (place / "status").report(absent)
    return None


def _read_error(value: dict[Any, Any], place: Location) -> AttemptFailed | None:
    if "error" not in value:
        place.report(IssueCode.REQUIRED)
        return None
    error = read_record(CallbackError, value["error"], place)
    if error is None:
        return None
    return AttemptFailed(
        Failure(error.code or EndpointFailed.code, error.message), bool(error.retryable)
    )
