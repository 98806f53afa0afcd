"""Requests to links (`/l/<token>/...`), answered by the routes that the links lead to.

The path and the query become those that were signed, whatever the request adds. Credentials of
the request are dropped: a link shows the same to everybody.
"""

from typing import Final
from urllib.parse import quote

import structlog
from starlette.exceptions import HTTPException
from starlette.types import Message, Receive, Scope, Send

from framekiln.api.auth import LINK_STATE, OpenedLink, reads_media
from framekiln.api.cors import with_headers
from framekiln.api.origins import SAFE_METHODS
from framekiln.api.route_index import RouteIndex
from framekiln.links.errors import LinkNotFound
from framekiln.links.model import PREFIX, Link
from framekiln.links.service import Links

_DROPPED: Final = frozenset({b"authorization", b"cookie"})
_CACHE: Final = b"cache-control"
_ADDED: Final = (
    # A browser that kept anything longer would still show it when the link is revoked.
    (_CACHE, b"private, no-cache"),
    # Also for pages that are isolated from other origins.
    (b"cross-origin-resource-policy", b"cross-origin"),
    (b"referrer-policy", b"no-referrer"),
)


class LinkAccess:
    """ASGI application: the routes, also by links."""

    def __init__(self, routes: RouteIndex) -> None:
        self._routes = routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(PREFIX):
            await self._routes(scope, receive, send)
            return
        if scope["method"] not in SAFE_METHODS:
            raise HTTPException(405, headers={"Allow": "GET, HEAD, OPTIONS"})
        links: Links = scope["app"].state.services.links
        token, _, rest = scope["path"].removeprefix(PREFIX).partition("/")
        link = await links.open(token)
        structlog.contextvars.bind_contextvars(link_id=str(link.id))
        _redirect(scope, link, rest)
        folder_url = links.token_url(token).removesuffix("/")
        scope["state"][LINK_STATE] = OpenedLink(link.organization_id, folder_url)
        if not reads_media(self._routes.find(scope)):
            raise LinkNotFound("this link leads to nothing that can be shown")
        await self._routes(scope, receive, _with_added_headers(send))


def _with_added_headers(send: Send) -> Send:
    async def send_linked(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = [each for each in message.get("headers", ()) if each[0].lower() != _CACHE]
            message["headers"] = with_headers(own, _ADDED)
        await send(message)

    return send_linked


def _redirect(scope: Scope, link: Link, rest: str) -> None:
    """Change what the request is for; the log then has the path without the token."""
    path = link.target.find_path(rest)
    if path is None:
        raise LinkNotFound(
            f"this link is only for {link.target.name} and, if that is a stream, its segments"
        )
    scope["path"] = path
    scope["raw_path"] = quote(path).encode()
    scope["query_string"] = link.target.query.encode()
    scope["headers"] = [each for each in scope["headers"] if each[0] not in _DROPPED]
