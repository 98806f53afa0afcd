"""Frames of a video: those that sample_frames steps took, by time, and all of them by number."""

import re
from collections.abc import Coroutine
from typing import Any, Final, TypeVar

from fastapi import APIRouter, Request, Response
from starlette.requests import ClientDisconnect

from framekiln.api.auth import MediaReader, services_of
from framekiln.api.ranges import ContentMissing, blob_response
from framekiln.files.errors import FrameNotFound
from framekiln.files.ids import parse_file_id
from framekiln.files.model import FileStatus, sampled_frame_key
from framekiln.jobs.progress import WorkUnwanted, run_while_wanted

router = APIRouter(prefix="/api/v1", tags=["files"])

_ARRIVING: Final = (FileStatus.RECEIVING, FileStatus.PROCESSING)
_NUMBER: Final = re.compile(r"0|[1-9][0-9]{0,11}")
_JPEG: Final = {"image/jpeg": {"schema": {"type": "string", "format": "binary"}}}
_JSON: Final = {"application/json": {"schema": {"$ref": "#/components/schemas/FrameTimes"}}}
# A reader may keep a picture for a while: people go back and forth between frames.
_KEPT: Final = "private, max-age=300"

Made = TypeVar("Made")

FRAME_TIMES_SCHEMA: Final = {
    "title": "FrameTimes",
    "type": "object",
    "description": "When each frame of a video is shown, in ticks.",
    "required": ["frame_count", "tick_s", "end", "starts"],
    "properties": {
        "frame_count": {"type": "integer"},
        "tick_s": {
            "type": "array",
            "items": {"type": "integer"},
            "minItems": 2,
            "maxItems": 2,
            "description": "Seconds of a tick: numerator and denominator.",
        },
        "end": {"type": "integer", "description": "When the last frame ends."},
        "starts": {"type": "array", "items": {"type": "integer"}},
    },
}
"""For the OpenAPI document; the response is a stored blob."""


async def get_frame(request: Request, reader: MediaReader, file_id: str, at_ms: str) -> Response:
    """Send the frame at `at_ms`, if a step has sampled it."""
    services = services_of(request)
    file = await services.files.get(reader.organization_id, parse_file_id(file_id))
    # Windows of a file that is still being uploaded may already have frames.
    if file.status not in _ARRIVING or file.has_expired(services.clock.now()):
        services.files.check_readable(file)
    if not _NUMBER.fullmatch(at_ms):
        raise ContentMissing(f"there is no frame {at_ms[:100]!r}: frames are named by milliseconds")
    return await blob_response(
        request,
        services.blobs,
        sampled_frame_key(file.organization_id, file.id, int(at_ms)),
        media_type="image/jpeg",
        filename=f"{at_ms}.jpg",
        etag=f"{file.id}-frame-{at_ms}-{file.completed_at}",
        last_modified=file.completed_at or file.created_at,
        missing=f"no sample_frames step has sampled file {file.id} at {int(at_ms)} ms",
    )


async def get_frame_times(request: Request, reader: MediaReader, file_id: str) -> Response:
    """Send when each frame of a video is shown."""
    services = services_of(request)
    file = await services.files.get(reader.organization_id, parse_file_id(file_id))
    key = await _while_connected(request, services.file_frames.ensure_times(file))
    return await blob_response(
        request,
        services.blobs,
        key,
        media_type="application/json",
        filename="frame-times.json",
        etag=f"{file.id}-frame-times-{file.completed_at}",
        last_modified=file.completed_at or file.created_at,
    )


async def get_numbered_frame(
    request: Request, reader: MediaReader, file_id: str, *, number: str
) -> Response:
    """Send the frame with this number, from 0."""
    services = services_of(request)
    file = await services.files.get(reader.organization_id, parse_file_id(file_id))
    if not _NUMBER.fullmatch(number):
        raise FrameNotFound(f"there is no frame {number[:100]!r}: frames are numbered from 0")
    picture = await _while_connected(request, services.file_frames.picture(file, int(number)))
    headers = {"Cache-Control": _KEPT, "X-Content-Type-Options": "nosniff"}
    return Response(picture, media_type="image/jpeg", headers=headers)


async def _while_connected(request: Request, work: Coroutine[Any, Any, Made]) -> Made:
    """Return the result of `work`; stop it when the client has gone, so that others get on."""

    async def is_connected() -> bool:
        return not await request.is_disconnected()

    try:
        return await run_while_wanted(work, is_connected)
    except WorkUnwanted as error:
        raise ClientDisconnect from error


_PICTURE: Final[dict[int | str, dict[str, Any]]] = {
    200: {"description": "The picture", "content": _JPEG}
}


def _ranged(content: dict[str, Any]) -> dict[int | str, dict[str, Any]]:
    return {
        200: {"description": "The whole content", "content": content},
        206: {"description": "The requested range", "content": content},
        304: {"description": "The content has not changed"},
    }


for _path, _endpoint, _responses, _summary in (
    ("/frames/{at_ms}.jpg", get_frame, _ranged(_JPEG), "Download a sampled frame"),
    ("/frame-times", get_frame_times, _ranged(_JSON), "List when frames are shown"),
    (
        "/frames/number/{number}.jpg",
        get_numbered_frame,
        _PICTURE,
        "Download a frame by number",
    ),
):
    router.add_api_route(
        f"/files/{{file_id}}{_path}",
        _endpoint,
        methods=["GET"],
        summary=_summary,
        response_class=Response,
        responses=_responses,
    )
