"""Finds the route of a request without trying all of them in turn.

Which routes can match follows from the method, the number of segments of the path, and those of
its first segments that are fixed. These candidates are tried in their usual order. Whatever none
of them answers goes to the router itself: other methods (405) and unknown paths (404).
"""

from collections.abc import Sequence
from typing import Final, cast

from fastapi import APIRouter
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute, Match
from starlette.types import Message, Receive, Scope, Send

from framekiln.api.errors import is_stream_route

_FIXED_SEGMENTS: Final = 3
"""How many of the first segments are compared: `/api/v1/renders` has three."""

Key = tuple[str, int, tuple[str, ...]]


class RouteIndex:
    """ASGI application: the routes of a router, by what their paths have in common."""

    def __init__(self, router: APIRouter) -> None:
        self._router = router
        self._routes: Sequence[BaseRoute] = ()
        self._names: list[set[str]] = []
        self._methods: set[str] = set()
        self._longest = 0
        self._candidates: dict[Key, list[BaseRoute]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        route = self.find(scope) if scope["type"] == "http" else None
        if route is None:
            await self._router.app(scope, receive, send)
            return
        scope["router"] = self._router
        if scope["method"] == "HEAD" and isinstance(route, APIRoute):
            await route.app(scope, receive, _without_body(send))
        else:
            await route.handle(scope, receive, send)

    @property
    def size(self) -> int:
        """How many lists of candidates it keeps."""
        return len(self._candidates)

    def find(self, scope: Scope) -> BaseRoute | None:
        """Return the first route that matches fully, with its match in the scope.

        A route that answers GET also answers HEAD, unless its response may never end.
        """
        found = self._find(scope)
        if found is not None or scope["method"] != "HEAD":
            return found
        as_get = {**scope, "method": "GET"}
        found = self._find(as_get)
        if found is None or is_stream_route(as_get):
            return None
        scope.update({**as_get, "method": "HEAD"})
        return found

    def _find(self, scope: Scope) -> BaseRoute | None:
        if len(self._routes) != len(self._router.routes):
            self._read_routes()
        key = self._key(scope["method"], scope["path"])
        candidates = self._candidates.get(key)
        if candidates is None:
            candidates = [route for route in self._routes if _can_match(route, key)]
            self._candidates[key] = candidates
        for route in candidates:
            match, child_scope = route.matches(scope)
            if match is Match.FULL:
                scope.update(child_scope)
                return route
        return None

    def _key(self, method: str, path: str) -> Key:
        """Return what decides the candidates; segments that no route names are all alike.

        So there are no more keys than combinations of names of ours, whatever is requested.
        """
        segments = path.split("/")[1:]
        fixed = tuple(
            segment if segment in names else ""
            for segment, names in zip(segments, self._names, strict=False)
        )
        known = method if method in self._methods else ""
        return known, min(len(segments), self._longest + 1), fixed

    def _read_routes(self) -> None:
        self._routes = list(self._router.routes)
        self._candidates = {}
        self._names = [set() for _ in range(_FIXED_SEGMENTS)]
        self._methods, self._longest = set(), 0
        for route in filter(_is_indexed, self._routes):
            segments = _segments(route)
            self._longest = max(self._longest, len(segments))
            self._methods |= _methods(route)
            for segment, names in zip(segments, self._names, strict=False):
                if "{" not in segment:
                    names.add(segment)


def _without_body(send: Send) -> Send:
    """Return how to send the response to HEAD."""

    async def send_head(message: Message) -> None:
        if message["type"] == "http.response.body":
            message = {**message, "body": b""}
        await send(message)

    return send_head


def _can_match(route: BaseRoute, key: Key) -> bool:
    if not _is_indexed(route):
        return True
    method, count, fixed = key
    segments = _segments(route)
    return (
        method in _methods(route)
        and len(segments) == count
        and all(
            "{" in segment or segment == name
            for segment, name in zip(segments, fixed, strict=False)
        )
    )


def _is_indexed(route: BaseRoute) -> bool:
    """Whether the path of a route has a fixed number of segments."""
    return isinstance(route, APIRoute) and ":path}" not in route.path


def _methods(route: BaseRoute) -> set[str]:
    return cast(APIRoute, route).methods or set()


def _segments(route: BaseRoute) -> list[str]:
    return cast(APIRoute, route).path.split("/")[1:]
