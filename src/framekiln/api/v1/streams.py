"""/api/v1/files/stream and .../:id/stream: videos uploaded in verified fragments (spec 4.7)."""

import re
import tempfile
from pathlib import Path
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Header, Request, Response

from framekiln.api.auth import services_of
from framekiln.api.bodies import json_body, read_json, read_to_file
from framekiln.api.unknown_fields import WarningRoute
from framekiln.api.v1.file_bodies import FileRecord
from framekiln.api.v1.files import MAX_BODY_BYTES
from framekiln.api.v1.pipeline_access import PipelineCaller
from framekiln.api.v1.stream_bodies import (
    CreateStream,
    SealStream,
    StreamState,
    StreamTrackStored,
    new_stream,
    sha256_of,
)
from framekiln.api.v1.uploads import BINARY
from framekiln.files.ids import parse_file_id, parse_track_id
from framekiln.files.streams.model import MAX_FRAGMENT_BYTES, MAX_INIT_BYTES
from framekiln.files.streams.receiver import ReceivedBody, StreamTrackRef
from framekiln.kit.errors import NotFound
from framekiln.kit.expiry import parse_expiry

router = APIRouter(prefix="/api/v1", tags=["streamed uploads"], route_class=WarningRoute)

ContentDigest = Annotated[
    str | None,
    Header(
        description="`sha-256=:<base64>:`, the digest of the body (RFC 9530); required.",
        examples=["sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:"],
    ),
]


async def stream_track(caller: PipelineCaller, file_id: str, track_id: str) -> StreamTrackRef:
    """Return the stream and track that an address names."""
    return StreamTrackRef(caller.organization.id, parse_file_id(file_id), parse_track_id(track_id))


StreamTrackParam = Annotated[StreamTrackRef, Depends(stream_track)]
KEPT: Final[dict[int | str, dict[str, Any]]] = {
    200: {"model": StreamTrackStored, "description": "It was already stored"}
}


@router.post(
    "/files/stream",
    status_code=201,
    openapi_extra=json_body(CreateStream),
    summary="Start a streamed upload",
)
async def create_stream(request: Request, caller: PipelineCaller) -> StreamState:
    """Register a video that is uploaded in fragments."""
    services = services_of(request)
    body = await read_json(request, CreateStream, max_bytes=MAX_BODY_BYTES)
    expires_at = parse_expiry(body.expires_at, now=services.clock.now())
    new = new_stream(body, expires_at=expires_at)
    return StreamState.describe(await services.streams.create(caller, new))


@router.get("/files/{file_id}/stream", summary="Show the progress of a streamed upload")
async def get_stream(request: Request, caller: PipelineCaller, file_id: str) -> StreamState:
    """Return the next expected fragment of each track, and the digest of the received bytes."""
    streams = services_of(request).streams
    return StreamState.describe(await streams.find(caller.organization.id, parse_file_id(file_id)))


@router.post(
    "/files/{file_id}/stream/seal",
    openapi_extra=json_body(SealStream),
    summary="Seal a streamed upload",
)
async def seal_stream(request: Request, caller: PipelineCaller, file_id: str) -> FileRecord:
    """Seal the stream when all fragments are sent; the file is then processed."""
    file = parse_file_id(file_id)
    body = await read_json(request, SealStream, max_bytes=MAX_BODY_BYTES)
    streams = services_of(request).streams
    return FileRecord.of(await streams.seal(caller.organization.id, file, body.counts()))


@router.put(
    "/files/{file_id}/stream/{track_id}/init",
    status_code=201,
    responses=KEPT,
    openapi_extra=BINARY,
    summary="Send the init segment of a track",
)
async def put_init(
    request: Request,
    response: Response,
    place: StreamTrackParam,
    *,
    content_digest: ContentDigest = None,
) -> StreamTrackStored:
    """Store an init segment; sending the same one again changes nothing."""
    with tempfile.TemporaryDirectory(prefix="framekiln-init-") as folder:
        path = Path(folder) / "init"
        await read_to_file(request, path, max_bytes=MAX_INIT_BYTES)
        received = ReceivedBody(path, sha256_of(content_digest))
        track, is_new = await services_of(request).streams.receiving.put_init(place, received)
    response.status_code = 201 if is_new else 200
    return StreamTrackStored.of(track)


@router.put(
    "/files/{file_id}/stream/{track_id}/{number}",
    status_code=201,
    responses=KEPT,
    openapi_extra=BINARY,
    summary="Send a fragment of a track",
)
async def put_fragment(
    request: Request,
    response: Response,
    place: StreamTrackParam,
    *,
    number: str,
    content_digest: ContentDigest = None,
) -> StreamTrackStored:
    """Verify and store the next fragment; sending the same one again changes nothing."""
    with tempfile.TemporaryDirectory(prefix="framekiln-fragment-") as folder:
        path = Path(folder) / "fragment"
        await read_to_file(request, path, max_bytes=MAX_FRAGMENT_BYTES)
        received = ReceivedBody(path, sha256_of(content_digest))
        track, is_new = await services_of(request).streams.receiving.put_fragment(
            place, _number(number), received
        )
    response.status_code = 201 if is_new else 200
    return StreamTrackStored.of(track)


def _number(text: str) -> int:
    if not re.fullmatch(r"0|[1-9][0-9]{0,6}", text):
        raise NotFound(f"there is no fragment {text[:100]!r}: fragments have numbers, from 0")
    return int(text)
