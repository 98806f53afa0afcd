"""/api/v1/telemetry and /api/v1/feedback: reports that tools of existing clients send.

They are not stored. Telemetry is dropped; feedback is written to the log, for the operator.
"""

from typing import Annotated, Any, Final
from uuid import UUID

import structlog
from fastapi import APIRouter, Request
from pydantic import BaseModel, Field

from framekiln.api.auth import AuthenticatedCaller, services_of
from framekiln.api.bodies import SuccessAnswer, json_body, read_json
from framekiln.api.unknown_fields import RequestBody, WarningRoute
from framekiln.api.v1.names import VISIBLE
from framekiln.api.v1.render_bodies import Instant
from framekiln.kit.ids import new_uuid

router = APIRouter(prefix="/api/v1", tags=["clients"], route_class=WarningRoute)

MAX_BODY_BYTES: Final = 64 << 10
_MAX_LOGGED_CHARS: Final = 2000

Text = Annotated[str, Field(max_length=20_000, strict=True)]

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class Telemetry(BaseModel):
    """An event of a client, with any fields."""

    event_type: Annotated[str, Field(max_length=100, strict=True)]


class Feedback(RequestBody):
    """Feedback about the service."""

    category: Annotated[str, Field(min_length=1, max_length=100, strict=True), VISIBLE]
    summary: Annotated[str, Field(min_length=1, max_length=1000, strict=True), VISIBLE]
    details: Text
    workaround: Text | None = None
    skill: Text | None = None
    context: Any = None


class FeedbackReceived(BaseModel):
    """The id of the feedback in the log."""

    id: UUID
    created_at: Instant


@router.post(
    "/telemetry",
    status_code=202,
    openapi_extra=json_body(Telemetry, names_unknown=False),
    summary="Accept an event of a client and drop it",
)
async def take_telemetry(request: Request) -> SuccessAnswer:
    """Accept the telemetry of players and tools; no key is needed."""
    await read_json(request, Telemetry, max_bytes=MAX_BODY_BYTES)
    request.state.unknown_fields = []
    return SuccessAnswer(success=True)


@router.post(
    "/feedback",
    status_code=201,
    openapi_extra=json_body(Feedback),
    summary="Send feedback to the operator",
)
async def take_feedback(request: Request, _caller: AuthenticatedCaller) -> FeedbackReceived:
    """Write feedback to the log, shortened; it is not stored elsewhere."""
    body = await read_json(request, Feedback, max_bytes=MAX_BODY_BYTES)
    received = FeedbackReceived(
        id=new_uuid(), created_at=services_of(request).clock.now().isoformat()
    )
    fields = {
        name: str(value)[:_MAX_LOGGED_CHARS]
        for name, value in body.model_dump().items()
        if value is not None
    }
    log.info("feedback.received", feedback_id=str(received.id), **fields)
    return received
