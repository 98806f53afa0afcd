"""/api/v1/renders: create, follow, download and delete renders (spec 4.3)."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request, Response

from framekiln.api import sse
from framekiln.api.auth import AuthenticatedCaller, MediaReader, Reader, services_of
from framekiln.api.bodies import (
    MAX_LONG_TEXT_BYTES,
    SuccessAnswer,
    json_body,
    read_json,
    read_to_file,
)
from framekiln.api.destination_bodies import describe_destinations, read_destinations
from framekiln.api.progress import counted_events, progress_response
from framekiln.api.ranges import blob_response
from framekiln.api.unknown_fields import warnings_of
from framekiln.api.v1.newest_pages import RenderList, RenderParameters, newest_place
from framekiln.api.v1.render_bodies import CreatedRender, CreateRender, RenderInfo
from framekiln.api.v1.uploads import BINARY
from framekiln.db.pool import Connection
from framekiln.engine.page.render_data import render_data_json
from framekiln.kit.errors import NotFound
from framekiln.kit.expiry import parse_expiry
from framekiln.kit.ids import RenderId, parse_uuid
from framekiln.renders.bundle import GZIP_MAGIC, MAX_BUNDLE_BYTES
from framekiln.renders.errors import BadBundle, RenderNotComplete, RenderNotFound
from framekiln.renders.model import Render, SourceKind
from framekiln.renders.output import container_of, media_type_of
from framekiln.renders.uploaded_output import MAX_OUTPUT_BYTES, is_mp4
from framekiln.services import Services

router = APIRouter(prefix="/api/v1", tags=["renders"])

MAX_HTML_BYTES = MAX_LONG_TEXT_BYTES
# JSON may escape a letter with more bytes than it has.
MAX_BODY_BYTES = 3 * MAX_HTML_BYTES // 2
CONTAINERS = ("mp4", "jpeg", "png", "webp")


@router.post(
    "/renders", status_code=201, openapi_extra=json_body(CreateRender), summary="Create a render"
)
async def create_render(request: Request, caller: AuthenticatedCaller) -> CreatedRender:
    """Accept a composition; rendering starts immediately, or when the bundle is uploaded."""
    services = services_of(request)
    body = await read_json(request, CreateRender, max_bytes=MAX_BODY_BYTES)
    expires_at = parse_expiry(body.expires_at, now=services.clock.now())
    new = body.as_request(expires_at=expires_at, warnings=warnings_of(request))
    source = None if body.html is None else body.html.encode()
    data = None if body.data is None else render_data_json(body.data)
    destinations = await services.destinations.prepare(read_destinations(body.destinations))

    async def add_destinations(connection: Connection, render: Render) -> None:
        await services.destinations.add(
            connection, render, destinations, resource_id=str(render.id)
        )

    also_write = add_destinations if destinations else None
    return CreatedRender.of(
        await services.renders.create(caller, new, source, data=data, also_write=also_write)
    )


@router.get("/renders", summary="List renders")
async def list_renders(
    request: Request, caller: AuthenticatedCaller, query: RenderParameters
) -> RenderList:
    """Return a page of the organization's renders, newest first."""
    services = services_of(request)
    found = await services.renders.page(caller.organization.id, query.page, status=query.status)
    page, next_cursor = query.page_of(found, newest_place)
    return RenderList(renders=await _described(services, page), next_cursor=next_cursor)


@router.post(
    "/renders/{render_id}/upload",
    openapi_extra=BINARY,
    summary="Upload the bundle of a render, or its finished output",
)
async def upload_bundle(
    request: Request, caller: AuthenticatedCaller, render_id: str
) -> CreatedRender:
    """Accept a gzip tar with index.html at its root and start; or an MP4 as the finished output."""
    services = services_of(request)
    render = await services.renders.get(caller.organization.id, parse_render_id(render_id))
    with tempfile.TemporaryDirectory(prefix="framekiln-upload-") as folder:
        uploaded = Path(folder) / "uploaded"
        head = await read_to_file(request, uploaded, max_bytes=_max_upload_bytes)
        if is_mp4(head):
            accepted = await services.render_uploads.accept_output(render, uploaded)
        elif head.startswith(GZIP_MAGIC):
            accepted = await services.render_uploads.accept_bundle(render, uploaded)
        else:
            raise BadBundle("the upload is not a gzip tar and not a finished MP4")
    return CreatedRender.of(accepted)


def _max_upload_bytes(head: bytes) -> int:
    return MAX_BUNDLE_BYTES if head.startswith(GZIP_MAGIC) else MAX_OUTPUT_BYTES


@router.get(
    "/renders/{render_id}/progress",
    response_class=sse.EventStream,
    summary="Follow the progress of a render",
)
async def follow_render(request: Request, caller: AuthenticatedCaller, render_id: str) -> Response:
    """Stream progress until the render ends (server-sent events)."""
    renders = services_of(request).renders
    render = await renders.get(caller.organization.id, parse_render_id(render_id))
    return progress_response(request, caller, counted_events(renders, render.id, request))


