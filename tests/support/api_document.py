"""The OpenAPI document, made once in each process of tests: that takes two seconds."""

from functools import cache
from typing import Any, cast

from fastapi.routing import APIRoute

from framekiln.api.app import (
    OPERATION_ROUTERS,
    SESSION_ROUTERS,
    V1_ROUTERS,
    V2_ROUTERS,
    create_app,
)
from framekiln.services import Services


@cache
def api_document() -> dict[str, Any]:
    """Return the document; only to be read. Describing the routes needs no services."""
    return create_app(cast(Services, None)).openapi()


def described_operations() -> list[str]:
    """Return method and path of every operation of the document, without making it."""
    routers = (*V1_ROUTERS, *V2_ROUTERS, *SESSION_ROUTERS, *OPERATION_ROUTERS)
    return [
        f"{method} {route.path_format}"
        for router in routers
        for route in router.routes
        if isinstance(route, APIRoute) and route.include_in_schema
        for method in sorted(route.methods or ())
    ]
