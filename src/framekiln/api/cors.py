"""CORS: what browsers let pages of other origins do.

A page of any origin may do what its own key or token allows. The session cookie works only on
pages of allowed origins.
"""

from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from framekiln.api.logs import HEADER as REQUEST_ID_HEADER
from framekiln.api.origins import is_own_origin

API_PREFIX: Final = ("/api/v1/", "/v2/")
SESSION_PATHS: Final = frozenset({"/login", "/logout", "/session", "/ef-sign-url", "/@ef-sign-url"})

METHODS: Final = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"
# The headers that routes read, and those that event stream readers and players add.
ALLOWED: Final = (
    "Authorization, Cache-Control, Content-Digest, Content-Range, Content-Type, Idempotency-Key,"
    " If-Match, If-Modified-Since, If-None-Match, If-Range, If-Unmodified-Since, Last-Event-ID,"
    f" Pragma, Range, {REQUEST_ID_HEADER}"
)
EXPOSED: Final = (
    "Accept-Ranges, Content-Disposition, Content-Length, Content-Range, ETag, Retry-After,"
    f" {REQUEST_ID_HEADER}"
)
MAX_AGE_S: Final = 600


class Cors:
    """ASGI middleware: adds CORS headers for each origin, and answers preflight requests."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _is_open(scope["path"]):
            await self._app(scope, receive, send)
            return
        granted = _grant(scope)
        if scope["method"] == "OPTIONS":
            await _answer_preflight(granted, send)
            return

        async def send_granted(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(granted)
                headers.add_vary_header("Origin")
            await send(message)

        await self._app(scope, receive, send_granted)


def _is_open(path: str) -> bool:
    return path.startswith(API_PREFIX) or path in SESSION_PATHS


def _grant(scope: Scope) -> dict[str, str]:
    headers = Headers(scope=scope)
    origin = headers.get("origin")
    is_ours = origin is not None and is_own_origin(
        origin.lower(), headers, scope["app"].state.services.settings
    )
    if origin is not None and is_ours:
        return {
            "Access-Control-Expose-Headers": EXPOSED,
            "Access-Control-Allow-Origin": origin,
            "Access-Control-Allow-Credentials": "true",
        }
    # The session routes need the cookie.
    if scope["path"] in SESSION_PATHS:
        return {}
    # `null` is any sandboxed frame, so it identifies no origin.
    is_named = origin is not None and origin != "null"
    return {
        "Access-Control-Expose-Headers": EXPOSED,
        "Access-Control-Allow-Origin": origin if origin is not None and is_named else "*",
    }


async def _answer_preflight(granted: dict[str, str], send: Send) -> None:
    message: Message = {"type": "http.response.start", "status": 204, "headers": []}
    headers = MutableHeaders(scope=message)
    headers.update(granted)
    headers["Vary"] = "Origin"
    if granted:
        headers.update(
            {
                "Access-Control-Allow-Headers": ALLOWED,
                "Access-Control-Allow-Methods": METHODS,
                "Access-Control-Max-Age": str(MAX_AGE_S),
            }
        )
    await send(message)
    await send({"type": "http.response.body", "body": b""})
