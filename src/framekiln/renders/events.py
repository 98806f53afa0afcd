"""Events of renders: state changes are recorded for webhooks and passed to listeners.

Told in the transaction of the change itself: either both happen or neither.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Final

from framekiln.db.pool import Connection
from framekiln.kit.clock import iso
from framekiln.renders.model import Render, RenderStatus
from framekiln.renders.output import container_of
from framekiln.webhooks.model import Event
from framekiln.webhooks.outbox import Outbox

RenderListener = Callable[[Connection, Render], Awaitable[None]]

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
        """Have somebody else told too; called while everything is put together."""
        self._listeners.append(listener)

    async def record(
        self, connection: Connection, render: Render, *, before: RenderStatus | None = None
    ) -> None:
        """Say that a render has come into its state, from the one `before`."""
        # Recovering from a dead worker is not an event for the owner.
        is_taken_over = before is RenderStatus.RECOVERING and not render.status.is_terminal
        if render.status == before or is_taken_over:
            return
        for listener in self._listeners:
            await listener(connection, render)
        topic = _TOPICS.get(render.status)
        if topic is not None:
            event = Event(
                organization_id=render.organization_id,
                api_key_id=render.api_key_id,
                topic=topic,
                resource_id=render.id,
                data=event_data(render, base_url=self._base_url),
            )
            await self._outbox.record(connection, event)


def event_data(render: Render, *, base_url: str) -> dict[str, Any]:
    """Return a render as receivers of events see it."""
    made, asked, failure = render.result, render.options, render.failure
    fps = made.fps if made else asked.fps
    url = f"{base_url}/api/v1/renders/{render.id}.{container_of(render.output)}"
    return {
        "id": str(render.id),
        "status": str(render.status),
        "created_at": iso(render.created_at),
        "completed_at": iso(render.completed_at),
        "failed_at": iso(render.failed_at),
        "width": made.width_px if made else asked.width_px,
        "height": made.height_px if made else asked.height_px,
        "fps": float(fps) if fps else None,
        "byte_size": made.byte_size if made else None,
        "duration_ms": made.duration_ms if made else None,
        "md5": render.md5,
        "metadata": render.metadata,
        "download_url": url if made else None,
        "expires_at": iso(render.expires_at),
        "error": {"code": failure.code, "message": failure.message} if failure else None,
    }
