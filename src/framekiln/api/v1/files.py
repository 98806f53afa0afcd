"""/api/v1/files: register, show, follow and delete files (spec 4.4)."""

import tempfile
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any, Final

from fastapi import APIRouter, Request, Response

from framekiln.api import sse
from framekiln.api.auth import AuthenticatedCaller, repeated_authentication, services_of
from framekiln.api.bodies import SuccessAnswer, json_body, read_json, read_to_file
from framekiln.api.progress import progress_events, progress_response, terminal_event
from framekiln.api.unknown_fields import WarningRoute
from framekiln.api.v1.file_bodies import (
    CreateFile,
    CreateTrack,
    FileDetail,
    FileRecord,
    IndexAccepted,
    TrackUploadState,
)
from framekiln.api.v1.newest_pages import FileList, FileParameters, newest_place
from framekiln.files.ids import parse_file_id
from framekiln.files.model import (
    MAX_INDEX_BYTES,
    File,
    FileFilter,
    FileProgress,
    FileStatus,
    FileType,
)
from framekiln.files.service import Files
from framekiln.kit.expiry import parse_expiry

router = APIRouter(prefix="/api/v1", tags=["files"], route_class=WarningRoute)

MAX_BODY_BYTES: Final = 64 << 10
# The probe result of a stream is returned unchanged.
MAX_TRACK_BODY_BYTES: Final = 1 << 20
INDEX: Final[dict[str, Any]] = {
    "requestBody": {"content": {"application/json": {"schema": {"type": "object"}}}}
}


@router.post(
    "/files",
    status_code=201,
    openapi_extra=json_body(CreateFile),
    summary="Register a file",
    responses={200: {"model": FileRecord, "description": "The same file is already registered"}},
)
async def create_file(
    request: Request, response: Response, caller: AuthenticatedCaller
) -> FileRecord:
    """Register a file to be uploaded; one with the same md5 and size is returned instead."""
    services = services_of(request)
    body = await read_json(request, CreateFile, max_bytes=MAX_BODY_BYTES)
    expires_at = parse_expiry(body.expires_at, now=services.clock.now())
    new = body.as_new_file(expires_at=expires_at)
    file, is_new = await services.files.create(caller, new)
    response.status_code = 201 if is_new else 200
    return FileRecord.of(file)


@router.get("/files", summary="List files")
async def list_files(
    request: Request, caller: AuthenticatedCaller, query: FileParameters
) -> FileList:
    """Return a page of the organization's files, newest first."""
    wanted = FileFilter(query.status, query.type, query.search)
    found = await services_of(request).files.page(caller.organization.id, query.page, wanted=wanted)
    page, next_cursor = query.page_of(found, newest_place)
    return FileList(files=[FileRecord.of(each) for each in page], next_cursor=next_cursor)


@router.get("/files/md5/{md5}", summary="Find a file by its md5")
async def find_file(request: Request, caller: AuthenticatedCaller, md5: str) -> FileDetail:
    """Return the newest usable file with this md5."""
    files = services_of(request).files
    file = await files.find_by_md5(caller.organization.id, md5)
    return await _detail(files, file)


@router.get(
    "/files/{file_id}/progress",
    response_class=sse.EventStream,
    summary="Follow the processing of a file",
)
async def follow_file(request: Request, caller: AuthenticatedCaller, file_id: str) -> Response:
    """Stream the progress of processing until the file is ready (server-sent events)."""
    files = services_of(request).files
    file = await files.get(caller.organization.id, parse_file_id(file_id))
    if file.type is not FileType.VIDEO:
        # There is no processing to wait for.
        only = _only(terminal_event(await files.progress(file.id)))
        return sse.stream_response(only, repeated_authentication(request, caller))
    events = progress_events(files, file.id, request, describe=_fraction_of_processing())
    return progress_response(request, caller, events)


@router.post(
    "/files/{file_id}/tracks",
    status_code=201,
    openapi_extra=json_body(CreateTrack),
    summary="Add a track to be uploaded",
)
async def create_track(
    request: Request, caller: AuthenticatedCaller, file_id: str
) -> TrackUploadState:
    """Add a track that the client made; an existing one is returned unchanged."""
    files = services_of(request).files
    file = await files.get(caller.organization.id, parse_file_id(file_id))
    body = await read_json(request, CreateTrack, max_bytes=MAX_TRACK_BODY_BYTES)
    new = body.as_new_track(file_id=str(file.id))
    return TrackUploadState.of(await files.add_track(caller.organization.id, file.id, new))


@router.post(
    "/files/{file_id}/index/upload",
    openapi_extra=INDEX,
    summary="Upload the index of a file",
    responses={
        202: {"model": IndexAccepted, "description": "The index waits for tracks that it names"}
    },
)
async def upload_index(
    request: Request, response: Response, caller: AuthenticatedCaller, *, file_id: str
) -> IndexAccepted:
    """Accept the index of tracks that the client made; the file is ready when all are uploaded."""
    files = services_of(request).files
    file = await files.get(caller.organization.id, parse_file_id(file_id))
    with tempfile.TemporaryDirectory(prefix="framekiln-index-") as folder:
        uploaded = Path(folder) / "uploaded.json"
        await read_to_file(request, uploaded, max_bytes=MAX_INDEX_BYTES)
        accepted = await files.accept_index(caller.organization.id, file.id, uploaded)
    response.status_code = 200 if accepted.status is FileStatus.READY else 202
    return IndexAccepted(id=accepted.id, status=accepted.status)


@router.delete("/files/{file_id}", summary="Delete a file")
async def delete_file(request: Request, caller: AuthenticatedCaller, file_id: str) -> SuccessAnswer:
    """Delete the file and everything stored for it, also while it is processed."""
    await services_of(request).files.delete(caller.organization.id, parse_file_id(file_id))
    return SuccessAnswer(success=True)


router.add_api_route(
    "/files/{file_id}/delete",
    delete_file,
    methods=["POST"],
    operation_id="post_delete_file",
    summary="Delete a file, for clients that cannot send DELETE",
)


async def _detail(files: Files, file: File) -> FileDetail:
    return FileDetail.describe(file, await files.tracks(file.organization_id, file.id))


def _fraction_of_processing() -> Callable[[FileProgress], bytes]:
    last_fraction = -1.0

    def describe(progress: FileProgress) -> bytes:
        nonlocal last_fraction
        if progress.status is not FileStatus.PROCESSING or progress.fraction <= last_fraction:
            return b""
        last_fraction = progress.fraction
        return sse.event("progress", {"progress": last_fraction})

    return describe


async def _only(event: bytes) -> AsyncGenerator[bytes, None]:
    yield event
