"""/healthz: this process lives. /readyz: it can also reach what it needs."""

import asyncio
from collections.abc import Awaitable, Callable

import structlog
from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from framekiln.api.auth import services_of

CHECK_WITHIN_S = 5.0
NO_STORE = {"Cache-Control": "no-store"}

router = APIRouter(tags=["operation"])

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


@router.get("/healthz", summary="Whether this process lives")
async def get_health() -> JSONResponse:
    """Answer as long as the process answers at all."""
    return JSONResponse({"status": "ok"}, headers=NO_STORE)


@router.get("/readyz", summary="Whether the database and the storage answer")
async def get_readiness(request: Request) -> JSONResponse:
    """Answer 200 when work can be taken, 503 naming what is missing when it cannot."""
    services = services_of(request)
    database, storage = await asyncio.gather(
        _is_ready("database", services.database.is_ready),
        _is_ready("storage", services.blobs.is_ready),
    )
    checks = {"database": database, "storage": storage}
    missing = [name for name, is_ready in checks.items() if not is_ready]
    told = {name: "ok" if is_ready else "failed" for name, is_ready in checks.items()}
    if not missing:
        return JSONResponse({"status": "ready", "checks": told}, headers=NO_STORE)
    message = f"not ready: {' and '.join(missing)} cannot be reached"
    return JSONResponse(
        {"error": "not_ready", "message": message, "status": "not ready", "checks": told},
        status_code=503,
        headers={**NO_STORE, "Retry-After": "5"},
    )


async def _is_ready(name: str, ask: Callable[[], Awaitable[bool]]) -> bool:
    try:
        async with asyncio.timeout(CHECK_WITHIN_S):
            return await ask()
    except Exception as error:
        # However a check fails, the answer is the same: not ready.
        log.warning("readiness check failed", part=name, error=repr(error))
        return False
