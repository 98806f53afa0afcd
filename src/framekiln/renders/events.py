"""Events of renders: state changes are recorded for webhooks and passed to listeners.

Both happen in the transaction of the state change.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Final

from framekiln.db.condition import Condition
from framekiln.db.pool import Connection
from framekiln.kit.clock import iso
from framekiln.kit.ids import ApiKeyId, OrganizationId
from framekiln.renders.model import Render, RenderStatus, SourceKind
from framekiln.renders.output import container_of
from framekiln.webhooks.model import Event
from framekiln.webhooks.outbox import Outbox

RenderListener = Callable[[Connection, Render], Awaitable[None]]
"""Called when a render has ended."""

_TOPICS: Final = {
    RenderStatus.CREATED: "render.created",
    RenderStatus.QUEUED: "render.pending",
    RenderStatus.RENDERING: "render.rendering",
    RenderStatus.COMPLETE: "render.completed",
    RenderStatus.FAILED: "render.failed",
}


class RenderEvents:
    """Records webhook events for state changes of renders."""

    def __init__(self, outbox: Outbox, *, base_url: str) -> None:
        self._outbox = outbox
        self._base_url = base_url
        self._listeners: list[RenderListener] = []

    def add_listener(self, listener: RenderListener) -> None:
        """Add a listener; called while the services are opened."""
        self._listeners.append(listener)

    async def record(
        self, connection: Connection, render: Render, *, before: RenderStatus | None = None
    ) -> None:
        """Record that a render changed to its status from `before`."""
        # Recovering from a dead worker is not an event for the owner.
        is_taken_over = before is RenderStatus.RECOVERING and not render.status.is_terminal
        if render.status == before or is_taken_over:
            return
        if render.status.is_terminal:
            for listener in self._listeners:
                await listener(connection, render)
        topic = _TOPICS.get(render.status)
        # Nobody has asked for the render of a video, which has events of its own.
        if topic is not None and render.request.source_kind is not SourceKind.LAYERS:
            event = Event(
                organization_id=render.organization_id,
                api_key_id=render.api_key_id,
                topic=topic,
                resource_id=render.id,
                data=event_data(render, base_url=self._base_url),
            )
            await self._outbox.record(connection, event)

    def not_awaited(
        self, organization_id: OrganizationId, api_key_id: ApiKeyId | None
    ) -> Condition:
        """Return the condition under which nothing has to be recorded of a new render."""
        topic = _TOPICS[RenderStatus.CREATED]
        return self._outbox.without_subscribers(organization_id, api_key_id, topic)


def event_data(render: Render, *, base_url: str) -> dict[str, Any]:
    """Return the event data of a render: `md5` is that of the output, not the caller's."""
    is_queued = render.status is RenderStatus.QUEUED
    return {
        **render_summary(render, base_url=base_url),
        # The same word as in the topic.
        "status": "pending" if is_queued else str(render.status),
        "md5": render.result.md5 if render.result else None,
    }


def render_summary(render: Render, *, base_url: str) -> dict[str, Any]:
    """Return a render as JSON: as made, or as asked until it is made."""
    result, failure = render.result, render.failure
    shown = result or render.request
    url = f"{base_url}/api/v1/renders/{render.id}.{container_of(render.request.output)}"
    return {
        "id": str(render.id),
        "status": str(render.status),
        "created_at": iso(render.created_at),
        "completed_at": iso(render.completed_at),
        "failed_at": iso(render.failed_at),
        "width": shown.width_px,
        "height": shown.height_px,
        "fps": float(shown.fps) if shown.fps else None,
        "byte_size": result.byte_size if result else None,
        "duration_ms": result.duration_ms if result else None,
        "md5": render.request.md5,
        "metadata": render.request.metadata,
        "download_url": url if result else None,
        "expires_at": iso(render.request.expires_at),
        "error": {"code": failure.code, "message": failure.message} if failure else None,
    }
