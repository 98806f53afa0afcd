"""/v2/videos: make videos of layer configs, find them, delete them, plan them (spec 4.2)."""

import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any, Final

from fastapi import APIRouter, Request, Response

from framekiln.api import sse
from framekiln.api.auth import AuthenticatedCaller, services_of
from framekiln.api.destination_bodies import describe_destinations, video_destinations
from framekiln.api.progress import counted_events, progress_response
from framekiln.api.v2.bodies import (
    CreatedVideo,
    Deleted,
    VideoInfo,
    VideoList,
    created_video,
    video_info,
)
from framekiln.api.v2.forms import Form, field_error, open_form, unknown_fields
from framekiln.api.v2.openapi_bodies import CREATE_VIDEO, PLAN_VIDEO
from framekiln.api.v2.pages import PageParam, page_answer
from framekiln.api.v2.uploaded_files import (
    address_field,
    files_by_layer,
    saved_to_disk,
    urls_by_layer,
)
from framekiln.identity.model import Caller
from framekiln.videos.accepted_config import with_source_addresses
from framekiln.videos.model import Video, VideoRequest
from framekiln.videos.uploaded_sources import new_upload_address

router = APIRouter(prefix="/v2", tags=["videos"])

# Clients of others send the last two; drawing a frame reads `t` and `format`.
_FIELDS: Final = frozenset(
    {"config", "metadata", "destinations", "t", "format", "workflowJobId", "experimental"}
)


@router.get("/videos", response_model_exclude_unset=True, summary="List videos, newest first")
async def list_videos(request: Request, caller: AuthenticatedCaller, asked: PageParam) -> VideoList:
    """Return a page of videos."""
    services = services_of(request)
    page = await services.v2.videos.list(caller.organization.id, asked)
    base_url = services.settings.public_url
    return VideoList(**page_answer(request, page, lambda video: video_info(video, base_url)))


@router.post(
    "/videos/new",
    status_code=201,
    response_model_exclude_unset=True,
    openapi_extra=CREATE_VIDEO,
    summary="Create a video from remote sources",
)
async def create_video(request: Request, caller: AuthenticatedCaller) -> CreatedVideo:
    """Accept a layer config whose files are all addresses; work begins at once."""
    services = services_of(request)
    async with open_form(request) as form:
        for name in form.files.keys() - _FIELDS:
            message = f"{name} is a file: send its address, or post it to /v2/videos"
            raise field_error(name, "remote_url_required", message)
        asked = await video_request(form)
        also_write = await video_destinations(services, await form.json("destinations"))
    return created_video(await services.v2.videos.create(caller, asked, also_write=also_write))


@router.post(
    "/videos",
    status_code=201,
    response_model_exclude_unset=True,
    openapi_extra=CREATE_VIDEO,
    summary="Create a video with uploaded sources",
)
async def create_video_with_files(request: Request, caller: AuthenticatedCaller) -> CreatedVideo:
    """Accept a layer config, and sources of its layers as parts of the same request."""
    async with open_form(request) as form:
        return created_video(await _with_files(request, caller, form))


@router.post("/videos/plan", openapi_extra=PLAN_VIDEO, summary="Plan a video without rendering it")
async def plan_video(request: Request, caller: AuthenticatedCaller) -> dict[str, Any]:
    """Check a config, probe its sources, and return its timeline and boxes; make nothing."""
    services = services_of(request)
    async with open_form(request) as form:
        accepted = await services.v2.videos.validate(
            caller.organization.id, await video_request(form)
        )
    return await services.v2.planner.plan(caller.organization.id, accepted)


@router.get("/videos/{video_id}", response_model_exclude_unset=True, summary="Show a video")
async def get_video(request: Request, caller: AuthenticatedCaller, video_id: str) -> VideoInfo:
    """Return a video; safe to poll."""
    services = services_of(request)
    video = await services.v2.videos.get(caller.organization.id, video_id)
    found = await services.destinations.find({video.id: video.render})
    return video_info(
        video, services.settings.public_url, destinations=describe_destinations(found[video.id])
    )


@router.get(
    "/videos/{video_id}/config",
    response_class=Response,
    responses={200: {"description": "The layer config", "content": {"application/json": {}}}},
    summary="Show the layer config of a video",
)
async def get_config(request: Request, caller: AuthenticatedCaller, video_id: str) -> Response:
    """Return the config in its normal form: with data filled in, defaults and resolved names."""
    services = services_of(request)
    video = await services.v2.videos.get(caller.organization.id, video_id)
    config = await services.blobs.get(video.render.source_key)
    return Response(config, media_type="application/json")


@router.get(
    "/videos/{video_id}/progress",
    response_class=sse.EventStream,
    summary="Follow the progress of a video",
)
async def follow_video(request: Request, caller: AuthenticatedCaller, video_id: str) -> Response:
    """Stream progress until the video is ready or has failed (server-sent events)."""
    services = services_of(request)
    video = await services.v2.videos.get(caller.organization.id, video_id)
    events = counted_events(services.renders, video.render.id, request)
    return progress_response(request, caller, events)


@router.delete("/videos/{video_id}", summary="Delete a video")
async def delete_video(request: Request, caller: AuthenticatedCaller, video_id: str) -> Deleted:
    """Remove the video and what was made for it; one that is being made is stopped."""
    await services_of(request).v2.videos.delete(caller.organization.id, video_id)
    return Deleted(deleted=True)


async def video_request(form: Form) -> VideoRequest:
    """Return what a form asks for, without files."""
    config = await form.require_json("config")
    addresses = urls_by_layer(form)
    if addresses:
        config = await asyncio.to_thread(with_source_addresses, config, addresses)
    known = {*_FIELDS, *(address_field(layer_id) for layer_id in addresses)}
    warnings = unknown_fields(form.values, known, what="a request for a video")
    return VideoRequest(
        config=config,
        metadata=await form.json("metadata"),
        warnings=[each.as_json() for each in warnings],
    )


async def _with_files(request: Request, caller: Caller, form: Form) -> Video:
    """Check everything before anything is kept."""
    services = services_of(request)
    files = files_by_layer(form)
    addresses = {layer_id: new_upload_address() for layer_id in files}
    plain = await video_request(form)
    also_write = await video_destinations(services, await form.json("destinations"))
    asked = replace(plain, uploads=addresses)
    if files:
        await services.v2.videos.validate(caller.organization.id, asked)
    async with AsyncExitStack() as stack:
        for layer_id, file in files.items():
            upload = await stack.enter_async_context(saved_to_disk(file))
            await services.v2.uploads.store(
                caller.organization.id, upload, address=addresses[layer_id]
            )
    return await services.v2.videos.create(caller, asked, also_write=also_write)
