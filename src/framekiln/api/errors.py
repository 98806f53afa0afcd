"""Error responses; no other module builds them.

Every error becomes a `Problem`; the route's family decides its JSON:

    v1          {error, message, remedy, ...details}
    pipelines   the same; invalid input is 422 {error, message, issues: [{path, code}]}
    v2          the same; invalid input is 422 {error, message, errors, issues}

On an event stream route, the problem is one `error` event. Writing an error never fails, whatever
the caller sent: unusual numbers and broken text are sanitized first.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from http import HTTPStatus
from typing import Any

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException
from starlette.types import Scope

from framekiln.api import sse
from framekiln.api.logs import request_id_of
from framekiln.api.origins import UnknownHost
from framekiln.api.remedies import REMEDIES, REPORT, remedy_of
from framekiln.kit.errors import (
    Blame,
    CompositionFailed,
    Conflict,
    Forbidden,
    FramekilnError,
    Gone,
    InvalidInput,
    NotFound,
    OutOfRange,
    RateLimited,
    RemoteFailed,
    TooLarge,
    Unauthenticated,
    Unavailable,
)
from framekiln.kit.field_messages import field_message
from framekiln.quotas.model import QuotaExceeded

RETRY_AFTER_S = 5
MAX_ISSUES = 50
MAX_TEXT_CHARS = 2000
MAX_PATH_CHARS = 300
MAX_DEPTH = 16

STATUSES: tuple[tuple[type[FramekilnError], int], ...] = (
    (InvalidInput, 400),
    (Unauthenticated, 401),
    (UnknownHost, 421),
    (Forbidden, 403),
    (NotFound, 404),
    (Conflict, 409),
    (Gone, 410),
    (TooLarge, 413),
    (OutOfRange, 416),
    (CompositionFailed, 422),
    (RateLimited, 429),
    (RemoteFailed, 502),
    (Unavailable, 503),
)

# Streamed uploads and the metadata of files belong to pipelines, too (spec 4.7).
PIPELINE_PATH = re.compile(r"/api/v1/(pipeline|files/stream$|files/[^/]+/(stream|metadata)(/|$))")
# The place of a value is not part of its field's path.
PLACES = frozenset({"body", "query", "path", "header", "cookie"})
ISSUE_CODES = {
    "missing": "required",
    "extra_forbidden": "unknown_field",
    "literal_error": "unknown_value",
    "enum": "unknown_value",
    "string_pattern_mismatch": "pattern",
    "int_from_float": "type",
    "finite_number": "out_of_range",
}
SURROGATE = re.compile("[\ud800-\udfff]")

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class Family(Enum):
    """The three JSON shapes of errors."""

    V1 = "v1"
    V2 = "v2"
    PIPELINES = "pipelines"


class MalformedJson(InvalidInput):
    """The body is not JSON; 400 in every family."""

    code = "invalid_json"


@dataclass(frozen=True)
class ProblemIssue:
    """One thing wrong with one field; `path` is dotted."""

    path: str
    code: str
    message: str
    hint: str | None = None


@dataclass(frozen=True)
class Problem:
    """An error response; `issues` lists what is wrong with invalid input."""

    status: int
    code: str
    message: str
    details: Mapping[str, Any] = field(default_factory=dict)
    issues: Sequence[ProblemIssue] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    remedy: str | None = None
    """What to do about it; None if the message or the issues say it."""


def install_error_handlers(app: FastAPI) -> None:
    """Make `app` answer every known error; `RequestMiddleware` handles the others."""
    app.add_exception_handler(FramekilnError, _answer_framekiln_error)
    app.add_exception_handler(RequestValidationError, _answer_invalid)
    app.add_exception_handler(HTTPException, _answer_http)


def family_of(path: str) -> Family:
    """Return the family of the route at `path`."""
    if path == "/v2" or path.startswith("/v2/"):
        return Family.V2
    if PIPELINE_PATH.match(path):
        return Family.PIPELINES
    return Family.V1


def problem_of(error: FramekilnError, family: Family) -> Problem:
    """Return the problem for an error; the handlers hide the details of internal failures."""
    status = next((code for kind, code in STATUSES if isinstance(error, kind)), 500)
    headers: dict[str, str] = {}
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if status in (429, 503):
        headers["Retry-After"] = str(error.details.get("retry_after_s", RETRY_AFTER_S))
    if not isinstance(error, InvalidInput) or isinstance(error, MalformedJson):
        return Problem(
            status,
            error.code,
            error.message,
            error.details,
            headers=headers,
            remedy=remedy_of(error),
        )
    if family is not Family.V1:
        status = 422
    issues = _issues_in(error)
    return Problem(status, error.code, error.message, error.details, issues, headers)


def invalid_request(errors: Iterable[Mapping[str, Any]], family: Family) -> Problem:
    """Return the problem for pydantic's errors."""
    found = [issue_of(error) for error in errors]
    issues = found[:MAX_ISSUES]
    first = issues[0]
    message = f"{first.path}: {first.message}" if first.path else first.message
    if len(found) > 1:
        message += f" (and {len(found) - 1} more)"
    listed = [{"path": each.path, "code": each.code, "message": each.message} for each in issues]
    details = {"field": first.path, "issues": listed}
    status = 400 if family is Family.V1 else 422
    return Problem(status, "invalid_request", message, details, issues)


