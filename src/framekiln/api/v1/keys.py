"""/api/v1/keys: the API keys of the organization, for users who are logged in.

A key cannot make or revoke keys: whoever has found one must not be able to keep the access. Owners
see all keys, members those that they have made.
"""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field

from framekiln.api.auth import SessionCaller, services_of
from framekiln.api.bodies import json_body, read_json
from framekiln.api.unknown_fields import RequestBody, WarningRoute
from framekiln.identity.errors import KeyNotFound
from framekiln.identity.model import MAX_NAME_CHARS, ApiKey, Caller, IssuedKey, Role

router = APIRouter(prefix="/api/v1", tags=["organization"], route_class=WarningRoute)

MAX_BODY_BYTES: Final = 16 << 10
DEFAULT_OVERLAP: Final = timedelta(days=1)
MAX_OVERLAP: Final = timedelta(days=90)


class CreateKey(RequestBody):
    """The name of a new key."""

    name: str = Field(min_length=1, max_length=MAX_NAME_CHARS)


class RotateKey(RequestBody):
    """How long the secret before works."""

    overlap_s: int = Field(
        default=int(DEFAULT_OVERLAP.total_seconds()),
        ge=0,
        le=int(MAX_OVERLAP.total_seconds()),
        description="Seconds in which both secrets work, so that programs can be changed.",
    )


class KeyInfo(BaseModel):
    """A key, without its text."""

    key_id: str = Field(description="The last part of the key; it is no secret.")
    name: str
    created_at: datetime
    last_used_at: datetime | None = Field(description="To the minute.")
    revoked_at: datetime | None
    made_by: str | None = Field(description="Who made it in the studio; null for the operator.")
    previous_until: datetime | None = Field(
        description="How long the secret before the last rotation works."
    )

    @classmethod
    def of(cls, key: ApiKey) -> "KeyInfo":
        """Describe a key."""
        return cls(
            key_id=key.key_id,
            name=key.name,
            created_at=key.created_at,
            last_used_at=key.last_used_at,
            revoked_at=key.revoked_at,
            made_by=key.made_by,
            previous_until=key.previous_until,
        )


class CreatedKey(KeyInfo):
    """A new key with its text."""

    text: str = Field(description="The key itself; it is not shown again.")


class KeyList(BaseModel):
    """The keys of the organization."""

    keys: list[KeyInfo]


@router.get("/keys", summary="List API keys")
async def list_keys(request: Request, caller: SessionCaller) -> KeyList:
    """Return all keys, revoked ones too; for a member, those that they have made."""
    return KeyList(keys=[KeyInfo.of(key) for key in await _visible_keys(request, caller)])


@router.post(
    "/keys", status_code=201, openapi_extra=json_body(CreateKey), summary="Make an API key"
)
async def create_key(request: Request, response: Response, caller: SessionCaller) -> CreatedKey:
    """Make a key; the response has its text, which cannot be shown again."""
    body = await read_json(request, CreateKey, max_bytes=MAX_BODY_BYTES)
    assert caller.user is not None
    issued = await services_of(request).identity.create_key(
        caller.organization.id, body.name, user_id=caller.user.id
    )
    return _issued(response, issued, caller.user.email)


@router.post(
    "/keys/{key_id}/rotate",
    openapi_extra=json_body(RotateKey),
    summary="Give an API key a new secret",
)
async def rotate_key(
    request: Request, response: Response, caller: SessionCaller, *, key_id: str
) -> CreatedKey:
    """Return the key with a new secret; the one before works for `overlap_s` more seconds."""
    body = await read_json(request, RotateKey, max_bytes=MAX_BODY_BYTES)
    found = await _own_key(request, caller, key_id)
    issued = await services_of(request).identity.rotate_key(
        caller.organization.id, key_id, overlap=timedelta(seconds=body.overlap_s)
    )
    return _issued(response, issued, found.made_by)


@router.delete("/keys/{key_id}", summary="Revoke an API key")
async def revoke_key(request: Request, caller: SessionCaller, key_id: str) -> KeyInfo:
    """End a key; programs with it get 401 from now on."""
    found = await _own_key(request, caller, key_id)
    revoked = await services_of(request).identity.revoke_key(key_id)
    return KeyInfo.of(replace(revoked, made_by=found.made_by))


async def _visible_keys(request: Request, caller: Caller) -> list[ApiKey]:
    found = await services_of(request).identity.list_keys(caller.organization.id)
    if caller.role is Role.OWNER:
        return found
    assert caller.user is not None
    return [key for key in found if key.user_id == caller.user.id]


async def _own_key(request: Request, caller: Caller, key_id: str) -> ApiKey:
    """Return a key that the caller may change; any other looks like one that does not exist."""
    for key in await _visible_keys(request, caller):
        if key.key_id == key_id:
            return key
    raise KeyNotFound(f"there is no key {key_id[:100]!r}, or somebody else has made it")


def _issued(response: Response, issued: IssuedKey, made_by: str | None) -> CreatedKey:
    response.headers["Cache-Control"] = "no-store"
    info = KeyInfo.of(replace(issued.key, made_by=made_by))
    return CreatedKey(**info.model_dump(), text=issued.text)
