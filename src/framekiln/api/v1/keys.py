"""/api/v1/keys: the API keys of the organization, for users who are logged in.

A key cannot make or revoke keys: whoever has found one must not be able to keep the access.
"""

from datetime import datetime
from typing import Final

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field

from framekiln.api.auth import SessionCaller, services_of
from framekiln.api.bodies import json_body, read_json
from framekiln.api.unknown_fields import RequestBody, WarningRoute
from framekiln.identity.errors import KeyNotFound
from framekiln.identity.model import MAX_NAME_CHARS, ApiKey

router = APIRouter(prefix="/api/v1", tags=["organization"], route_class=WarningRoute)

MAX_BODY_BYTES: Final = 16 << 10


class CreateKey(RequestBody):
    """The name of a new key."""

    name: str = Field(min_length=1, max_length=MAX_NAME_CHARS)


class KeyInfo(BaseModel):
    """A key, without its text."""

    key_id: str = Field(description="The last part of the key; it is no secret.")
    name: str
    created_at: datetime
    last_used_at: datetime | None = Field(description="To the minute.")
    revoked_at: datetime | None

    @classmethod
    def of(cls, key: ApiKey) -> "KeyInfo":
        """Describe a key."""
        return cls(
            key_id=key.key_id,
            name=key.name,
            created_at=key.created_at,
            last_used_at=key.last_used_at,
            revoked_at=key.revoked_at,
        )


class CreatedKey(KeyInfo):
    """A new key with its text."""

    text: str = Field(description="The key itself; it is not shown again.")


class KeyList(BaseModel):
    """The keys of the organization."""

    keys: list[KeyInfo]


@router.get("/keys", summary="List API keys")
async def list_keys(request: Request, caller: SessionCaller) -> KeyList:
    """Return all keys, revoked ones too."""
    found = await services_of(request).identity.list_keys(caller.organization.id)
    return KeyList(keys=[KeyInfo.of(key) for key in found])


@router.post(
    "/keys", status_code=201, openapi_extra=json_body(CreateKey), summary="Make an API key"
)
async def create_key(request: Request, response: Response, caller: SessionCaller) -> CreatedKey:
    """Make a key; the response has its text, which cannot be shown again."""
    body = await read_json(request, CreateKey, max_bytes=MAX_BODY_BYTES)
    issued = await services_of(request).identity.create_key(caller.organization.id, body.name)
    response.headers["Cache-Control"] = "no-store"
    return CreatedKey(**KeyInfo.of(issued.key).model_dump(), text=issued.text)


@router.delete("/keys/{key_id}", summary="Revoke an API key")
async def revoke_key(request: Request, caller: SessionCaller, key_id: str) -> KeyInfo:
    """End a key; programs with it get 401 from now on."""
    identity = services_of(request).identity
    keys = await identity.list_keys(caller.organization.id)
    # The key of another organization looks like one that does not exist.
    if not any(key.key_id == key_id for key in keys):
        raise KeyNotFound(f"there is no key {key_id[:100]!r}")
    return KeyInfo.of(await identity.revoke_key(key_id))
