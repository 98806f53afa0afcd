"""The older addresses of images, captions and videos: the same files, by type.

Clients send every body as JSON: the content type is ignored.
"""

from typing import Any

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel

from framekiln.api import sse
from framekiln.api.auth import AuthenticatedCaller, Uploader, services_of
from framekiln.api.bodies import json_body, read_json
from framekiln.api.unknown_fields import WarningRoute
from framekiln.api.v1.file_bodies import FileUploadState
from framekiln.api.v1.files import MAX_BODY_BYTES, follow_file
from framekiln.api.v1.legacy_bodies import (
    CaptionRecord,
    CreateImage,
    CreateTyped,
    ImageCreated,
    ImageRecord,
    ProcessRecord,
    ProcessStarted,
    UnprocessedRecord,
)
from framekiln.api.v1.uploads import (
    BINARY,
    ContentRange,
    asks,
    find_upload,
    receive,
    take_chunk,
    takes,
)
from framekiln.files.errors import ChunkMismatch
from framekiln.files.ids import parse_file_id
from framekiln.files.model import File, FileType, NewFile
from framekiln.files.service import FilesByType
from framekiln.files.uploads import Target
from framekiln.identity.model import Caller

router = APIRouter(prefix="/api/v1", tags=["files by type"], route_class=WarningRoute)


def _created(model: type[BaseModel]) -> dict[int | str, dict[str, Any]]:
    return {200: {"model": model, "description": "The same file is already registered"}}


def _add_upload_routes(folder: str, name: str, *, noun: str, file_type: FileType) -> None:
    """Add the two upload routes of one file type."""

    async def find(
        request: Request, response: Response, caller: Uploader, *, file_id: str
    ) -> FileUploadState:
        """Answer 200 when the upload is complete, else 202."""
        file = await _get(request, caller, file_id, file_type=file_type)
        target = Target(file.organization_id, file.id)
        return FileUploadState.of(await find_upload(request, response, target))

    async def take(
        request: Request,
        response: Response,
        caller: Uploader,
        *,
        file_id: str,
        content_range: ContentRange = None,
    ) -> FileUploadState:
        """Accept a chunk; answer 201 when the file is complete, else 202."""
        file = await _get(request, caller, file_id, file_type=file_type)
        target = Target(file.organization_id, file.id)
        return FileUploadState.of(await take_chunk(request, response, target, content_range))

    path = f"/{folder}/{{file_id}}/upload"
    asking, taking = asks(noun, FileUploadState), takes(noun, FileUploadState)
    router.add_api_route(path, find, methods=["GET"], name=f"get_{name}_upload", **asking)
    router.add_api_route(path, take, methods=["POST"], name=f"upload_{name}", **taking)


# Images


@router.post(
    "/image_files",
    status_code=201,
    openapi_extra=json_body(CreateImage),
    responses=_created(ImageCreated),
    summary="Register an image",
)
async def create_image(request: Request, response: Response, caller: Uploader) -> ImageCreated:
    """Register an image for upload, or return the same one if it exists."""
    body = await read_json(request, CreateImage, max_bytes=MAX_BODY_BYTES)
    new = body.as_new_file(FileType.IMAGE, mime_type=body.mime_type)
    return ImageCreated.of(await _create(request, response, caller, new=new))


@router.get("/image_files/md5/{md5}", summary="Find an image by its md5")
async def find_image(request: Request, caller: AuthenticatedCaller, md5: str) -> ImageRecord:
    """Return the image with that md5."""
    return ImageRecord.of(await _found(request, caller, md5, file_type=FileType.IMAGE))


@router.get("/image_files/{file_id}.json", summary="Show an image")
async def get_image(request: Request, caller: AuthenticatedCaller, file_id: str) -> ImageRecord:
    """Return an image's size and whether it is complete."""
    return ImageRecord.of(await _get(request, caller, file_id, file_type=FileType.IMAGE))


_add_upload_routes("image_files", "image", noun="an image", file_type=FileType.IMAGE)


# Captions


@router.post(
    "/caption_files",
    status_code=201,
    openapi_extra=json_body(CreateTyped),
    responses=_created(CaptionRecord),
    summary="Register a caption file",
)
async def create_caption(request: Request, response: Response, caller: Uploader) -> CaptionRecord:
    """Register captions for upload, or return the same ones if they exist."""
    body = await read_json(request, CreateTyped, max_bytes=MAX_BODY_BYTES)
    new = body.as_new_file(FileType.CAPTION)
    return CaptionRecord.of(await _create(request, response, caller, new=new))


