"""Shared by all pipeline routes: access, idempotency keys, ids in addresses.

Pipelines are enabled for each organization; until then their routes answer 404.
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
    """Return the caller, if pipelines are enabled for its organization."""
    if not caller.organization.pipelines_enabled:
        raise NotFound(f"there is nothing at {request.url.path}")
    return caller


async def idempotency_key(
    text: Annotated[
        str | None,
        Header(
            alias="Idempotency-Key",
            description="1 to 255 characters; a repeated request returns the first result.",
        ),
    ] = None,
) -> str | None:
    """Return the key of a request, if it has one."""
    return read_idempotency_key(text)


PipelineCaller = Annotated[Caller, Depends(pipeline_caller)]
IdempotencyKey = Annotated[str | None, Depends(idempotency_key)]


def parse_path_id(text: str, kind: type[NotFound], message: str) -> UUID:
    """Return the id in an address; a malformed one is answered like an unknown one."""
    found = parse_uuid(text)
    if found is None:
        raise kind(f"{message} {text[:100]!r}: ids are UUIDs")
    return found
