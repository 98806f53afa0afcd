"""CORS: what browsers let pages of other origins do.

A page of any origin may do what its own key or token allows. The session cookie works only on
pages of allowed origins.
"""

from collections.abc import Iterable
from typing import Final

from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from framekiln.api.logs import HEADER as REQUEST_ID_HEADER
from framekiln.api.origins import is_own_origin
from framekiln.links.model import PREFIX as LINK_PREFIX

API_PREFIX: Final = ("/api/v1/", "/v2/", LINK_PREFIX)
SESSION_PATHS: Final = frozenset(
    {
        "/login",
        "/login/code",
        "/login/review",
        "/logout",
        "/session",
        "/session/review",
        "/ef-sign-url",
        "/@ef-sign-url",
    }
)

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


RawHeaders = list[tuple[bytes, bytes]]

_VARY: Final = (b"vary", b"Origin")
_EXPOSE: Final = (b"access-control-expose-headers", EXPOSED.encode())
_ALLOW_ORIGIN: Final = b"access-control-allow-origin"
_WITHOUT_ORIGIN: Final = [_EXPOSE, (_ALLOW_ORIGIN, b"*"), _VARY]
_PREFLIGHT: Final = [
    (b"access-control-allow-headers", ALLOWED.encode()),
    (b"access-control-allow-methods", METHODS.encode()),
    (b"access-control-max-age", str(MAX_AGE_S).encode()),
]


def is_open(path: str) -> bool:
    """Return whether pages of other origins may use an address."""
    return path.startswith(API_PREFIX) or path in SESSION_PATHS


def allowed_headers(scope: Scope) -> RawHeaders:
    """Return what the page that sent a request may do, as headers of its response."""
    is_session = scope["path"] in SESSION_PATHS
    headers = Headers(scope=scope)
    origin = headers.get("origin")
    if origin is None:
        return [_VARY] if is_session else _WITHOUT_ORIGIN
    if is_own_origin(origin.lower(), headers, scope["app"].state.services.settings):
        credentials = (b"access-control-allow-credentials", b"true")
        return [_EXPOSE, (_ALLOW_ORIGIN, origin.encode("latin-1")), credentials, _VARY]
    # The session routes need the cookie.
    if is_session:
        return [_VARY]
    # `null` is any sandboxed frame, so it identifies no origin.
    named = "*" if origin == "null" else origin
    return [_EXPOSE, (_ALLOW_ORIGIN, named.encode("latin-1")), _VARY]


def with_headers(
    headers: Iterable[tuple[bytes, bytes]], added: Iterable[tuple[bytes, bytes]]
) -> RawHeaders:
    """Return the headers of a response and those that are added; `Vary` is there once."""
    own = list(headers)
    for name, value in own:
        if name == b"vary":
            names = {part.strip().lower() for part in value.split(b",")}
            merged = value if names & {b"origin", b"*"} else value + b", Origin"
            rest = [each for each in own if each[0] != b"vary"]
            return [*rest, (name, merged), *(each for each in added if each != _VARY)]
    return [*own, *added]


async def answer_preflight(scope: Scope, _receive: Receive, send: Send) -> None:
    """Answer a browser that asks what a page may do."""
    headers = _PREFLIGHT if len(allowed_headers(scope)) > 1 else []
    await send({"type": "http.response.start", "status": 204, "headers": headers})
    await send({"type": "http.response.body", "body": b""})