def issue_of(error: Mapping[str, Any]) -> ProblemIssue:
    """Translate one of pydantic's errors, without the value that was sent."""
    location = list(error.get("loc", ()))
    if location and location[0] in PLACES:
        location = location[1:]
    path = ".".join(str(part) for part in location)
    message = _issue_message(error)
    return ProblemIssue(safe_text(path)[:MAX_PATH_CHARS], _issue_code(error), safe_text(message))


def _issue_message(error: Mapping[str, Any]) -> str:
    message = str(error.get("msg", "is not valid"))
    if error.get("type") == "union_tag_invalid":
        return f"type: must be one of {message.rpartition('expected tags: ')[2]}"
    return field_message(str(error.get("type")), message)


def body_of(problem: Problem, family: Family) -> dict[str, Any]:
    """Return the JSON body of a problem in the shape of its family."""
    body: dict[str, Any] = {"error": problem.code, "message": problem.message}
    if problem.remedy is not None:
        body["remedy"] = problem.remedy
    if family is Family.V2 and problem.issues:
        return _v2_body(problem)
    if family is Family.PIPELINES and problem.issues:
        issues = [{"path": issue.path, "code": issue.code} for issue in problem.issues]
        return {**body, "issues": issues}
    return body | _extra_fields(problem)


def write_problem(scope: Scope, problem: Problem) -> Response:
    """Return the response for a problem on the route of this request."""
    headers = dict(problem.headers)
    if is_stream_route(scope):
        return sse.error_response(problem.status, problem.message, headers=headers)
    body = safe_json(body_of(problem, family_of(scope["path"])))
    # Errors must not be cached: the next attempt may succeed.
    headers.setdefault("Cache-Control", "no-store")
    return Response(
        json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode(),
        status_code=problem.status,
        media_type="application/json",
        headers=headers,
    )


def is_stream_route(scope: Scope) -> bool:
    """Return whether the route answers with an event stream."""
    response_class = getattr(scope.get("route"), "response_class", None)
    return isinstance(response_class, type) and issubclass(response_class, sse.EventStream)


