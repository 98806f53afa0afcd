"""The result of an endpoint's response (spec 4.7). Pure."""

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

from framekiln.jobs.failures import Failure
from framekiln.kit.errors import FramekilnError
from framekiln.kit.fetch import FetchedResponse
from framekiln.pipelines.endpoints.attempt_result import (
    AttemptAccepted,
    AttemptFailed,
    AttemptResult,
    OutputRules,
    result_of_body,
)
from framekiln.pipelines.endpoints.errors import EndpointRefused, EndpointUnavailable
from framekiln.pipelines.scheduling.attempts import MAX_RETRY_AFTER_S

_ACCEPTED: Final = 202
_RETRYABLE_STATUSES: Final = frozenset({408, 429})
_IDENTITY_ENCODINGS: Final = frozenset({"", "identity"})


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
    except ValueError:
        return 0
    # A date without a zone is in UTC, like all HTTP dates.
    until = until if until.tzinfo is not None else until.replace(tzinfo=UTC)
    wait_s = int((until - now).total_seconds())
    return max(0, min(wait_s, MAX_RETRY_AFTER_S))


def _refused(what: str) -> AttemptFailed:
    return AttemptFailed(Failure(EndpointRefused.code, f"the endpoint {what}"))
