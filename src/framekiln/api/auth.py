"""Who is asking: the dependency that turns `Authorization: Bearer <API key>` into a `Caller`."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import structlog
from fastapi import Depends, Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from framekiln.identity.model import Caller, KeyMalformed
from framekiln.kit.ids import OrganizationId

if TYPE_CHECKING:
    from framekiln.services import Services

# It never refuses by itself: it is here for the OpenAPI document, we answer in our own shapes.
BEARER = HTTPBearer(
    auto_error=False,
    scheme_name="ApiKey",
    bearerFormat="ef_<secret>_<key id>",
    description="An API key, as printed once when it was created.",
)


async def caller(
    request: Request,
    _documented: Annotated[HTTPAuthorizationCredentials | None, Security(BEARER)] = None,
) -> Caller:
    """Return who holds the request's API key, or raise `Unauthenticated`."""
    found = await services_of(request).identity.authenticate(bearer_text(request))
    structlog.contextvars.bind_contextvars(
        organization_id=str(found.organization.id), key_id=found.api_key.key_id
    )
    return found


def bearer_text(request: Request) -> str | None:
    """Return what stands behind `Bearer`; None when the request has no Authorization header."""
    header = request.headers.get("authorization", "").strip()
    if not header:
        return None
    scheme, _, credentials = header.partition(" ")
    if scheme.lower() != "bearer":
        raise KeyMalformed("the Authorization header must be `Bearer <API key>`")
    return credentials.strip()


def services_of(request: Request) -> "Services":
    """Return the assembled application behind this request."""
    services: Services = request.app.state.services
    return services


@dataclass(frozen=True)
class Reader:
    """Who reads media: somebody of this organization, however that was shown."""

    organization_id: OrganizationId


async def media_reader(found: Annotated[Caller, Depends(caller)]) -> Reader:
    """Return who may read media at this address, or raise `Unauthenticated`."""
    return Reader(found.organization.id)


MediaReader = Annotated[Reader, Depends(media_reader)]
AuthenticatedCaller = Annotated[Caller, Depends(caller)]