def safe_json(value: Any, depth: int = 0) -> Any:
    """Return `value` as something every JSON encoder and reader accepts."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return _safe_number(value)
    if isinstance(value, Mapping | list | tuple | set | frozenset):
        return _safe_members(value, depth + 1) if depth < MAX_DEPTH else "..."
    return safe_text(str(value))


def safe_text(text: str) -> str:
    """Return `text` without lone surrogates, shortened."""
    whole = SURROGATE.sub("\ufffd", text)
    return whole if len(whole) <= MAX_TEXT_CHARS else whole[:MAX_TEXT_CHARS] + "..."


def _safe_number(number: float) -> float | str:
    if isinstance(number, int):
        # Python refuses to print integers of thousands of digits.
        return number if number.bit_length() <= 1024 else "a very large number"
    return number if math.isfinite(number) else str(number)


def _safe_members(value: Mapping[Any, Any] | Iterable[Any], depth: int) -> Any:
    if isinstance(value, Mapping):
        return {safe_text(str(key)): safe_json(each, depth) for key, each in value.items()}
    return [safe_json(each, depth) for each in value]


async def _answer_framekiln_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, FramekilnError)
    problem = problem_of(error, family_of(request.url.path))
    if isinstance(error, QuotaExceeded):
        request.app.state.metrics.quota_refusals.labels(error.details["quota"]).inc()
    if error.blame is Blame.US:
        # The message is for the operator: it may name keys, paths and internal hosts.
        log.error("request.failed", code=error.code, exc_info=error)
        problem = _without_details(request.scope, problem)
    return write_problem(request.scope, problem)


async def _answer_invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return write_problem(
        request.scope, invalid_request(error.errors(), family_of(request.url.path))
    )


async def _answer_http(request: Request, error: Exception) -> Response:
    """Answer errors of the framework: unknown route, wrong method."""
    assert isinstance(error, HTTPException)
    method, path = request.method, request.url.path
    if error.status_code == 404:
        code, message = "not_found", f"there is nothing at {path}"
    elif error.status_code == 405:
        code, message = "method_not_allowed", f"{path} does not support {method}"
    else:
        phrase = HTTPStatus(error.status_code).phrase
        code, message = re.sub(r"\W+", "_", phrase).lower(), str(error.detail)
    remedy = REMEDIES.get(code)
    headers = error.headers or {}
    problem = Problem(error.status_code, code, message, headers=headers, remedy=remedy)
    return write_problem(request.scope, problem)


def internal_problem(scope: Scope) -> Problem:
    """Return the answer to an unexpected error: only its code and the request id."""
    return _without_details(scope, Problem(500, FramekilnError.code, "", remedy=REPORT))


def _without_details(scope: Scope, problem: Problem) -> Problem:
    """Return the problem with only its code and the request id."""
    request_id = request_id_of(scope)
    is_unavailable = problem.status == 503
    reason = "try again in a moment" if is_unavailable else "something went wrong on our side"
    message = f"{reason}; the request id is {request_id}"
    return replace(problem, message=message, details={"request_id": request_id}, issues=())


def _issues_in(error: InvalidInput) -> list[ProblemIssue]:
    """Return the issues in the error's `details`, or one made from the error itself."""
    given = error.details.get("issues") or [
        {"path": error.details.get("field", ""), "code": error.code, "message": error.message}
    ]
    return [
        ProblemIssue(
            path=str(each["path"]),
            code=str(each["code"]),
            message=str(each.get("message", error.message)),
            hint=each.get("hint"),
        )
        for each in given[:MAX_ISSUES]
    ]


def _v2_body(problem: Problem) -> dict[str, Any]:
    by_path: dict[str, list[str]] = {}
    for issue in problem.issues:
        by_path.setdefault(issue.path, []).append(issue.message)
    return {
        "error": "invalid_request",
        "message": problem.message,
        "errors": by_path,
        "issues": [
            {"path": issue.path, "code": issue.code, "hint": issue.hint or issue.message}
            for issue in problem.issues
        ],
    }


def _extra_fields(problem: Problem) -> dict[str, Any]:
    """Return the details; none may replace `error`, `message` or `remedy`."""
    taken = ("error", "message", "remedy")
    return {name: value for name, value in problem.details.items() if name not in taken}


def _issue_code(error: Mapping[str, Any]) -> str:
    """Return our issue code for pydantic's error type; its own codes are never sent."""
    kind = str(error.get("type", "invalid"))
    if kind in ISSUE_CODES:
        return ISSUE_CODES[kind]
    if kind.startswith(("greater_than", "less_than", "too_", "string_too_")):
        return "out_of_range"
    if kind.endswith(("_type", "_parsing")):
        return "type"
    return "invalid"
