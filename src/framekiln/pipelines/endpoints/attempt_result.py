"""Results of endpoint attempts, from a response, a callback or a timeout. Pure.

Responses are read as in spec 4.7. A callback that comes before the request has ended is stored as
JSON until then: the time of a heartbeat, or a result.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

from framekiln.jobs.failures import Failure
from framekiln.kit.errors import FramekilnError
from framekiln.kit.fetch import FetchedResponse
from framekiln.kit.json_scan import scan_json
from framekiln.pipelines.errors import EndpointRefused, EndpointUnavailable, InvalidOutput
from framekiln.pipelines.model.endpoint import EndpointAttempt
from framekiln.pipelines.model.run import MAX_RETRY_AFTER_S
from framekiln.pipelines.outputs.model import StepOutput
from framekiln.pipelines.outputs.validation import OutputRules, check_output
from framekiln.pipelines.schema.issues import ISSUE_WORDS, IssueCode, ValidationIssue

MAX_RESPONSE_BYTES: Final = 4 << 20
"""Limit of a response body with its white space; stored outputs have a limit of their own."""
_SHOWN_ISSUES: Final = 5
_ACCEPTED: Final = 202
_RETRYABLE_STATUSES: Final = frozenset({408, 429})
_IDENTITY_ENCODINGS: Final = frozenset({"", "identity"})


@dataclass(frozen=True)
class AttemptAccepted:
    """The endpoint will call back."""


@dataclass(frozen=True)
class AttemptSucceeded:
    """The endpoint has done the work."""

    output: StepOutput


@dataclass(frozen=True)
class AttemptFailed:
    """The endpoint has not done the work."""

    failure: Failure
    is_retryable: bool = False
    retry_after_s: int = 0
    issues: tuple[ValidationIssue, ...] = ()
    """Issues of an output, for the endpoint that sent it."""


FinalResult = AttemptSucceeded | AttemptFailed
AttemptResult = AttemptAccepted | FinalResult


def result_of_output(value: Any, rules: OutputRules) -> FinalResult:
    """Return the result for an output: success if it is valid, else a failure."""
    checked = check_output(value, rules)
    return AttemptSucceeded(checked) if isinstance(checked, StepOutput) else invalid_output(checked)


def result_of_body(content: bytes, rules: OutputRules) -> FinalResult:
    """Return the result for a response body; an empty body is an empty output."""
    if len(content) > MAX_RESPONSE_BYTES:
        return invalid_output([ValidationIssue("", IssueCode.TOO_LARGE)])
    if not content.strip():
        return AttemptSucceeded(StepOutput())
    try:
        scan_json(content)
        value = json.loads(content.decode())
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deep" if isinstance(error, RecursionError) else str(error)
        return AttemptFailed(Failure(InvalidOutput.code, f"the output is not JSON: {reason}"[:500]))
    return result_of_output(value, rules)


def invalid_output(issues: list[ValidationIssue]) -> AttemptFailed:
    """Return the failure for an output with these issues; a retry would not help."""
    shown = ", ".join(
        f"{each.path or 'output'}: {ISSUE_WORDS[each.code]}" for each in issues[:_SHOWN_ISSUES]
    )
    more = f" and {len(issues) - _SHOWN_ISSUES} more" if len(issues) > _SHOWN_ISSUES else ""
    reason = f"the output of the endpoint is invalid: {shown}{more}"
    return AttemptFailed(Failure(InvalidOutput.code, reason), issues=tuple(issues))


def early_result(attempt: EndpointAttempt) -> FinalResult | None:
    """Return the result that was called back before the request had ended."""
    early = attempt.early_callback
    return result_from_json(early["verdict"]) if early and "verdict" in early else None


def last_heartbeat_at(attempt: EndpointAttempt) -> datetime | None:
    """Return the last heartbeat before the request had ended, or else when it was sent."""
    early = attempt.early_callback
    if early and "heartbeat_at" in early:
        return datetime.fromisoformat(early["heartbeat_at"])
    return attempt.sent_at


def early_callback(result: FinalResult | None, *, now: datetime) -> dict[str, Any]:
    """Return a result as stored before the request has ended; without one it is a heartbeat."""
    if result is None:
        return {"heartbeat_at": now.isoformat()}
    return {"verdict": result_to_json(result)}


def result_to_json(result: FinalResult) -> dict[str, Any]:
    """Return a result as stored."""
    if isinstance(result, AttemptSucceeded):
        return {"output": result.output.to_json()}
    failure = {"code": result.failure.code, "message": result.failure.message}
    return {**failure, "is_retryable": result.is_retryable}


def result_from_json(stored: dict[str, Any]) -> FinalResult:
    """Return a stored result."""
    if "output" in stored:
        return AttemptSucceeded(StepOutput.from_json(stored["output"]))
    return AttemptFailed(Failure(stored["code"], stored["message"]), stored["is_retryable"])


def result_of_response(
    response: FetchedResponse, rules: OutputRules, *, now: datetime
) -> AttemptResult:
    """Return the result for a response: succeeded, accepted, or failed."""
    status = response.status
    if status == _ACCEPTED:
        return AttemptAccepted()
    if 200 <= status < 300:
        encoding = response.headers.get("content-encoding", "").strip().lower()
        if encoding not in _IDENTITY_ENCODINGS:
            return _refused(f"sent content-encoding {encoding}, which was not requested")
        return result_of_body(response.content, rules)
    if status >= 500 or status in _RETRYABLE_STATUSES:
        failure = Failure(EndpointUnavailable.code, f"the endpoint answered with status {status}")
        return AttemptFailed(failure, True, retry_after_s(response.headers, now=now))
    if 300 <= status < 400:
        return _refused(f"answered with status {status}: redirects are not followed")
    return _refused(f"answered with status {status}")


def result_of_error(error: FramekilnError) -> AttemptFailed:
    """Return the result for a request without a response."""
    code = EndpointUnavailable.code if error.retryable else EndpointRefused.code
    return AttemptFailed(
        Failure(code, f"the endpoint sent no response: {error.message}"), error.retryable
    )


def retry_after_s(headers: Mapping[str, str], *, now: datetime) -> int:
    """Return the delay in `Retry-After`, in seconds or as a date; at most an hour."""
    text = headers.get("retry-after", "").strip()
    if text.isascii() and text.isdecimal():
        return int(text[:9]) if int(text[:9]) < MAX_RETRY_AFTER_S else MAX_RETRY_AFTER_S
    try:
        until = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return 0
    # A date without a zone is in UTC, like all HTTP dates.
    until = until if until.tzinfo is not None else until.replace(tzinfo=UTC)
    wait_s = int((until - now).total_seconds())
    return max(0, min(wait_s, MAX_RETRY_AFTER_S))


def _refused(what: str) -> AttemptFailed:
    return AttemptFailed(Failure(EndpointRefused.code, f"the endpoint {what}"))
