"""/api/v1/links: signed links to media, which work without a key until they expire."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Annotated, Any, Final, Literal
from urllib.parse import quote

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field

from framekiln.api.auth import MEDIA_TOKEN, AuthenticatedCaller, reads_media, services_of
from framekiln.api.bodies import SuccessAnswer, json_body, read_json
from framekiln.api.origins import is_own_url
from framekiln.api.review_links import review_of, review_url
from framekiln.api.unknown_fields import RequestBody, WarningRoute
from framekiln.api.v1.pages import PageParameters
from framekiln.api.v1.renders import parse_render_id
from framekiln.files.ids import parse_file_id
from framekiln.identity.model import Caller
from framekiln.identity.signatures.scope import read_scope
from framekiln.kit.ids import OrganizationId, parse_uuid
from framekiln.links.errors import LinkNotFound, NotLinkable
from framekiln.links.model import (
    DEFAULT_LIFETIME,
    MAX_LIFETIME,
    Link,
    LinkId,
    LinkTarget,
    NewLink,
)
from framekiln.playback.addresses import check_web_address, file_id_in, render_id_in
from framekiln.services import Services
from framekiln.transcripts.model import transcription_id_of

router = APIRouter(prefix="/api/v1", tags=["links"], route_class=WarningRoute)

MAX_BODY_BYTES: Final = 64 << 10


LinkScope = Annotated[
    Literal["api_key", "organization"],
    Field(description="Whether the link ends with the key or user that makes it."),
]


class CreateLink(RequestBody):
    """What a link leads to, and for how long."""

    url: str = Field(
        min_length=1, description="A URL of this service that serves media, or its path."
    )
    expires_in_s: int = Field(
        default=int(DEFAULT_LIFETIME.total_seconds()),
        ge=1,
        le=int(MAX_LIFETIME.total_seconds()),
        description="Seconds until the link expires.",
    )
    scope: LinkScope = "api_key"


class LinkInfo(BaseModel):
    """A link."""

    id: str
    url: str = Field(description="The signed URL: it works without a key.")
    address: str = Field(description="The path that the link leads to.")
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None


class LinkList(BaseModel):
    """A page of links."""

    links: list[LinkInfo]
    next_cursor: str | None


@router.post(
    "/links", status_code=201, openapi_extra=json_body(CreateLink), summary="Make a signed link"
)
async def create_link(
    request: Request, response: Response, caller: AuthenticatedCaller
) -> LinkInfo:
    """Make a link to media, for a video element, an image or an e-mail."""
    services = services_of(request)
    body = await read_json(request, CreateLink, max_bytes=MAX_BODY_BYTES)
    target = await _readable_target(request, caller.organization.id, body.url)
    new = new_link(caller, target, expires_in_s=body.expires_in_s, scope=body.scope)
    response.headers["Cache-Control"] = "no-store"
    return await describe_link(services, await services.links.create(new))


def new_link(caller: Caller, target: LinkTarget, *, expires_in_s: int, scope: str) -> NewLink:
    """Return a link that the caller makes; it depends on the caller unless the scope is wider."""
    is_own = scope == "api_key"
    return NewLink(
        organization_id=caller.organization.id,
        api_key_id=caller.api_key_id if is_own else None,
        user_id=caller.user_id if is_own else None,
        target=target,
        lifetime=timedelta(seconds=expires_in_s),
    )


@router.get("/links", summary="List links")
async def list_links(
    request: Request, response: Response, caller: AuthenticatedCaller, query: PageParameters
) -> LinkList:
    """Return a page of links, newest first, also revoked ones and those that expired lately."""
    services = services_of(request)
    found = await services.links.page(
        caller.organization.id, limit=query.limit + 1, before=query.position
    )
    page, next_cursor = query.page_of(found, lambda each: each.position)
    response.headers["Cache-Control"] = "no-store"
    return LinkList(
        links=[await describe_link(services, each) for each in page], next_cursor=next_cursor
    )


@router.delete("/links/{link_id}", summary="Revoke a link")
async def revoke_link(request: Request, caller: AuthenticatedCaller, link_id: str) -> SuccessAnswer:
    """Revoke a link at once; repeating it has no effect."""
    found = parse_uuid(link_id)
    if found is None:
        raise LinkNotFound("there is no such link: its id must be a UUID")
    await services_of(request).links.revoke(caller.organization.id, LinkId(found))
    return SuccessAnswer(success=True)


async def _readable_target(
    request: Request, organization_id: OrganizationId, url: str
) -> LinkTarget:
    """Return what a link for this URL leads to; raise unless it is media that exists there."""
    services = services_of(request)
    if not is_own_url(url, request.headers, services.settings):
        raise NotLinkable(
            "url: is not a URL of this service; play a URL of another one with"
            " /api/v1/transcode/manifest.m3u8?url=...",
            field="url",
        )
    target = LinkTarget.of(read_scope(url), without=MEDIA_TOKEN)
    asked: dict[str, Any] = {"type": "http", "method": "GET", "path": target.path, "headers": []}
    if not target.segments or not reads_media(request.app.state.routes.find(asked)):
        raise NotLinkable(
            f"url: {quote(target.path)[:200]} serves no media; link a download, a stream, a"
            " manifest, a thumbnail or the content of a file",
            field="url",
        )
    await _require_resource(services, organization_id, asked["path_params"], target=target)
    return target


async def _require_resource(
    services: Services,
    organization_id: OrganizationId,
    params: Mapping[str, str],
    *,
    target: LinkTarget,
) -> None:
    """Raise unless what an address names exists in the organization."""
    if "video_id" in params:
        await services.v2.videos.get(organization_id, params["video_id"])
    elif "render_id" in params:
        await services.renders.get(organization_id, parse_render_id(params["render_id"]))
    elif "file_id" in params:
        await services.files.get(organization_id, parse_file_id(params["file_id"]))
    elif "transcription_id" in params:
        transcription_id = transcription_id_of(params["transcription_id"])
        await services.transcripts.get(organization_id, transcription_id)
    else:
        await _require_source(services, organization_id, target)


async def _require_source(
    services: Services, organization_id: OrganizationId, target: LinkTarget
) -> None:
    """Raise unless the `url` of a manifest names a source of the organization, or of the web."""
    url, *others = target.params.get("url", ("",))
    if not url or others:
        raise NotLinkable("url: needs one parameter `url`, the source to play", field="url")
    file_id, render_id = file_id_in(url), render_id_in(url)
    if file_id is not None:
        await services.files.get(organization_id, file_id)
    elif render_id is not None:
        await services.renders.get(organization_id, render_id)
    else:
        check_web_address(url)


async def describe_link(services: Services, link: Link) -> LinkInfo:
    """Return the response for a link, with its signed URL."""
    review_id = review_of(link)
    if review_id is None:
        url = await services.links.write_url(link)
    else:
        token = await services.links.write_token(link)
        url = review_url(services.settings.public_url, review_id, token)
    return LinkInfo(
        id=str(link.id),
        url=url,
        address=link.target.address,
        created_at=link.created_at,
        expires_at=link.expires_at,
        revoked_at=link.revoked_at,
    )
