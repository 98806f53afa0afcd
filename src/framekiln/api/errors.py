"""How errors look over HTTP: the only place that knows.

Every error becomes a `Problem`; the route's family decides how the problem is written:

    v1          {error, message, ...details}
    pipelines   the same; invalid input is 422 {error, message, issues: [{path, code}]}
    v2          {error, message}; invalid input is 422 with `errors` and `issues` beside them

On a route that answers with an event stream the problem is one `error` event. Whatever the caller
sent, writing the error never fails: strange numbers and broken text are made harmless first.
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
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from framekiln.api import sse
from framekiln.api.logs import request_id_of
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

RETRY_AFTER_S = 5
MAX_ISSUES = 50
MAX_TEXT_CHARS = 2000
MAX_PATH_CHARS = 300
MAX_DEPTH = 16

STATUSES: tuple[tuple[type[FramekilnError], int], ...] = (
    (InvalidInput, 400),
    (Unauthenticated, 401),
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

# Streamed uploads and what steps find out about a file belong to pipelines, too (spec 4.7).
PIPELINE_PATH = re.compile(r"/api/v1/(pipeline|files/stream$|files/[^/]+/(stream|metadata)(/|$))")
# Where a value was found is no part of its field's name.
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
    """The three ways of writing an error."""

    V1 = "v1"
    V2 = "v2"
    PIPELINES = "pipelines"


class MalformedJson(InvalidInput):
    """The body is not JSON at all; 400 in every family."""

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
    """An error on its way out; `issues` are there when the input was invalid."""

    status: int
    code: str
    message: str
    details: Mapping[str, Any] = field(default_factory=dict)
    issues: Sequence[ProblemIssue] = ()
    headers: Mapping[str, str] = field(default_factory=dict)


def install_error_handlers(app: FastAPI) -> None:
    """Make `app` answer every error in our shapes; unexpected ones need `UnexpectedErrors` too."""
    app.add_exception_handler(FramekilnError, _answer_framekiln_error)
    app.add_exception_handler(RequestValidationError, _answer_invalid)
    app.add_exception_handler(HTTPException, _answer_http)


class UnexpectedErrors:
    """ASGI middleware: what nobody foresaw becomes a 500 that tells nothing but the request id."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        has_started = False

        async def send_noting_start(message: Message) -> None:
            nonlocal has_started
            has_started = has_started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, receive, send_noting_start)
        except ClientDisconnect:
            # Nobody is left to answer, and nothing of ours is wrong.
            log.info("the caller went away while sending")
        except Exception:
            log.exception("unexpected error")
            if has_started:
                # Half an answer is out: only a broken connection can say that it is not whole.
                raise
            await write_problem(scope, _internal(scope))(scope, receive, send)


def family_of(path: str) -> Family:
    """Return the family of the route at `path`."""
    if path == "/v2" or path.startswith("/v2/"):
        return Family.V2
    if PIPELINE_PATH.match(path):
        return Family.PIPELINES
    return Family.V1


def problem_of(error: FramekilnError, family: Family) -> Problem:
    """Return the problem an error is; a failure of ours is made discreet by who answers."""
    status = next((code for kind, code in STATUSES if isinstance(error, kind)), 500)
    headers: dict[str, str] = {}
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if status in (429, 503):
        headers["Retry-After"] = str(error.details.get("retry_after_s", RETRY_AFTER_S))
    if not isinstance(error, InvalidInput) or isinstance(error, MalformedJson):
        return Problem(status, error.code, error.message, error.details, headers=headers)
    if family is not Family.V1:
        status = 422
    issues = _issues_in(error)
    return Problem(status, error.code, error.message, error.details, issues, headers)


def invalid_request(errors: Iterable[Mapping[str, Any]], family: Family) -> Problem:
    """Return the problem for what pydantic found wrong."""
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
    """Translate one of pydantic's errors; what was sent is never repeated."""
    location = list(error.get("loc", ()))
    if location and location[0] in PLACES:
        location = location[1:]
    path = ".".join(str(part) for part in location)
    message = str(error.get("msg", "is not valid")).removeprefix("Value error, ")
    return ProblemIssue(safe_text(path)[:MAX_PATH_CHARS], _issue_code(error), safe_text(message))


