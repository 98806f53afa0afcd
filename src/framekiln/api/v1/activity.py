"""GET /api/v1/activity: tells pages that show lists of an organization when to read them again."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Final

from fastapi import APIRouter, Request, Response

from framekiln.api import sse
from framekiln.api.auth import AuthenticatedCaller, repeated_authentication, services_of
from framekiln.db.notify import Notifications
from framekiln.kit.ids import OrganizationId

router = APIRouter(prefix="/api/v1", tags=["organization"])

PAUSE_S: Final = 0.5
"""Between two events: a flood of changes makes every open page read its list twice a second."""

MAX_STREAMS_PER_USER: Final = 100
MAX_STREAMS_PER_ORGANIZATION: Final = 1000
"""Apart from those of progress: an open dashboard must not keep anybody from following a render."""

KINDS: Final = ("bulk", "file", "pipeline_run", "render", "transcript_correction", "transcription")
"""What notifies: `videos/bulks` does it itself, triggers do it for the other tables."""


@router.get(
    "/activity",
    response_class=sse.EventStream,
    summary="Follow the activity of the organization",
)
async def follow_activity(request: Request, caller: AuthenticatedCaller) -> Response:
    """Stream `changed` whenever renders, bulks, files, transcriptions or runs change."""
    places: sse.StreamPlaces = request.app.state.activity_places
    place = places.take(
        caller, per_key=MAX_STREAMS_PER_USER, per_organization=MAX_STREAMS_PER_ORGANIZATION
    )
    notifications = services_of(request).notifications
    events = _events(notifications, caller.organization.id, request)
    return sse.stream_response(events, repeated_authentication(request, caller), place)


async def _events(
    notifications: Notifications, organization_id: OrganizationId, request: Request
) -> AsyncGenerator[bytes, None]:
    topics = {f"organization:{organization_id}:{kind}": kind for kind in KINDS}
    async with notifications.follow(*topics) as follower:
        # A page that has just connected again does not know what it has missed.
        yield sse.event("changed", {})
        while not await request.is_disconnected():
            is_changed = await follower.wait(sse.HEARTBEAT_S)
            if is_changed:
                kinds = sorted(topics[topic] for topic in follower.take_topics())
                yield sse.event("changed", {"kinds": kinds})
                await asyncio.sleep(PAUSE_S)
            else:
                yield sse.event("heartbeat", {})
