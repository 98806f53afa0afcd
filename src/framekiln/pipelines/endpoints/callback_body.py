"""The body of a callback: a heartbeat, an output, or a failure (spec 4.7). Pure."""

import re
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from pydantic import Field, Strict

from framekiln.jobs.failures import Failure
from framekiln.pipelines.endpoints.attempt_result import AttemptFailed
from framekiln.pipelines.errors import EndpointFailed, invalid_request
from framekiln.pipelines.outputs.validation import OutputForm
from framekiln.pipelines.schema.field_types import DescribedJson, Text
from framekiln.pipelines.schema.issues import IssueCode, Location, ValidationIssue, sorted_issues
from framekiln.pipelines.schema.records import Record, read

MAX_MESSAGE_CHARS: Final = 1000
MAX_CODE_CHARS: Final = 64
CODE: Final = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True, kw_only=True)
class CallbackError(Record):
    """`error` of a callback that failed."""

    message: Annotated[str, Text(maximum=MAX_MESSAGE_CHARS)]
    code: Annotated[str | None, Text(maximum=MAX_CODE_CHARS, pattern=CODE)] = None
    retryable: Annotated[bool | None, Strict()] = None


@dataclass(frozen=True, kw_only=True)
class HeartbeatBody(Record):
    """Says that the endpoint is still at it."""

    status: Literal["heartbeat"]


@dataclass(frozen=True, kw_only=True)
class SucceededBody(Record):
    """Brings an output."""

    status: Literal["succeeded"]
    output: Annotated[Any, DescribedJson(OutputForm | None)] = None


@dataclass(frozen=True, kw_only=True)
class FailedBody(Record):
    """Says why there is no output."""

    status: Literal["failed"]
    error: CallbackError


CallbackBody = Annotated[HeartbeatBody | SucceededBody | FailedBody, Field(discriminator="status")]


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
    match value.get("status"):
        case "heartbeat":
            return None if read(HeartbeatBody, value, place) is None else Heartbeat()
        case "succeeded":
            done = read(SucceededBody, value, place)
            if done is None:
                return None
            return UncheckedOutput({} if done.output is None else done.output)
        case "failed":
            failed = read(FailedBody, value, place)
            return None if failed is None else _failure(failed.error)
    absent = IssueCode.REQUIRED if "status" not in value else IssueCode.UNKNOWN_VALUE
    (place / "status").report(absent)
    return None


def _failure(error: CallbackError) -> AttemptFailed:
    return AttemptFailed(
        Failure(error.code or EndpointFailed.code, error.message), bool(error.retryable)
    )