@router.get("/renders/md5/{md5}", summary="Find a render by its md5")
async def find_render(request: Request, caller: AuthenticatedCaller, md5: str) -> RenderInfo:
    """Return the newest render with this md5."""
    services = services_of(request)
    render = await services.renders.find_by_md5(caller.organization.id, md5)
    [described] = await _described(services, [render])
    return described


async def _download(
    request: Request, reader: Reader, render_id: str, *, extension: str
) -> Response:
    """Send the output, whole or in ranges; `mp4` stands for any container."""
    services = services_of(request)
    render = await services.renders.get(reader.organization_id, parse_render_id(render_id))
    container = container_of(render.request.output)
    if extension not in ("mp4", container):
        raise NotFound(
            f"the output of render {render.id} is not {extension}: it is at"
            f" /api/v1/renders/{render.id}.{container}"
        )
    if render.result is None or render.completed_at is None:
        raise RenderNotComplete(
            f"render {render.id} is {render.status}, so it has no output", status=render.status
        )
    return await blob_response(
        request,
        services.blobs,
        render.result.output_key,
        media_type=media_type_of(render.request.output),
        filename=f"{render.id}.{container}",
        etag=f"{render.id}-{render.result.output_key.rsplit('/', 1)[-1]}",
        last_modified=render.completed_at,
    )


def _download_answers(container: str) -> dict[int | str, dict[str, Any]]:
    media_type = "video/mp4" if container == "mp4" else f"image/{container}"
    file = {"content": {media_type: {"schema": {"type": "string", "format": "binary"}}}}
    return {
        200: {"description": "The whole output", **file},
        206: {"description": "The requested range", **file},
        304: {"description": "The content has not changed"},
    }


def _add_download_routes(container: str) -> None:
    async def download_render(request: Request, reader: MediaReader, render_id: str) -> Response:
        """Send the output, whole or in ranges; `.mp4` sends any format, with its own type."""
        return await _download(request, reader, render_id, extension=container)

    router.add_api_route(
        f"/renders/{{render_id}}.{container}",
        download_render,
        methods=["GET"],
        operation_id=f"download_render_{container}",
        summary=f"Download the {container} output",
        response_class=Response,
        responses=_download_answers(container),
    )
    router.add_api_route(
        f"/renders/{{render_id}}/{container}",
        download_render,
        methods=["GET"],
        include_in_schema=False,
    )


for _container in CONTAINERS:
    _add_download_routes(_container)


@router.get(
    "/renders/{render_id}/source",
    response_class=Response,
    responses={200: {"description": "The composition", "content": {"text/plain": {}}}},
    summary="Download the composition of a render",
)
async def get_source(request: Request, caller: AuthenticatedCaller, render_id: str) -> Response:
    """Send the HTML, as plain text, or the bundle that the render was made from."""
    services = services_of(request)
    render = await services.renders.get(caller.organization.id, parse_render_id(render_id))
    # Never as HTML: a page of a stranger would run with the session of who opens it.
    is_page = render.request.source_kind is SourceKind.HTML
    return await blob_response(
        request,
        services.blobs,
        render.source_key,
        media_type="text/plain; charset=utf-8" if is_page else "application/octet-stream",
        filename=render.source_key.rsplit("/", 1)[-1],
        etag=f"{render.id}-source",
        last_modified=render.created_at,
    )


@router.get("/renders/{render_id}", summary="Show a render")
async def get_render(request: Request, caller: AuthenticatedCaller, render_id: str) -> RenderInfo:
    """Return the render's state; safe to poll."""
    services = services_of(request)
    render = await services.renders.get(caller.organization.id, parse_render_id(render_id))
    [described] = await _described(services, [render])
    return described


@router.delete("/renders/{render_id}", summary="Delete a render")
async def delete_render(
    request: Request, caller: AuthenticatedCaller, render_id: str
) -> SuccessAnswer:
    """Delete the render, its output and everything stored for it; refused while it is active."""
    await services_of(request).renders.delete(caller.organization.id, parse_render_id(render_id))
    return SuccessAnswer(success=True)


router.add_api_route(
    "/renders/{render_id}/delete",
    delete_render,
    methods=["POST"],
    operation_id="post_delete_render",
    summary="Delete a render, for clients that cannot send DELETE",
)


async def _described(services: Services, renders: Sequence[Render]) -> list[RenderInfo]:
    """Describe renders of one organization."""
    found = await services.destinations.find({str(render.id): render for render in renders})
    return [
        RenderInfo.describe(
            render,
            base_url=services.settings.public_url,
            destinations=describe_destinations(found[str(render.id)]),
        )
        for render in renders
    ]


def parse_render_id(text: str) -> RenderId:
    """Return the id in an address, or raise `RenderNotFound`."""
    found = parse_uuid(text)
    if found is None:
        raise RenderNotFound(f"there is no render {text[:100]!r}: ids are UUIDs")
    return RenderId(found)
