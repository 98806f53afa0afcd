"""/api/v1/renders: create a render, follow it, fetch its output (spec 4.3)."""

from collections.abc import AsyncGenerator
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Request, Response
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from framekiln.api import sse
from framekiln.api.auth import AuthenticatedCaller, services_of
from framekiln.api.bodies import json_body, read_json
from framekiln.api.ranges import blob_response
from framekiln.api.v1.numbers import NUMBER, WHOLE
from framekiln.engine.film import LARGEST_SIDE_PX, LONGEST_MS
from framekiln.kit.errors import TooLarge
from framekiln.kit.ids import RenderId, parse_uuid
from framekiln.renders.model import (
    Asked,
    NewRender,
    Progress,
    Render,
    RenderNotComplete,
    RenderNotFound,
    RenderStatus,
)
from framekiln.renders.service import Renders
from framekiln.timeline import exact_rate

router = APIRouter(prefix="/api/v1", tags=["renders"])

MAX_HTML_BYTES = 16 << 20
# JSON can spell one byte of HTML with six.
MAX_BODY_BYTES = 6 * MAX_HTML_BYTES
# Progress is counted in thousandths; a client that adds them up must reach the sum only at the end.
PROGRESS_UNITS = 1000
HEARTBEAT_S = 15.0


def _even(value: int) -> int:
    if value % 2:
        raise ValueError("must be even: H.264 in 4:2:0 has no odd sizes")
    return value


Side = Annotated[
    int,
    Field(ge=2, le=LARGEST_SIDE_PX, json_schema_extra={"multipleOf": 2}),
    WHOLE,
    AfterValidator(_even),
]
Instant = Annotated[str, Field(json_schema_extra={"format": "date-time"})]


class VideoCodec(BaseModel):
    """`output.video`."""

    codec: Annotated[str, Field(pattern="^h264$")] = "h264"


class AudioCodec(BaseModel):
    """`output.audio`."""

    codec: Annotated[str, Field(pattern="^aac$")] = "aac"


class Mp4Output(BaseModel):
    """`output`: an MP4 with H.264 and AAC."""

    container: Annotated[str, Field(pattern="^mp4$")] = "mp4"
    video: VideoCodec = VideoCodec()
    audio: AudioCodec = AudioCodec()


class CreateRender(BaseModel):
    """The body of POST /api/v1/renders. Fields that clients add beyond these are ignored."""

    model_config = ConfigDict(extra="ignore")

    html: Annotated[str, Field(min_length=1, strict=True)]
    width: Side | None = None
    height: Side | None = None
    fps: Annotated[float, Field(ge=1, le=120), NUMBER] | None = None
    duration_ms: Annotated[int, Field(ge=1, le=LONGEST_MS), WHOLE] | None = None
    output: Mp4Output | None = None
    metadata: dict[str, str] = {}
    md5: str | None = None


class CreatedRender(BaseModel):
    """The answer of POST /api/v1/renders."""

    id: UUID
    md5: str | None
    status: RenderStatus
    metadata: dict[str, str]
    expires_at: Instant | None


class RenderError(BaseModel):
    """Why a render failed."""

    code: str
    message: str


class RenderInfo(CreatedRender):
    """The answer of GET /api/v1/renders/:id."""

    fps: float | None
    width: int | None
    height: int | None
    duration_ms: int | None
    byte_size: int | None
    created_at: Instant
    completed_at: Instant | None
    failed_at: Instant | None
    download_url: str | None
    error: RenderError | None
    warnings: list[str]


@router.post(
    "/renders", status_code=201, openapi_extra=json_body(CreateRender), summary="Create a render"
)
async def create_render(request: Request, caller: AuthenticatedCaller) -> CreatedRender:
    """Accept a composition; rendering begins at once."""
    body = await read_json(request, CreateRender, max_bytes=MAX_BODY_BYTES)
    if len(body.html.encode()) > MAX_HTML_BYTES:
        raise TooLarge(
            f"html is larger than {MAX_HTML_BYTES} bytes", field="html", limit_bytes=MAX_HTML_BYTES
        )
    asked = Asked(
        width_px=body.width,
        height_px=body.height,
        fps=None if body.fps is None else exact_rate(body.fps),
        duration_ms=body.duration_ms,
    )
    new = NewRender(html=body.html, asked=asked, metadata=body.metadata, md5=body.md5)
    render = await services_of(request).renders.create(caller, new)
    return CreatedRender(
        id=render.id,
        md5=render.md5,
        status=render.status,
        metadata=render.metadata,
        expires_at=None,
    )


