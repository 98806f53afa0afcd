"""POST /api/v1/url-token: a token for an address and everything below it, valid for an hour."""

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field

from framekiln.api.auth import AuthenticatedCaller, services_of
from framekiln.api.bodies import json_body, read_json
from framekiln.api.origins import is_own_url
from framekiln.api.unknown_fields import RequestBody, WarningRoute
from framekiln.identity.model import Caller

router = APIRouter(prefix="/api/v1", tags=["tokens"], route_class=WarningRoute)

MAX_BODY_BYTES = 256 << 10


class SignUrl(RequestBody):
    """The address that a token is for."""

    url: str = Field(min_length=1, description="A URL of this service, or its path.")
    params: dict[str, str] | None = Field(
        default=None,
        description="Query values that the token is bound to, besides those in `url`.",
    )


class SignedUrl(BaseModel):
    """The token: a JWT with `exp`."""

    token: str


@router.post("/url-token", openapi_extra=json_body(SignUrl), summary="Sign a URL")
async def create_url_token(
    request: Request, response: Response, caller: AuthenticatedCaller
) -> SignedUrl:
    """Return a token for media at this address, for browsers, which must not get the API key."""
    return await sign(request, response, caller)


async def sign(request: Request, response: Response, caller: Caller) -> SignedUrl:
    """Sign the address in the body for the caller's organization."""
    services = services_of(request)
    body = await read_json(request, SignUrl, max_bytes=MAX_BODY_BYTES)
    # Players sign any address that a page names: a token for another host must not allow much.
    is_ours = is_own_url(body.url, request.headers, services.settings)
    token = await services.tokens.sign_url(
        caller.organization.id,
        body.url,
        body.params,
        signed_by=caller.api_key_id if is_ours else None,
    )
    response.headers["Cache-Control"] = "no-store"
    return SignedUrl(token=token)
