"""/api/v1/files/:id/upload and .../tracks/:trackId/upload: uploads in chunks (spec 4.4).

Clients send every body as JSON: the content type is ignored.
"""

import re
from collections.abc import AsyncGenerator
from typing import Annotated, Any, Final

from fastapi import APIRouter, Header, Request, Response
from pydantic import BaseModel

from framekiln.api.auth import Uploader, services_of
from framekiln.api.body_memory import BodyMemory
from framekiln.api.v1.file_bodies import FileUploadState, TrackUploadState
from framekiln.files.chunks import PART_BYTES, Chunk
from framekiln.files.errors import ChunkMismatch
from framekiln.files.ids import parse_file_id, parse_track_id
from framekiln.files.uploads import Target, Upload
from framekiln.kit.errors import FramekilnError

router = APIRouter(prefix="/api/v1", tags=["files"])

# `bytes 0-9/100` as in the standard, and `bytes=0-9/100` as clients write it.
CONTENT_RANGE: Final = re.compile(
    r"bytes\s*[\s=]\s*(?:([0-9]{1,18})-([0-9]{1,18})|\*)/([0-9]{1,18}|\*)", re.IGNORECASE
)
# A client that is still sending may not read a response: this much is read first.
DRAINED_BYTES: Final = 2 * PART_BYTES

ContentRange = Annotated[
    str | None,
    Header(
        description="`bytes <first>-<last>/<total>`; without it the body starts at byte 0.",
        examples=["bytes 0-8388607/20971520"],
    ),
]
BINARY: Final[dict[str, Any]] = {
    "requestBody": {
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
    }
}


def asks(noun: str, model: type[BaseModel]) -> dict[str, Any]:
    """Return the OpenAPI description of a route that shows the progress of an upload."""
    return {"summary": f"Show the upload of {noun}", "responses": _states(model, 200)}


def takes(noun: str, model: type[BaseModel]) -> dict[str, Any]:
    """Return the OpenAPI description of a route that accepts the chunks of an upload."""
    return {
        "status_code": 201,
        "summary": f"Upload {noun}, whole or in chunks",
        "responses": _states(model, 201),
        "openapi_extra": BINARY,
    }


def _states(model: type[BaseModel], whole: int) -> dict[int | str, dict[str, Any]]:
    return {
        whole: {"model": model, "description": "The upload is complete"},
        202: {"model": model, "description": "More bytes are expected, from `next_byte` on"},
    }


@router.get("/files/{file_id}/upload", **asks("a file", FileUploadState))
async def get_file_upload(
    request: Request, response: Response, caller: Uploader, *, file_id: str
) -> FileUploadState:
    """Answer 200 when the upload is complete, else 202."""
    target = Target(caller.organization.id, parse_file_id(file_id))
    return FileUploadState.of(await find_upload(request, response, target))


@router.post("/files/{file_id}/upload", **takes("a file", FileUploadState))
async def upload_file(
    request: Request,
    response: Response,
    caller: Uploader,
    *,
    file_id: str,
    content_range: ContentRange = None,
) -> FileUploadState:
    """Accept a chunk; answer 201 when the file is complete, else 202."""
    target = Target(caller.organization.id, parse_file_id(file_id))
    return FileUploadState.of(await take_chunk(request, response, target, content_range))


@router.get("/files/{file_id}/tracks/{track_id}/upload", **asks("a track", TrackUploadState))
async def get_track_upload(
    request: Request, response: Response, caller: Uploader, *, file_id: str, track_id: str
) -> TrackUploadState:
    """Answer 200 when the upload is complete, else 202."""
    target = Target(caller.organization.id, parse_file_id(file_id), parse_track_id(track_id))
    return _track_state(await find_upload(request, response, target))


@router.post("/files/{file_id}/tracks/{track_id}/upload", **takes("a track", TrackUploadState))
async def upload_track(
    request: Request,
    response: Response,
    caller: Uploader,
    *,
    file_id: str,
    track_id: str,
    content_range: ContentRange = None,
) -> TrackUploadState:
    """Accept a chunk; answer 201 when the track is complete, else 202."""
    target = Target(caller.organization.id, parse_file_id(file_id), parse_track_id(track_id))
    return _track_state(await take_chunk(request, response, target, content_range))


async def find_upload(request: Request, response: Response, target: Target) -> Upload:
    """Return the state of an upload: 200 when it is complete, else 202."""
    upload = await services_of(request).uploads.find(target)
    response.status_code = 200 if upload.is_complete else 202
    return upload


async def take_chunk(
    request: Request, response: Response, target: Target, content_range: str | None
) -> Upload:
    """Accept the next chunk of an upload: 201 when it is complete, else 202."""
    upload = await receive(request, target, content_range)
    response.status_code = 201 if upload.is_complete else 202
    return upload


async def receive(request: Request, target: Target, content_range: str | None) -> Upload:
    """Append the body of a request to an upload."""
    body = request.stream()
    try:
        chunk = chunk_of(content_range, request.headers.get("content-length", ""))
        memory: BodyMemory = request.app.state.upload_memory
        with memory.hold(str(target.organization_id), chunk.buffered_bytes):
            return await services_of(request).uploads.receive(target, chunk, body)
    except FramekilnError:
        await _drain(body)
        raise


def chunk_of(content_range: str | None, content_length: str) -> Chunk:
    """Return the chunk that the headers describe."""
    length = int(content_length) if re.fullmatch("[0-9]{1,18}", content_length) else None
    if content_range is None:
        return Chunk(length=length)
    match = CONTENT_RANGE.fullmatch(content_range.strip())
    if match is None:
        raise ChunkMismatch(
            "Content-Range must be `bytes <first>-<last>/<total>`", field="Content-Range"
        )
    first, last, total = match.groups()
    start, end = (0, 0) if first is None else (int(first), int(last) + 1)
    if first is not None and end <= start:
        raise ChunkMismatch(f"the range ends before it starts: {first}-{last}")
    return Chunk(start, end, total=None if total == "*" else int(total), length=length)


async def _drain(body: AsyncGenerator[bytes, None]) -> None:
    read = 0
    async for data in body:
        read += len(data)
        if read > DRAINED_BYTES:
            return


def _track_state(upload: Upload) -> TrackUploadState:
    assert upload.track is not None
    return TrackUploadState.of(upload.track)
