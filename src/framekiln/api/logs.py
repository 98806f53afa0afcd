"""One id and one log line for every request. Headers, queries and bodies are never logged.

The id is the caller's `X-Request-Id` when that is plain text, else a new one; the response and
every log line of the request have it.
"""

import re
from uuid import uuid4

import structlog
from starlette.types import Scope

from framekiln.links.model import PREFIX as LINK_PREFIX

HEADER = "X-Request-Id"
RAW_HEADER = HEADER.lower().encode()
SANE_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")

# These addresses contain a secret.
SECRET_PREFIXES = ("/api/v1/pipeline-callbacks/", LINK_PREFIX)
# Polled every few seconds by machines: logged only when they fail.
QUIET_PATHS = frozenset({"/healthz", "/readyz", "/metrics"})

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


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
    for prefix in SECRET_PREFIXES:
        if path.startswith(prefix):
            return prefix + "[hidden]"
    return path


def write_request_line(scope: Scope, *, status: int, duration_s: float) -> None:
    """Log a request, unless it is one of those that machines send every few seconds."""
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
