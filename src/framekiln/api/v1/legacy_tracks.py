"""The older addresses of videos uploaded as tracks: the same files and tracks (spec 4.5).

Clients send every body as JSON: the content type is ignored.
"""

from typing import Final

from fastapi import APIRouter, Request, Response

from framekiln.api.auth import AuthenticatedCaller, Uploader, services_of
from framekiln.api.bodies import json_body, read_json
from framekiln.api.unknown_fields import WarningRoute
from framekiln.api.v1.file_bodies import TrackUploadState
from framekiln.api.v1.files import INDEX, MAX_BODY_BYTES, MAX_TRACK_BODY_BYTES, upload_index
from framekiln.api.v1.legacy_bodies import CreateIsobmff, CreateIsobmffTrack, IsobmffRecord
from framekiln.api.v1.uploads import asks, get_track_upload, takes, upload_track
from framekiln.files.ids import parse_file_id
from framekiln.files.model import FileType, NewFile, OlderType
from framekiln.files.service import FilesByType
from framekiln.kit.ids import FileId

router = APIRouter(prefix="/api/v1", tags=["files by type"], route_class=WarningRoute)


@router.post(
    "/isobmff_files",
    status_code=201,
    openapi_extra=json_body(CreateIsobmff),
    summary="Register a video that is uploaded as tracks",
)
async def create_isobmff(request: Request, caller: Uploader) -> IsobmffRecord:
    """Register a file whose tracks and index will be uploaded."""
    body = await read_json(request, CreateIsobmff, max_bytes=MAX_BODY_BYTES)
    new = NewFile(body.filename, FileType.VIDEO, None, md5=body.md5, older_type=OlderType.ISOBMFF)
    file, _ = await services_of(request).files.create(caller, new)
    return IsobmffRecord.of(file)


@router.get("/isobmff_files/md5/{md5}", summary="Find a video by its md5")
async def find_isobmff(request: Request, caller: AuthenticatedCaller, md5: str) -> IsobmffRecord:
    """Return the video with this md5, however it was uploaded."""
    services = services_of(request)
    file = await FilesByType(services.database, clock=services.clock).find_by_md5(
        caller.organization.id, md5, file_type=FileType.VIDEO, with_size=False
    )
    return IsobmffRecord.of(file)


@router.post(
    "/isobmff_files/{file_id}/index/upload",
    openapi_extra=INDEX,
    summary="Upload the index of a video",
    responses={
        202: {"model": IsobmffRecord, "description": "The index waits for tracks that it names"}
    },
)
async def upload_isobmff_index(
    request: Request, response: Response, caller: AuthenticatedCaller, *, file_id: str
) -> IsobmffRecord:
    """Accept the fragment index; the file is ready when all its tracks are uploaded."""
    accepted = await upload_index(request, response, caller, file_id=file_id)
    file = await services_of(request).files.get(caller.organization.id, FileId(accepted.id))
    return IsobmffRecord.of(file)


@router.post(
    "/isobmff_tracks",
    status_code=201,
    openapi_extra=json_body(CreateIsobmffTrack),
    summary="Add a track to a video",
)
async def create_isobmff_track(request: Request, caller: AuthenticatedCaller) -> TrackUploadState:
    """Add a track that the client made; an existing one is returned unchanged."""
    files = services_of(request).files
    body = await read_json(request, CreateIsobmffTrack, max_bytes=MAX_TRACK_BODY_BYTES)
    file = await files.get(caller.organization.id, parse_file_id(body.file_id))
    new = body.as_new_track(file_id=body.file_id)
    return TrackUploadState.of(await files.add_track(file.organization_id, file.id, new))


_UPLOAD: Final = "/isobmff_tracks/{file_id}/{track_id}/upload"
router.add_api_route(
    _UPLOAD,
    get_track_upload,
    methods=["GET"],
    name="get_isobmff_track_upload",
    **asks("a track, by its file,", TrackUploadState),
)
router.add_api_route(
    _UPLOAD,
    upload_track,
    methods=["POST"],
    name="upload_isobmff_track",
    **takes("a track, by its file", TrackUploadState),
)
