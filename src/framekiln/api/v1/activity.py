"""GET /api/v1/activity: tells pages that show lists of an organization when to read them again."""

import asyncio
import time
from collections.abc import AsyncGenerator
from typing import Final

from fastapi import APIRouter, Request, Response

from framekiln.api import sse
from framekiln.api.auth import AuthenticatedCaller, require_still_valid, services_of
from framekiln.api.progress import HEARTBEAT_S, take_stream_place
from framekiln.db.notify import Notifications
from framekiln.kit.errors import Unauthenticated
from framekiln.kit.ids import OrganizationId

router = APIRouter(prefix="/api/v1", tags=["organization"])

PAUSE_S: Final = 0.5
"""Between two events: a flood of changes makes every open page read its list twice a second."""


@router.get(
    "/activity",
    response_class=sse.EventStream,
    summary="Follow the activity of the organization",
)
async def follow_activity(request: Request, caller: AuthenticatedCaller) -> Response:
    """Stream `changed` whenever renders, files, transcriptions or runs appear, change or end."""
    place = take_stream_place(request, caller)
    notifications = services_of(request).notifications
    return sse.stream_response(_events(notifications, caller.organization.id, request), place)


async def _events(
    notifications: Notifications, organization_id: OrganizationId, request: Request
) -> AsyncGenerator[bytes, None]:
    async with notifications.follow(f"organization:{organization_id}") as follower:
        # A page that has just connected again does not know what it has missed.
        yield sse.event("changed", {})
        checked_at_s = time.monotonic()
        while not await request.is_disconnected():
            is_changed = await follower.wait(HEARTBEAT_S)
            if time.monotonic() - checked_at_s >= HEARTBEAT_S:
                try:
                    await require_still_valid(request)
                except Unauthenticated as error:
                    yield sse.error_event(error.message)
                    return
                checked_at_s = time.monotonic()
            yield sse.event("changed" if is_changed else "heartbeat", {})
            if is_changed:
                await asyncio.sleep(PAUSE_S)
