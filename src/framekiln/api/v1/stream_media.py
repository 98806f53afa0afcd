"""Media of a streamed upload between two times, also during the upload (spec 4.7)."""

from typing import Annotated, Final

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse

from framekiln.api.auth import MediaReader, services_of
from framekiln.api.ranges import content_disposition
from framekiln.files.ids import parse_file_id
from framekiln.files.streams.excerpts import ExcerptRange
from framekiln.files.streams.validation import MAX_DURATION_MS

router = APIRouter(prefix="/api/v1", tags=["streamed uploads"])

_BYTES: Final = {"schema": {"type": "string", "format": "binary"}}

InstantMs = Annotated[int, Query(ge=0, le=MAX_DURATION_MS, description="Milliseconds of the file.")]
TrackFilter = Annotated[
    int | None, Query(ge=1, le=10_000, description="Only this track; by default all of them.")
]


@router.get(
    "/files/{file_id}/stream/media.mp4",
    summary="Download the received media between two times",
    response_class=Response,
    responses={
        200: {
            "description": "A fragmented MP4",
            "content": {"video/mp4": _BYTES, "audio/mp4": _BYTES},
        }
    },
)
async def get_stream_media(
    request: Request,
    reader: MediaReader,
    file_id: str,
    *,
    to_ms: InstantMs,
    from_ms: InstantMs = 0,
    track_id: TrackFilter = None,
) -> Response:
    """Send the fragments that overlap a span, as one fragmented MP4."""
    streams = services_of(request).streams
    span = ExcerptRange(from_ms, to_ms, track_id)
    stream = await streams.find(reader.organization_id, parse_file_id(file_id))
    excerpt = await streams.excerpts.find(stream, span)
    headers = {
        # It is small and made from many blobs: it is sent without ranges.
        "Accept-Ranges": "none",
        "Cache-Control": "private, no-cache",
        "Content-Disposition": content_disposition(f"{from_ms}-{to_ms}.mp4"),
        "Content-Length": str(excerpt.size_bytes),
        "Content-Type": excerpt.media_type,
        "X-Content-Type-Options": "nosniff",
    }
    if request.method == "HEAD":
        return Response(headers=headers)
    return StreamingResponse(streams.excerpts.read(excerpt), headers=headers)