@router.get("/caption_files/md5/{md5}", summary="Find a caption file by its md5")
async def find_caption(request: Request, caller: AuthenticatedCaller, md5: str) -> CaptionRecord:
    """Return the caption file with that md5."""
    return CaptionRecord.of(await _found(request, caller, md5, file_type=FileType.CAPTION))


@router.post(
    "/caption_files/{file_id}/upload",
    status_code=201,
    openapi_extra=BINARY,
    summary="Upload a caption file in one body",
)
async def upload_caption(request: Request, caller: Uploader, *, file_id: str) -> CaptionRecord:
    """Accept a whole caption file."""
    file = await _get(request, caller, file_id, file_type=FileType.CAPTION)
    upload = await receive(request, Target(file.organization_id, file.id), None)
    if not upload.is_complete:
        raise ChunkMismatch(
            f"the body ended at byte {upload.next_byte} of {upload.byte_size}: send all of it in"
            " one body",
            next_byte=upload.next_byte,
            byte_size=upload.byte_size,
        )
    return CaptionRecord.of(upload.file)


# Videos as they are uploaded, and their processing


@router.post(
    "/unprocessed_files",
    status_code=201,
    openapi_extra=json_body(CreateTyped),
    responses=_created(UnprocessedRecord),
    summary="Register a video",
)
async def create_unprocessed(
    request: Request, response: Response, caller: Uploader
) -> UnprocessedRecord:
    """Register a video for upload, or return the same one if it exists."""
    body = await read_json(request, CreateTyped, max_bytes=MAX_BODY_BYTES)
    new = body.as_new_file(FileType.VIDEO)
    return UnprocessedRecord.of(await _create(request, response, caller, new=new))


@router.get("/unprocessed_files/md5/{md5}", summary="Find a video by its md5")
async def find_unprocessed(
    request: Request, caller: AuthenticatedCaller, md5: str
) -> UnprocessedRecord:
    """Return the video with this md5, if its original is or will be uploaded."""
    return UnprocessedRecord.of(await _found(request, caller, md5, file_type=FileType.VIDEO))


_add_upload_routes("unprocessed_files", "unprocessed", noun="a video", file_type=FileType.VIDEO)


@router.post("/unprocessed_files/{file_id}/isobmff", summary="Process a video")
async def process_unprocessed(
    request: Request, caller: AuthenticatedCaller, file_id: str
) -> ProcessStarted:
    """Return the processing of a video; it starts automatically with the last byte."""
    file = await _get(request, caller, file_id, file_type=FileType.VIDEO)
    return ProcessStarted(id=file.id)


@router.get("/process_isobmff/{file_id}", summary="Show the processing of a video")
async def get_process(request: Request, caller: AuthenticatedCaller, file_id: str) -> ProcessRecord:
    """Return whether and when the processing of a video ended."""
    return ProcessRecord.of(await _get(request, caller, file_id, file_type=FileType.VIDEO))


@router.get(
    "/process_isobmff/{file_id}/progress",
    response_class=sse.EventStream,
    summary="Follow the processing of a video",
)
async def follow_process(request: Request, caller: AuthenticatedCaller, file_id: str) -> Response:
    """Stream the progress of processing until the video is ready (server-sent events)."""
    return await follow_file(request, caller, file_id)


# Shared functions


def _by_type(request: Request) -> FilesByType:
    services = services_of(request)
    return FilesByType(services.database, clock=services.clock)


async def _create(request: Request, response: Response, caller: Caller, *, new: NewFile) -> File:
    file, is_new = await services_of(request).files.create(caller, new)
    response.status_code = 201 if is_new else 200
    return file


async def _get(request: Request, caller: Caller, file_id: str, *, file_type: FileType) -> File:
    return await _by_type(request).get(
        caller.organization.id, parse_file_id(file_id), file_type=file_type
    )


async def _found(request: Request, caller: Caller, md5: str, *, file_type: FileType) -> File:
    return await _by_type(request).find_by_md5(caller.organization.id, md5, file_type=file_type)