def body_of(problem: Problem, family: Family) -> dict[str, Any]:
    """Return the JSON body of a problem as its family writes it."""
    body: dict[str, Any] = {"error": problem.code, "message": problem.message}
    if family is Family.V2:
        return _v2_body(problem) if problem.issues else body
    if family is Family.PIPELINES and problem.issues:
        issues = [{"path": issue.path, "code": issue.code} for issue in problem.issues]
        return {**body, "issues": issues}
    return body | _extra_fields(problem)


def write_problem(scope: Scope, problem: Problem) -> Response:
    """Return the answer for a problem on the route of this request."""
    headers = dict(problem.headers)
    if is_stream_route(scope):
        return sse.error_response(problem.status, problem.message, headers=headers)
    body = safe_json(body_of(problem, family_of(scope["path"])))
    # No cache may keep an error: the next try can go well.
    headers.setdefault("Cache-Control", "no-store")
    return Response(
        json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode(),
        status_code=problem.status,
        media_type="application/json",
        headers=headers,
    )


def is_stream_route(scope: Scope) -> bool:
    """Tell whether the route answers with events."""
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
    """Return `text` without halves of characters, and not endless."""
    whole = SURROGATE.sub("\ufffd", text)
    return whole if len(whole) <= MAX_TEXT_CHARS else whole[:MAX_TEXT_CHARS] + "..."


def _safe_number(number: float) -> float | str:
    if isinstance(number, int):
        # Python refuses to write out integers of thousands of digits.
        return number if number.bit_length() <= 1024 else "a very large number"
    return number if math.isfinite(number) else str(number)


def _safe_members(value: Mapping[Any, Any] | Iterable[Any], depth: int) -> Any:
    if isinstance(value, Mapping):
        return {safe_text(str(key)): safe_json(each, depth) for key, each in value.items()}
    return [safe_json(each, depth) for each in value]


async def _answer_framekiln_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, FramekilnError)
    problem = problem_of(error, family_of(request.url.path))
    if error.blame is Blame.US:
        # Its words are for the operator: they may name keys, paths and hosts of ours.
        log.error("request failed", code=error.code, exc_info=error)
        problem = _without_details(request.scope, problem)
    return write_problem(request.scope, problem)


async def _answer_invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return write_problem(
        request.scope, invalid_request(error.errors(), family_of(request.url.path))
    )


async def _answer_http(request: Request, error: Exception) -> Response:
    """Answer what the framework itself refuses: no such route, wrong method."""
    assert isinstance(error, HTTPException)
    method, path = request.method, request.url.path
    if error.status_code == 404:
        code, message = "not_found", f"there is nothing at {path}"
    elif error.status_code == 405:
        code, message = "method_not_allowed", f"{path} cannot be asked with {method}"
    else:
        phrase = HTTPStatus(error.status_code).phrase
        code, message = re.sub(r"\W+", "_", phrase).lower(), str(error.detail)
    return write_problem(
        request.scope, Problem(error.status_code, code, message, headers=error.headers or {})
    )


def _internal(scope: Scope) -> Problem:
    return _without_details(scope, Problem(500, FramekilnError.code, ""))


def _without_details(scope: Scope, problem: Problem) -> Problem:
    """Return the problem with nothing but its code and where to look it up."""
    request_id = request_id_of(scope)
    told = "try again in a moment" if problem.status == 503 else "something went wrong on our side"
    message = f"{told}; the request id is {request_id}"
    return replace(problem, message=message, details={"request_id": request_id}, issues=())


def _issues_in(error: InvalidInput) -> list[ProblemIssue]:
    """Return the issues a domain put into `details`, or one made of the error itself."""
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
    """Return the details; none may replace `error` or `message`."""
    return {
        name: value for name, value in problem.details.items() if name not in ("error", "message")
    }


def _issue_code(error: Mapping[str, Any]) -> str:
    """Return our word for pydantic's type of error; its own words never get out."""
    kind = str(error.get("type", "invalid"))
    if kind in ISSUE_CODES:
        return ISSUE_CODES[kind]
    if kind.startswith(("greater_than", "less_than", "too_", "string_too_")):
        return "out_of_range"
    if kind.endswith(("_type", "_parsing")):
        return "type"
    return "invalid"
