"""Frames that sample_frames steps took from a video, by their time."""

import re
from typing import Final

from fastapi import APIRouter, Request, Response

from framekiln.api.auth import MediaReader, services_of
from framekiln.api.ranges import ContentMissing, blob_response
from framekiln.files.ids import parse_file_id
from framekiln.files.model import FileStatus, sampled_frame_key

router = APIRouter(prefix="/api/v1", tags=["files"])

_ARRIVING: Final = (FileStatus.RECEIVING, FileStatus.PROCESSING)
_PATH: Final = "/files/{file_id}/frames/{at_ms}.jpg"
_BYTES: Final = {"image/jpeg": {"schema": {"type": "string", "format": "binary"}}}


async def get_frame(request: Request, reader: MediaReader, file_id: str, at_ms: str) -> Response:
    """Send the frame at `at_ms`, if a step has sampled it."""
    services = services_of(request)
    file = await services.files.get(reader.organization_id, parse_file_id(file_id))
    # Windows of a file that is still being uploaded may already have frames.
    if file.status not in _ARRIVING or file.has_expired(services.clock.now()):
        services.files.check_readable(file)
    if not re.fullmatch(r"0|[1-9][0-9]{0,11}", at_ms):
        raise ContentMissing(f"there is no frame {at_ms[:100]!r}: frames are named by milliseconds")
    return await blob_response(
        request,
        services.blobs,
        sampled_frame_key(file.organization_id, file.id, int(at_ms)),
        media_type="image/jpeg",
        filename=f"{at_ms}.jpg",
        etag=f"{file.id}-frame-{at_ms}-{file.completed_at}",
        last_modified=file.completed_at or file.created_at,
    )


router.add_api_route(
    _PATH,
    get_frame,
    methods=["GET"],
    summary="Download a sampled frame",
    response_class=Response,
    responses={
        200: {"description": "The whole picture", "content": _BYTES},
        206: {"description": "The requested range", "content": _BYTES},
        304: {"description": "The content has not changed"},
    },
)
router.add_api_route(_PATH, get_frame, methods=["HEAD"], include_in_schema=False)
