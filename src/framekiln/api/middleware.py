"""Everything that is done for each request, in one pass around the application.

Each request has an id, a log line, a count in the metrics, a share of the memory for bodies and a
turn. Its response gets the id and the headers of CORS. An unexpected error becomes a 500. One
middleware for each of these would call each other for every message.
"""

import time
from functools import partial
from typing import Final

import structlog
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from framekiln.api.body_memory import BodyMemory
from framekiln.api.cors import allowed_headers, answer_preflight, is_open, with_headers
from framekiln.api.errors import (
    Family,
    Problem,
    ProblemIssue,
    family_of,
    internal_problem,
    write_problem,
)
from framekiln.api.logs import RAW_HEADER, accept_request_id, write_request_line
from framekiln.api.metrics import Metrics
from framekiln.api.request_turns import RequestTurn, RequestTurns
from framekiln.audit.actor import acting
from framekiln.audit.model import Actor, ActorType

_BOUND: Final = ("request_id", "organization_id", "key_id", "link_id")
"""Fields of log lines: the id, and what authentication binds."""

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class RequestMiddleware:
    """ASGI middleware: id, log, metrics, CORS, errors and limits of each request."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        metrics: Metrics | None = None,
        memory: BodyMemory | None = None,
        turns: RequestTurns | None = None,
    ) -> None:
        self._app = app
        self._metrics = metrics or Metrics()
        self._memory = memory or BodyMemory()
        self._turns = turns or RequestTurns()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started_s = time.perf_counter()
        request_id = accept_request_id(_offered_id(scope))
        scope.setdefault("state", {})["request_id"] = request_id
        share = self._memory.share(scope)
        turn = self._turns.turn(scope)
        added = [(RAW_HEADER, request_id.encode())]
        answer = self._choose_answer(scope, added)
        response = _Response(send, added, turn)
        structlog.contextvars.bind_contextvars(request_id=request_id)
        try:
            # Until authentication says who it is.
            with acting(Actor(ActorType.SERVICE, address=_client_address(scope))):
                await _answer_safely(answer, scope, partial(turn.receive, receive), response)
        finally:
            turn.end()
            share.release()
            duration_s = time.perf_counter() - started_s
            self._metrics.count_request(scope, status=response.status, duration_s=duration_s)
            write_request_line(scope, status=response.status, duration_s=duration_s)
            structlog.contextvars.unbind_contextvars(*_BOUND)

    def _choose_answer(self, scope: Scope, added: list[tuple[bytes, bytes]]) -> ASGIApp:
        """Return what answers a request, and add the headers of CORS."""
        if is_open(scope["path"]):
            added += allowed_headers(scope)
            if scope["method"] == "OPTIONS":
                return answer_preflight
        problem = _nul_problem(scope)
        return self._app if problem is None else write_problem(scope, problem)


class _Response:
    """Sends a response with more headers."""

    def __init__(self, send: Send, added: list[tuple[bytes, bytes]], turn: RequestTurn) -> None:
        self._send = send
        self._added = added
        self._turn = turn
        self.status = 0

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._turn.end()
            self.status = message["status"]
            message["headers"] = with_headers(message.get("headers", ()), self._added)
        await self._send(message)


async def _answer_safely(
    answer: ASGIApp, scope: Scope, receive: Receive, response: _Response
) -> None:
    """Answer with a 500 if the application fails."""
    try:
        await answer(scope, receive, response)
    except ClientDisconnect:
        # There is no one to answer, and the service is not at fault.
        log.info("request.disconnected")
    except Exception:
        log.exception("request.unexpected_error")
        if response.status:
            # Part of the response is sent: only closing the connection marks it incomplete.
            raise
        await write_problem(scope, internal_problem(scope))(scope, receive, response)


def _client_address(scope: Scope) -> str | None:
    client = scope.get("client")
    return client[0] if client else None


def _offered_id(scope: Scope) -> str | None:
    for name, value in scope["headers"]:
        if name == RAW_HEADER:
            return str(value, "latin-1")
    return None


def _nul_problem(scope: Scope) -> Problem | None:
    """Return the refusal of a path or query that contains U+0000."""
    if "\0" in scope["path"]:
        return Problem(404, "not_found", "no address contains the character U+0000")
    if b"%00" not in scope["query_string"]:
        return None
    status = 400 if family_of(scope["path"]) is Family.V1 else 422
    message = "the query contains the character U+0000, which is not allowed"
    return Problem(
        status, "invalid_request", message, issues=[ProblemIssue("", "invalid", message)]
    )