@router.get("/renders/{render_id}/progress", response_class=sse.EventStream, summary="Follow it")
async def follow_render(request: Request, caller: AuthenticatedCaller, render_id: str) -> Response:
    """Stream progress until the render ends (server-sent events)."""
    renders = services_of(request).renders
    render = await renders.get(caller.organization.id, _render_id(render_id))
    return sse.stream_response(_progress_events(renders, render.id, request))


_FILM = {"content": {"video/mp4": {"schema": {"type": "string", "format": "binary"}}}}


@router.get(
    "/renders/{render_id}.mp4",
    summary="Download the MP4",
    response_class=Response,
    responses={
        200: {"description": "The whole film", **_FILM},
        206: {"description": "The part that `Range` asks for", **_FILM},
        304: {"description": "What the caller has is still right"},
    },
)
@router.head("/renders/{render_id}.mp4", include_in_schema=False)
@router.api_route("/renders/{render_id}/mp4", methods=["GET", "HEAD"], include_in_schema=False)
async def download_render(
    request: Request, caller: AuthenticatedCaller, render_id: str
) -> Response:
    """Send the output, whole or in ranges."""
    services = services_of(request)
    render = await services.renders.get(caller.organization.id, _render_id(render_id))
    if render.made is None or render.completed_at is None:
        raise RenderNotComplete(
            f"render {render.id} is {render.status}, so there is no output", status=render.status
        )
    return await blob_response(
        request,
        services.blobs,
        render.made.output_key,
        media_type="video/mp4",
        filename=f"{render.id}.mp4",
        etag=f"{render.id}-{render.fence}",
        last_modified=render.completed_at,
    )


@router.get("/renders/{render_id}", summary="What is known about a render")
async def get_render(request: Request, caller: AuthenticatedCaller, render_id: str) -> RenderInfo:
    """Return the render's state; safe to poll."""
    services = services_of(request)
    render = await services.renders.get(caller.organization.id, _render_id(render_id))
    return describe(render, base_url=services.settings.public_url)


def describe(render: Render, *, base_url: str) -> RenderInfo:
    """Return what callers see of a render: as made, or as asked while it is not made yet."""
    made, asked = render.made, render.asked
    fps = made.fps if made else asked.fps
    failure = render.failure
    return RenderInfo(
        id=render.id,
        md5=render.md5,
        status=render.status,
        metadata=render.metadata,
        expires_at=_iso(render.expires_at),
        fps=float(fps) if fps else None,
        width=made.width_px if made else asked.width_px,
        height=made.height_px if made else asked.height_px,
        duration_ms=made.duration_ms if made else asked.duration_ms,
        byte_size=made.byte_size if made else None,
        created_at=render.created_at.isoformat(),
        completed_at=_iso(render.completed_at),
        failed_at=_iso(render.failed_at),
        download_url=f"{base_url}/api/v1/renders/{render.id}.mp4" if made else None,
        error=RenderError(code=failure.code, message=failure.message) if failure else None,
        warnings=list(made.record.get("warnings", ())) if made else [],
    )


async def _progress_events(
    renders: Renders, render_id: RenderId, request: Request
) -> AsyncGenerator[bytes, None]:
    """Say the same twice, for both kinds of clients: as a fraction and as counted units."""
    yield sse.event("size", {"size": PROGRESS_UNITS})
    told = 0
    async with renders.follow(render_id) as follower:
        while True:
            progress = await renders.progress(render_id)
            if progress.status.is_terminal:
                yield _last_word(progress)
                return
            units = min(PROGRESS_UNITS - 1, int(progress.fraction * PROGRESS_UNITS))
            if units > told:
                yield sse.event("completion", {"count": units - told}) + sse.event(
                    "progress", {"progress": progress.fraction}
                )
                told = units
            if not await follower.wait(HEARTBEAT_S):
                yield sse.event("heartbeat", {"status": progress.status})
            if await request.is_disconnected():
                return


def _last_word(progress: Progress) -> bytes:
    """One write: a client may not survive bytes that come after it thinks it is done."""
    if progress.failure is not None:
        return sse.error_event(f"{progress.failure.code}: {progress.failure.message}")
    return sse.event("progress", {"progress": 1.0}) + sse.event("complete", {})


def _render_id(text: str) -> RenderId:
    found = parse_uuid(text)
    if found is None:
        raise RenderNotFound(f"there is no render {text[:100]!r}: ids are UUIDs")
    return RenderId(found)


def _iso(instant: Any) -> str | None:
    return instant.isoformat() if instant else None
