"""/api/v1/renders/{render_id}/slices, /request and /again: how a render was made, and once more."""

import json
from typing import Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field

from framekiln.api.auth import AuthenticatedCaller, services_of
from framekiln.api.v1.render_bodies import CreatedRender, Instant
from framekiln.api.v1.renders import parse_render_id
from framekiln.kit.clock import iso
from framekiln.renders.model import Render
from framekiln.renders.output import FilmFormat, output_as_json, preset_of
from framekiln.renders.slice_state import RenderSlice

router = APIRouter(prefix="/api/v1", tags=["renders"])


class ConsoleLine(BaseModel):
    """A line that a script of the page wrote to its console."""

    level: str
    text: str


class SliceInfo(BaseModel):
    """One slice of a render."""

    number: int
    first_frame: int
    frame_count: int
    frames_done: int
    status: str = Field(description="`todo`, `taken` by a worker, or `done`.")
    attempt: int = Field(description="How many workers have taken it.")
    method: str | None = Field(
        description="`captured` in Chromium, `composed` from its layers, or `copied` from an equal"
        " slice of another render; null until it is done."
    )
    captured_frames: int | None = Field(
        description="Frames that Chromium drew; others repeat the one before."
    )
    composed_frames: int | None
    reason: str | None = Field(description="Why a slower method was used, if one was.")
    taken_at: Instant | None
    finished_at: Instant | None
    console: list[ConsoleLine] = Field(description="At most 100 lines, the last ones.")

    @classmethod
    def of(cls, slice_: RenderSlice) -> "SliceInfo":
        """Describe a slice."""
        return cls(
            number=slice_.number,
            first_frame=slice_.first_frame,
            frame_count=slice_.frame_count,
            frames_done=slice_.frames_done,
            status=slice_.status,
            attempt=slice_.attempt,
            method=slice_.method,
            captured_frames=slice_.record.get("captured_frames"),
            composed_frames=slice_.record.get("composed_frames"),
            reason=slice_.reason,
            taken_at=iso(slice_.taken_at),
            finished_at=iso(slice_.finished_at),
            console=[ConsoleLine(**line) for line in slice_.console],
        )


class SliceList(BaseModel):
    """The slices of a render, in order; empty until it is planned, and for stills."""

    slices: list[SliceInfo]


class StoredRequest(BaseModel):
    """What a render was asked to be, without its composition."""

    source: str = Field(description="`html` or `bundle`; `layers` and `redaction` are internal.")
    width: int | None
    height: int | None
    fps: float | None
    duration_ms: int | None
    output: dict[str, Any]
    preset: str
    work_slice_ms: int
    metadata: dict[str, str]
    data: dict[str, Any] | None

    @classmethod
    def of(cls, render: Render, data: bytes | None) -> "StoredRequest":
        """Describe a request."""
        asked = render.request
        output = output_as_json(asked.output)
        if isinstance(asked.output, FilmFormat):
            output.pop("preset", None)
        return cls(
            source=str(asked.source_kind),
            width=asked.width_px,
            height=asked.height_px,
            fps=None if asked.fps is None else float(asked.fps),
            duration_ms=asked.duration_ms,
            output=output,
            preset=str(preset_of(asked.output)),
            work_slice_ms=asked.slice_ms,
            metadata=asked.metadata,
            data=None if data is None else json.loads(data),
        )


@router.get("/renders/{render_id}/slices", summary="List the slices of a render")
async def list_slices(request: Request, caller: AuthenticatedCaller, render_id: str) -> SliceList:
    """Return the state, the progress and the console of each slice; safe to poll."""
    renders = services_of(request).renders
    render = await renders.get(caller.organization.id, parse_render_id(render_id))
    return SliceList(slices=[SliceInfo.of(each) for each in await renders.slices(render.id)])


@router.get("/renders/{render_id}/request", summary="Show what a render was asked to be")
async def get_request(
    request: Request, caller: AuthenticatedCaller, render_id: str
) -> StoredRequest:
    """Return size, rate, length, output and data as they were sent; null where none was."""
    services = services_of(request)
    render = await services.renders.get(caller.organization.id, parse_render_id(render_id))
    data = None if render.data_key is None else await services.blobs.get(render.data_key)
    return StoredRequest.of(render, data)


@router.post(
    "/renders/{render_id}/again", status_code=201, summary="Render the same composition again"
)
async def repeat_render(
    request: Request, caller: AuthenticatedCaller, render_id: str
) -> CreatedRender:
    """Create a render with the composition, the data and the settings of another."""
    renders = services_of(request).renders
    render = await renders.get(caller.organization.id, parse_render_id(render_id))
    return CreatedRender.of(await renders.repeat(caller, render))
