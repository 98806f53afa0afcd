"""Login, logout, and the routes that work with a session instead of an API key."""

from datetime import datetime
from typing import Final
from urllib.parse import parse_qsl
from uuid import UUID

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field

from framekiln.api.auth import (
    REVIEW_COOKIE,
    SESSION_COOKIE,
    SessionCaller,
    cookie_name,
    cookie_of,
    require_open_review,
    review_link,
    services_of,
)
from framekiln.api.bodies import json_body, parse_json, read_bytes, read_json
from framekiln.api.origins import refuse_other_page, require_own_host, require_own_page
from framekiln.api.review_links import review_of
from framekiln.api.v1.tokens import SignedUrl, SignUrl, sign
from framekiln.identity.errors import ReviewLinkMissing, SessionExists
from framekiln.identity.model import Caller, IssuedSession, Role
from framekiln.kit.errors import InvalidInput, Unauthenticated
from framekiln.kit.ids import OrganizationId
from framekiln.links.errors import LinkNotFound
from framekiln.links.model import Link
from framekiln.services import Services
from framekiln.settings import Settings

router = APIRouter(tags=["sessions"])

DEVICE_COOKIE: Final = "framekiln_device"
MAX_BODY_BYTES: Final = 16 << 10
# Longer than any session: the database decides when it ends. Browsers keep no cookie longer.
COOKIE_LIFETIME_S: Final = 400 * 24 * 3600


class Credentials(BaseModel):
    """The credentials of a login; a form with the same fields works as well."""

    email: str
    password: str


class LoginCode(BaseModel):
    """The code of a login link, which `framekiln users login-link` prints."""

    code: str


class ReviewLinkToken(BaseModel):
    """The token of a review link, which stands behind `#link=` in its address."""

    token: str
    replaces_session: bool = Field(
        default=False, description="End the session of a user who is logged in."
    )


class ReviewSession(BaseModel):
    """What a review link allows."""

    review_id: UUID
    expires_at: datetime


class UserView(BaseModel):
    """The user who is logged in."""

    id: UUID
    email: str


class SessionOrganization(BaseModel):
    """The organization a session works in."""

    id: UUID
    name: str


class SessionMembership(SessionOrganization):
    """An organization that the user belongs to."""

    role: Role


class SessionView(BaseModel):
    """Who is logged in, and where."""

    user: UserView
    organization: SessionOrganization
    role: Role
    organizations: list[SessionMembership] = Field(
        description="All that the user belongs to; a session is in one of them."
    )

    @classmethod
    async def of(cls, services: Services, caller: Caller) -> "SessionView":
        """Return what a user may see of their session."""
        user, organization, role = caller.user, caller.organization, caller.role
        assert user is not None
        assert role is not None
        return cls(
            user=UserView(id=user.id, email=user.email),
            organization=SessionOrganization(id=organization.id, name=organization.name),
            role=role,
            organizations=[
                SessionMembership(
                    id=each.organization.id, name=each.organization.name, role=each.role
                )
                for each in await services.sessions.organizations(user.id)
            ],
        )


class SwitchOrganization(BaseModel):
    """The organization to work in from now on."""

    organization_id: UUID


class InvitationToken(BaseModel):
    """The token of an invitation, which stands behind `#invitation=` in its link."""

    token: str = Field(max_length=200)


class AcceptInvitation(InvitationToken):
    """The token of an invitation, and the password: a new one, or that of the user."""

    password: str


class OpenedInvitation(BaseModel):
    """What somebody is invited to."""

    organization: str
    email: str
    role: Role
    expires_at: datetime
    has_account: bool = Field(description="Whether the address has a user, whose password counts.")


class SessionDone(BaseModel):
    """The response when a session ended."""

    success: bool


@router.post("/login", openapi_extra=json_body(Credentials, names_unknown=False), summary="Log in")
async def log_in(request: Request, response: Response) -> SessionView:
    """Start a session; its cookie is in the response."""
    _require_own_login(request)
    email, password = read_credentials(await read_bytes(request, max_bytes=MAX_BODY_BYTES))
    issued = await services_of(request).sessions.log_in(
        email,
        password,
        client=_client_of(request),
        device=cookie_of(request, DEVICE_COOKIE),
    )
    return await _begin(request, response, issued)


