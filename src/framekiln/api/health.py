"""/healthz: this process is running. /readyz: it can also reach the database and the storage."""

import asyncio
from collections.abc import Awaitable, Callable

import structlog
from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from framekiln.api.auth import services_of
from framekiln.capture.browser import find_chromium
from framekiln.engine.confinement import missing_confinement
from framekiln.kit.control_group import has_control_groups
from framekiln.kit.errors import FramekilnError

CHECK_WITHIN_S = 5.0
NO_STORE = {"Cache-Control": "no-store"}

router = APIRouter(tags=["operation"])

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


@router.get("/healthz", summary="Whether this process is running")
async def get_health() -> JSONResponse:
    """Answer 200 while the process is running."""
    return JSONResponse({"status": "ok"}, headers=NO_STORE)


@router.get("/readyz", summary="Whether the database and the storage respond")
async def get_readiness(request: Request) -> JSONResponse:
    """Answer 200 when the service can work, else 503 with what is missing."""
    services = services_of(request)
    database, storage = await asyncio.gather(
        _is_ready("database", services.database.is_ready),
        _is_ready("storage", services.blobs.is_ready),
    )
    checks = {"database": database, "storage": storage}
    missing = [name for name, is_ready in checks.items() if not is_ready]
    states = {name: "ok" if is_ready else "failed" for name, is_ready in checks.items()}
    if not missing:
        confined = not await asyncio.to_thread(missing_confinement, has_pages=_has_chromium())
        groups = await asyncio.to_thread(has_control_groups)
        answer = {
            "status": "ready",
            "checks": states,
            "confined": confined,
            "control_groups": groups,
        }
        return JSONResponse(answer, headers=NO_STORE)
    message = f"not ready: {' and '.join(missing)} cannot be reached"
    return JSONResponse(
        {"error": "not_ready", "message": message, "status": "not ready", "checks": states},
        status_code=503,
        headers={**NO_STORE, "Retry-After": "5"},
    )


def _has_chromium() -> bool:
    """Whether pages can be rendered on this machine; there may be an api only."""
    try:
        find_chromium()
    except FramekilnError:
        return False
    return True


async def _is_ready(name: str, ask: Callable[[], Awaitable[bool]]) -> bool:
    try:
        async with asyncio.timeout(CHECK_WITHIN_S):
            return await ask()
    except Exception as error:
        # Any error of a check means not ready.
        log.warning("health.check_failed", part=name, error=repr(error))
        return False
