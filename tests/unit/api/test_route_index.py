"""The index finds the same routes as trying all of them in turn."""

import itertools

import pytest
from fastapi import APIRouter
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute, Match
from starlette.types import Scope

from framekiln.api.app import OPERATION_ROUTERS, SESSION_ROUTERS, V1_ROUTERS, V2_ROUTERS
from framekiln.api.errors import is_stream_route
from framekiln.api.route_index import RouteIndex

METHODS = ("GET", "POST", "BREW")
VALUES = ("frame", "x.mp4", "")


def all_routes() -> APIRouter:
    router = APIRouter()
    for each in (*V1_ROUTERS, *V2_ROUTERS, *SESSION_ROUTERS, *OPERATION_ROUTERS):
        router.routes.extend(each.routes)
    return router


def first_match(router: APIRouter, scope: Scope) -> BaseRoute | None:
    for route in router.routes:
        match, child_scope = route.matches(scope)
        if match is Match.FULL:
            scope.update(child_scope)
            return route
    return None


def paths_of(router: APIRouter) -> set[str]:
    """Return the paths of all routes with various values, and some that no route has."""
    found = {"", "/", "//", "/nothing", "/api/v1", "/api/v1/renders/", "/api/v9/renders", "a"}
    for route in router.routes:
        assert isinstance(route, APIRoute)
        names = list(route.param_convertors)
        for values in itertools.islice(itertools.product(VALUES, repeat=len(names)), 4):
            path = route.path_format.format(**dict(zip(names, values, strict=True)))
            found |= {path, f"{path}/more"}
    return found


def test_the_index_finds_the_same_route_as_a_linear_search() -> None:
    router = all_routes()
    index = RouteIndex(router)
    found = 0
    for path, method in itertools.product(sorted(paths_of(router)), METHODS):
        scopes: list[Scope] = [{"type": "http", "method": method, "path": path} for _ in range(2)]
        plain = first_match(router, scopes[0])
        assert index.find(scopes[1]) is plain, (method, path)
        assert scopes[0] == scopes[1]
        found += plain is not None
    assert found > len(router.routes)


def test_what_answers_get_answers_head_unless_it_may_never_end() -> None:
    router = all_routes()
    index = RouteIndex(router)
    streams = 0
    for path in sorted(paths_of(router)):
        scopes: list[Scope] = [{"type": "http", "method": m, "path": path} for m in ("GET", "HEAD")]
        shown, asked = (index.find(scope) for scope in scopes)
        is_stream = is_stream_route(scopes[0])
        assert asked is (None if is_stream else shown), path
        assert scopes[1]["method"] == "HEAD"
        streams += is_stream
    assert streams >= 4


def test_unknown_paths_are_not_cached() -> None:
    index = RouteIndex(all_routes())
    sizes = []
    for begin in (0, 1000):
        for number in range(begin, begin + 1000):
            path = f"/x{number}/v1/y{number}" + "/z" * (number % 50)
            assert index.find({"type": "http", "method": f"M{number}", "path": path}) is None
        sizes.append(index.size)
    assert sizes[0] == sizes[1]


@pytest.mark.parametrize("path", ["/added/one", "/added/one/two"])
def test_routes_added_later_are_found(path: str) -> None:
    router = all_routes()
    index = RouteIndex(router)
    scope: Scope = {"type": "http", "method": "GET", "path": path}
    assert index.find(dict(scope)) is None

    @router.get("/added/{rest:path}")
    async def added(rest: str) -> str:
        return rest

    route = index.find(scope)
    assert isinstance(route, APIRoute)
    assert route.endpoint is added