@router.post(
    "/login/code",
    openapi_extra=json_body(LoginCode, names_unknown=False),
    summary="Log in with a login link",
)
async def log_in_with_code(request: Request, response: Response) -> SessionView:
    """Start a session with the code of a login link, which works once."""
    _require_own_login(request)
    body = await read_json(request, LoginCode, max_bytes=MAX_BODY_BYTES)
    issued = await services_of(request).sessions.log_in_with_code(
        body.code, client=_client_of(request)
    )
    return await _begin(request, response, issued)


@router.post(
    "/login/invitation",
    openapi_extra=json_body(InvitationToken, names_unknown=False),
    summary="Show an invitation",
)
async def show_invitation(request: Request, response: Response) -> OpenedInvitation:
    """Return what the link of an invitation is for; it is not used up."""
    _require_own_login(request)
    body = await read_json(request, InvitationToken, max_bytes=MAX_BODY_BYTES)
    found, has_account = await services_of(request).invitations.open(body.token)
    response.headers["Cache-Control"] = "no-store"
    return OpenedInvitation(
        organization=found.organization.name,
        email=found.email,
        role=found.role,
        expires_at=found.expires_at,
        has_account=has_account,
    )


@router.post(
    "/login/invitation/accept",
    openapi_extra=json_body(AcceptInvitation, names_unknown=False),
    summary="Accept an invitation",
)
async def accept_invitation(request: Request, response: Response) -> SessionView:
    """Join the organization and start a session there; the link works once."""
    _require_own_login(request)
    body = await read_json(request, AcceptInvitation, max_bytes=MAX_BODY_BYTES)
    issued = await services_of(request).invitations.accept(
        body.token,
        body.password,
        client=_client_of(request),
        device=cookie_of(request, DEVICE_COOKIE),
    )
    return await _begin(request, response, issued)


@router.post(
    "/login/review",
    openapi_extra=json_body(ReviewLinkToken, names_unknown=False),
    summary="Open a review link",
)
async def open_review_link(request: Request, response: Response) -> ReviewSession:
    """Let this browser see and decide one review task.

    A session of a user ends only if the request says so: whoever follows a link has not asked for
    a logout.
    """
    _require_own_login(request)
    services = services_of(request)
    body = await read_json(request, ReviewLinkToken, max_bytes=MAX_BODY_BYTES)
    link = await services.links.open(body.token)
    review_id = review_of(link)
    if review_id is None:
        raise LinkNotFound("this link leads to media, not to a review task")
    await require_open_review(request, link, review_id)
    if not body.replaces_session:
        await _require_no_session(request, link)
    await _end_session(request, response)
    lifetime_s = int((link.expires_at - services.clock.now()).total_seconds())
    _set_cookie(
        response, REVIEW_COOKIE, body.token, settings=services.settings, lifetime_s=lifetime_s
    )
    return ReviewSession(review_id=review_id, expires_at=link.expires_at)


@router.get("/session/review", summary="Show the review link of this browser")
async def get_review_session(request: Request, response: Response) -> ReviewSession:
    """Answer 200 while the browser has a valid review link and nobody is logged in, else 401."""
    response.headers["Cache-Control"] = "no-store"
    opened = await review_link(request)
    if opened is None:
        raise ReviewLinkMissing("no review link was opened in this browser")
    await require_open_review(request, opened.link, opened.review_id)
    return ReviewSession(review_id=opened.review_id, expires_at=opened.link.expires_at)


async def _require_no_session(request: Request, link: Link) -> None:
    try:
        found = await services_of(request).sessions.authenticate(cookie_of(request, SESSION_COOKIE))
    except Unauthenticated:
        return
    raise SessionExists(
        f"you are logged in to {found.organization.name}, and the link would log you out: send it"
        " again with replaces_session",
        is_same_organization=found.organization.id == link.organization_id,
    )


def _client_of(request: Request) -> str | None:
    """Return the network address that a login comes from."""
    return request.client.host if request.client else None


def _require_own_login(request: Request) -> None:
    """Refuse a login that a page of another origin sends: it would start a session of theirs."""
    settings = services_of(request).settings
    require_own_host(request.headers, settings)
    refuse_other_page(request.headers, settings)


