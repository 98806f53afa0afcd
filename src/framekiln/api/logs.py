"""One id and one log line for every request. Headers, queries and bodies are never logged.

The id is the caller's `X-Request-Id` when that is plain text, else a new one; the response and
every log line of the request have it.
"""

import re
import time
from uuid import uuid4

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADER = "X-Request-Id"
SANE_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")

# These addresses contain a secret.
CALLBACK_PREFIX = "/api/v1/pipeline-callbacks/"
# Polled every few seconds by machines: logged only when they fail.
QUIET_PATHS = frozenset({"/healthz", "/readyz", "/metrics"})

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class RequestLog:
    """ASGI middleware, the outermost one: request ids and the access log."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = accept_request_id(Headers(scope=scope).get(HEADER))
        scope.setdefault("state", {})["request_id"] = request_id
        started_s = time.perf_counter()
        status = 0

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)[HEADER] = request_id
            await send(message)

        with structlog.contextvars.bound_contextvars(request_id=request_id):
            try:
                await self._app(scope, receive, send_with_id)
            finally:
                _write_line(scope, status=status, duration_s=time.perf_counter() - started_s)
                # Bound by authentication.
                structlog.contextvars.unbind_contextvars("organization_id", "key_id")


def accept_request_id(offered: str | None) -> str:
    """Return the caller's id when it is safe to log, else a new one."""
    if offered is not None and SANE_ID.fullmatch(offered):
        return offered
    return uuid4().hex


def request_id_of(scope: Scope) -> str:
    """Return the id of the request, `unknown` outside the middleware."""
    found = scope.get("state", {}).get("request_id", "unknown")
    return str(found)


def loggable_path(path: str) -> str:
    """Return the path without its secret part."""
    if path.startswith(CALLBACK_PREFIX):
        return CALLBACK_PREFIX + "[hidden]"
    return path


def _write_line(scope: Scope, *, status: int, duration_s: float) -> None:
    path: str = scope["path"]
    if path in QUIET_PATHS and 0 < status < 500:
        return
    # Status 0: the caller disconnected before the response.
    log.info(
        "request",
        method=scope["method"],
        path=loggable_path(path),
        status=status,
        duration_ms=round(duration_s * 1000, 1),
    )
