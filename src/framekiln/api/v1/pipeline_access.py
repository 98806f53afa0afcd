"""What all routes of pipelines share: who may ask, idempotency keys, ids in addresses.

Pipelines are switched on for each organization; until then their routes are as if they were not.
"""

from typing import Annotated, Final
from uuid import UUID

from fastapi import Depends, Header, Request

from framekiln.api.auth import AuthenticatedCaller
from framekiln.identity.model import Caller
from framekiln.kit.errors import NotFound
from framekiln.kit.ids import parse_uuid
from framekiln.pipelines.services.requests import read_idempotency_key

MAX_BODY_BYTES: Final = 64 << 10
MAX_DEFINITION_BYTES: Final = 1 << 20


async def pipeline_caller(request: Request, caller: AuthenticatedCaller) -> Caller:
    """Return who asks, if pipelines are switched on for them."""
    if not caller.organization.pipelines_enabled:
        raise NotFound(f"there is nothing at {request.url.path}")
    return caller


async def idempotency_key(
    text: Annotated[
        str | None,
        Header(
            alias="Idempotency-Key",
            description="1 to 255 characters; the same request again is answered with the first"
            " one.",
        ),
    ] = None,
) -> str | None:
    """Return the key of a request, if it has one."""
    return read_idempotency_key(text)


PipelineCaller = Annotated[Caller, Depends(pipeline_caller)]
IdempotencyKey = Annotated[str | None, Depends(idempotency_key)]


def parse_path_id(text: str, kind: type[NotFound], message: str) -> UUID:
    """Return the id in an address; what is none is answered like one that does not exist."""
    found = parse_uuid(text)
    if found is None:
        raise kind(f"{message} {text[:100]!r}: ids are UUIDs")
    return found