async def _begin(request: Request, response: Response, issued: IssuedSession) -> SessionView:
    """End the session before, and set the cookies of the new one."""
    services = services_of(request)
    await _end_session(request, response)
    for name, text in ((SESSION_COOKIE, issued.text), (DEVICE_COOKIE, issued.device)):
        _set_cookie(response, name, text, settings=services.settings, lifetime_s=COOKIE_LIFETIME_S)
    return await SessionView.of(services, issued.caller)


async def _end_session(request: Request, response: Response) -> None:
    """Forget who used this browser before: a user, or somebody with a review link."""
    settings = services_of(request).settings
    before = cookie_of(request, SESSION_COOKIE)
    if before:
        await services_of(request).sessions.log_out(before)
    for name in (SESSION_COOKIE, REVIEW_COOKIE):
        if cookie_of(request, name):
            _set_cookie(response, name, "", settings=settings, lifetime_s=0)


@router.post("/logout", summary="Log out")
async def log_out(request: Request, response: Response) -> SessionDone:
    """End the session, if there is one."""
    services = services_of(request)
    text = cookie_of(request, SESSION_COOKIE)
    if text:
        require_own_host(request.headers, services.settings)
        require_own_page(request.headers, services.settings)
        await services.sessions.log_out(text)
    for name in (SESSION_COOKIE, REVIEW_COOKIE):
        _set_cookie(response, name, "", settings=services.settings, lifetime_s=0)
    return SessionDone(success=True)


@router.get("/session", summary="Show the current user")
async def get_session(request: Request, response: Response, caller: SessionCaller) -> SessionView:
    """Answer 200 for a valid session, else 401."""
    response.headers["Cache-Control"] = "no-store"
    return await SessionView.of(services_of(request), caller)


@router.post(
    "/session/organization",
    openapi_extra=json_body(SwitchOrganization, names_unknown=False),
    summary="Work in another organization",
)
async def switch_organization(
    request: Request, response: Response, caller: SessionCaller
) -> SessionView:
    """Continue this session in another organization that the user belongs to."""
    services = services_of(request)
    body = await read_json(request, SwitchOrganization, max_bytes=MAX_BODY_BYTES)
    text = cookie_of(request, SESSION_COOKIE)
    assert text is not None
    organization_id = OrganizationId(body.organization_id)
    switched = await services.sessions.switch(text, caller, organization_id)
    response.headers["Cache-Control"] = "no-store"
    return await SessionView.of(services, switched)


@router.post(
    "/ef-sign-url",
    openapi_extra=json_body(SignUrl, names_unknown=False),
    summary="Sign a URL, by session",
)
async def sign_by_session(request: Request, response: Response, caller: SessionCaller) -> SignedUrl:
    """Return a token for media at this address; only the session's cookie counts here."""
    return await sign(request, response, caller)


# The default address of players.
router.add_api_route("/@ef-sign-url", sign_by_session, methods=["POST"], include_in_schema=False)


def read_credentials(raw: bytes) -> tuple[str, str]:
    """Return e-mail address and password from a JSON object or from a form."""
    fields = parse_json(raw) if raw.startswith(b"{") else _form_fields(raw)
    email, password = (fields.get(name) for name in ("email", "password"))
    if not isinstance(email, str) or not email:
        raise InvalidInput("email: must be a string", field="email")
    if not isinstance(password, str) or not password:
        raise InvalidInput("password: must be a string", field="password")
    return email, password


def _form_fields(raw: bytes) -> dict[str, str]:
    try:
        return dict(parse_qsl(raw.decode("ascii"), errors="strict", max_num_fields=16))
    except ValueError as error:
        raise InvalidInput("the body is neither a JSON object nor a form") from error


def _set_cookie(
    response: Response, name: str, text: str, *, settings: Settings, lifetime_s: int
) -> None:
    response.set_cookie(
        cookie_name(name, settings),
        text,
        max_age=lifetime_s,
        path="/",
        secure=settings.is_https,
        httponly=True,
        samesite="lax",
    )
    response.headers["Cache-Control"] = "no-store"
