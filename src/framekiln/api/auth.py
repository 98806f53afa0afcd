"""Authentication of each request, as dependencies that routes declare in their parameters.

AuthenticatedCaller   an API key, which may do what the organization may, or a session, whose user
                      may do what `roles` says
SessionCaller         a session only
MediaReader           also a URL token, a media token, a link or a review link: may read media at
                      this address
Uploader              also a URL token that was signed for this upload
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Final

import structlog
from fastapi import Depends, Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute

from framekiln.api.origins import SAFE_METHODS, require_own_host, require_own_page
from framekiln.api.request_turns import take_turn
from framekiln.api.review_links import review_of
from framekiln.api.roles import require_role, role_too_low
from framekiln.audit.actor import name_actor
from framekiln.audit.model import ActorType
from framekiln.identity.errors import KeyMalformed, SessionEnded, TokenInvalid, TokenScopeMismatch
from framekiln.identity.model import Caller, Role
from framekiln.identity.signatures.scope import RequestTarget
from framekiln.kit.errors import NotFound
from framekiln.kit.ids import FileId, OrganizationId, parse_uuid
from framekiln.links.errors import LinkExpired
from framekiln.links.model import Link
from framekiln.pipelines.model.pipeline import ReviewId
from framekiln.settings import Settings

if TYPE_CHECKING:
    from framekiln.services import Services

SESSION_COOKIE: Final = "framekiln_session"
REVIEW_COOKIE: Final = "framekiln_review"
# Browsers accept such a cookie only from this host itself and over HTTPS.
HOST_PREFIX: Final = "__Host-"
MEDIA_TOKEN: Final = "media_token"  # noqa: S105  # the name of a query parameter
LINK_STATE: Final = "link"
# Resources of an organization. A token covers only its own, so these codes mean a wrong token.
HIDDEN_FROM_TOKENS: Final = frozenset({"file_not_found", "render_not_found", "video_not_found"})

API_KEY_SCHEME: Final = {
    "type": "http",
    "description": "An API key, as printed once when it was created.",
    "scheme": "bearer",
    "bearerFormat": "ef_<secret>_<key id>",
}
"""For the OpenAPI document; as a dependency it would be solved for each request."""


class AuthMethod(StrEnum):
    """How a reader was authenticated."""

    API_KEY = "api_key"
    SESSION = "session"
    URL_TOKEN = "url_token"  # noqa: S105
    MEDIA_TOKEN = "media_token"  # noqa: S105
    LINK = "link"
    REVIEW_LINK = "review_link"

    @property
    def is_token(self) -> bool:
        """Whether it opens one address only."""
        return self in (AuthMethod.URL_TOKEN, AuthMethod.MEDIA_TOKEN)


@dataclass(frozen=True)
class OpenedLink:
    """The link of a request, already verified."""

    organization_id: OrganizationId
    folder_url: str
    """What all addresses with its token begin with, without the last slash."""


@dataclass(frozen=True)
class OpenedReview:
    """The review link of a browser, already verified."""

    link: Link
    review_id: ReviewId


@dataclass(frozen=True)
class Reader:
    """An authenticated reader of media, and how it was authenticated."""

    organization_id: OrganizationId
    method: AuthMethod = AuthMethod.API_KEY


async def caller(request: Request) -> Caller:
    """Return the caller with the request's API key or session.

    Raise `Unauthenticated`, or `RoleTooLow` if the role of the user does not allow the route.
    """
    return await _in_turn(request, await _with_role(request, await _known_caller(request)))


async def session_caller(request: Request) -> Caller:
    """Return the caller with the request's session.

    Raise `Unauthenticated`, `CrossOrigin`, or `RoleTooLow`.
    """
    return await _in_turn(request, await _with_role(request, await _known_user(request)))


async def _in_turn(request: Request, found: Caller) -> Caller:
    """Wait for the turn of the organization; readers of media need none, as they may wait long."""
    await take_turn(request.scope, str(found.organization.id))
    return found


async def _with_role(request: Request, found: Caller) -> Caller:
    await require_role(request, found, services_of(request).members)
    return found


async def _known_caller(request: Request) -> Caller:
    text = bearer_text(request)
    if text is None and cookie_of(request, SESSION_COOKIE) is not None:
        return await _known_user(request)
    if text is not None and is_token(text):
        raise TokenScopeMismatch("a media token does not work on this route: use an API key")
    found = await services_of(request).identity.authenticate(text)
    return await _admitted(request, found)


async def _known_user(request: Request) -> Caller:
    services = services_of(request)
    text = cookie_of(request, SESSION_COOKIE)
    if text:
        require_own_host(request.headers, services.settings)
    found = await services.sessions.authenticate(text)
    if request.method not in SAFE_METHODS:
        require_own_page(request.headers, services.settings)
    return await _admitted(request, found)


async def review_link(request: Request) -> OpenedReview | None:
    """Return the review link that the browser has opened; None for anybody who is logged in."""
    text = cookie_of(request, REVIEW_COOKIE)
    if not text or bearer_text(request) is not None or cookie_of(request, SESSION_COOKIE):
        return None
    services = services_of(request)
    require_own_host(request.headers, services.settings)
    link = await services.links.open(text)
    review_id = review_of(link)
    if review_id is None:
        return None
    if request.method not in SAFE_METHODS:
        require_own_page(request.headers, services.settings)
    structlog.contextvars.bind_contextvars(
        organization_id=str(link.organization_id), link_id=str(link.id)
    )
    name_actor(ActorType.LINK, str(link.id))
    await services.quotas.count_request(link.organization_id)
    return OpenedReview(link, review_id)


async def require_open_review(request: Request, link: Link, review_id: ReviewId) -> None:
    """Raise `LinkExpired` unless the task of a link waits for a decision."""
    reviews = services_of(request).pipelines.reviews
    if await reviews.find_open_file(link.organization_id, review_id) is None:
        raise LinkExpired("this link has ended: the review task is decided or over")


def repeated_authentication(request: Request, caller: Caller) -> Callable[[], Awaitable[None]]:
    """Return what authenticates the caller of a long response once more.

    It raises `Unauthenticated` if the key or session has ended, or the session continues in another
    organization, and `RoleTooLow` if the role of the user was changed.
    """
    services, organization_id = services_of(request), caller.organization.id

    async def authenticate() -> None:
        text = bearer_text(request)
        if text is not None:
            await services.identity.authenticate(text)
            return
        found = await services.sessions.authenticate(cookie_of(request, SESSION_COOKIE))
        if found.organization.id != organization_id:
            raise SessionEnded("this session works in another organization now: connect again")
        await _with_role(request, found)

    return authenticate


async def media_reader(request: Request) -> AsyncIterator[Reader]:
    """Yield the reader of media at this address, or raise `Unauthenticated`."""
    reader = await _reader(request)
    try:
        yield reader
    except NotFound as error:
        if reader.method.is_token and _is_hidden(error, request):
            raise TokenScopeMismatch(
                "the organization of this token has nothing at this address: it belongs to another"
                " organization, or was deleted"
            ) from error
        raise


def _is_hidden(error: NotFound, request: Request) -> bool:
    """Return whether the resource at the address is another organization's, or nobody's."""
    if error.code == "transcription_not_found":
        # A file of this organization may have no transcription, which players ask for.
        return "file_id" not in request.path_params
    return error.code in HIDDEN_FROM_TOKENS


async def uploader(request: Request) -> Caller:
    """Return the caller that may upload to this address, or raise `Unauthenticated`."""
    text = bearer_text(request)
    if text is None or not is_token(text):
        return await caller(request)
    services = services_of(request)
    api_key_id = await services.tokens.read_upload(text, request_target(request))
    found = await _admitted(request, await services.identity.find_caller(api_key_id))
    return await _in_turn(request, found)


def bearer_text(request: Request) -> str | None:
    """Return the text after `Bearer`; None when the request has no Authorization header."""
    header = request.headers.get("authorization", "").strip()
    if not header:
        return None
    scheme, _, credentials = header.partition(" ")
    if scheme.lower() != "bearer":
        raise KeyMalformed("the Authorization header must be `Bearer <API key>`")
    return credentials.strip()


def cookie_of(request: Request, name: str) -> str | None:
    """Return the value of one of our cookies."""
    return request.cookies.get(cookie_name(name, services_of(request).settings))


def cookie_name(name: str, settings: Settings) -> str:
    """Return the full name of one of our cookies."""
    return HOST_PREFIX + name if settings.is_https else name


def is_token(text: str) -> bool:
    """Return whether the text is a token and not an API key, by its format."""
    return text.count(".") == 2 and not text.startswith("ef_")


def request_target(request: Request) -> RequestTarget:
    """Return what tokens are checked against: the path that the router matched, and the query."""
    return RequestTarget(request.scope["path"], request.query_params.multi_items())


def opened_link(request: Request) -> OpenedLink | None:
    """Return the link that the request came by."""
    found: OpenedLink | None = request.scope.get("state", {}).get(LINK_STATE)
    return found


def reads_media(route: BaseRoute | None) -> bool:
    """Return whether a route serves media to readers without an API key."""
    return isinstance(route, APIRoute) and _uses(route.dependant, (media_reader,))


def services_of(request: Request) -> "Services":
    """Return the services of the application."""
    services: Services = request.app.state.services
    return services


async def _reader(request: Request) -> Reader:
    link = opened_link(request)
    if link is not None:
        structlog.contextvars.bind_contextvars(organization_id=str(link.organization_id))
        await services_of(request).quotas.count_request(link.organization_id)
        return Reader(link.organization_id, AuthMethod.LINK)
    text = bearer_text(request)
    if text is not None and is_token(text):
        return await _token_reader(request, text, AuthMethod.URL_TOKEN)
    if text is None and MEDIA_TOKEN in request.query_params:
        values = request.query_params.getlist(MEDIA_TOKEN)
        if len(values) > 1:
            raise TokenInvalid(f"the query has more than one {MEDIA_TOKEN}")
        return await _token_reader(request, values[0], AuthMethod.MEDIA_TOKEN)
    review = await review_link(request)
    if review is not None:
        return await _review_reader(request, review)
    found = await _known_caller(request)
    if found.role is Role.REVIEWER:
        await _require_open_file(request, found)
    proof = AuthMethod.SESSION if found.api_key is None else AuthMethod.API_KEY
    return Reader(found.organization.id, proof)


async def _require_open_file(request: Request, found: Caller) -> None:
    """Raise unless the address is of a file that a review task is open for."""
    services = services_of(request)
    file_id = parse_uuid(request.path_params.get("file_id", ""))
    reviews = services.pipelines.reviews
    if file_id is None or not await reviews.is_file_open(found.organization.id, FileId(file_id)):
        raise await role_too_low(found, Role.MEMBER, services.members)


async def _review_reader(request: Request, review: OpenedReview) -> Reader:
    """Return the reader of the file that a task is about, as long as the task is open."""
    organization_id = review.link.organization_id
    reviews = services_of(request).pipelines.reviews
    file_id = await reviews.find_open_file(organization_id, review.review_id)
    is_allowed = request.method in SAFE_METHODS and file_id is not None
    if not is_allowed or parse_uuid(request.path_params.get("file_id", "")) != file_id:
        raise TokenScopeMismatch(
            "a review link only allows reading the media of its file until the task is decided"
        )
    return Reader(organization_id, AuthMethod.REVIEW_LINK)


async def _token_reader(request: Request, text: str, proof: AuthMethod) -> Reader:
    if request.method not in SAFE_METHODS:
        raise TokenScopeMismatch("this token only allows reading: GET and HEAD")
    tokens = services_of(request).tokens
    read = tokens.read_url if proof is AuthMethod.URL_TOKEN else tokens.read_media
    organization_id = await read(text, request_target(request))
    structlog.contextvars.bind_contextvars(organization_id=str(organization_id))
    await services_of(request).quotas.count_request(organization_id)
    return Reader(organization_id, proof)


async def _admitted(request: Request, found: Caller) -> Caller:
    """Add the caller to all later log lines, and count the request."""
    structlog.contextvars.bind_contextvars(organization_id=str(found.organization.id))
    if found.api_key is not None:
        structlog.contextvars.bind_contextvars(key_id=found.api_key.key_id)
        name_actor(ActorType.API_KEY, found.api_key.key_id, found.api_key.name)
    elif found.user is not None:
        name_actor(ActorType.USER, str(found.user.id), found.user.email)
    await services_of(request).quotas.count_request(found.organization.id)
    return found


def describe_authentication(document: dict[str, Any], routes: Sequence[BaseRoute]) -> None:
    """Add to an OpenAPI document which of these routes need an API key."""
    components = document.setdefault("components", {})
    components.setdefault("securitySchemes", {})["ApiKey"] = API_KEY_SCHEME
    for route in routes:
        if (
            isinstance(route, APIRoute)
            and route.include_in_schema
            and _uses(route.dependant, _WITH_KEY)
        ):
            for method in route.methods or ():
                operation = document["paths"][route.path_format][method.lower()]
                operation["security"] = [{"ApiKey": []}]


def _uses(dependant: Dependant, dependencies: tuple[object, ...]) -> bool:
    return any(
        each.call in dependencies or _uses(each, dependencies) for each in dependant.dependencies
    )


_WITH_KEY: Final = (caller, media_reader, uploader)

AuthenticatedCaller = Annotated[Caller, Depends(caller)]
SessionCaller = Annotated[Caller, Depends(session_caller)]
MediaReader = Annotated[Reader, Depends(media_reader)]
Uploader = Annotated[Caller, Depends(uploader)]
