"""Events of videos for webhooks and callbacks, recorded in the transaction of the change."""

from dataclasses import dataclass
from typing import Any, Final

from framekiln.db.pool import Connection
from framekiln.renders.model import Render, RenderStatus
from framekiln.videos import store
from framekiln.videos.failures import video_failure
from framekiln.videos.model import Video
from framekiln.webhooks.callbacks import Callbacks
from framekiln.webhooks.model import Event
from framekiln.webhooks.outbox import Outbox

_CREATED: Final = "video.created"
_ENDINGS: Final = {
    RenderStatus.COMPLETE: "video.encoded",
    RenderStatus.FAILED: "video.failed",
}


@dataclass(frozen=True)
class VideoEvents:
    """Records webhook events of videos."""

    outbox: Outbox
    base_url: str
    callbacks: Callbacks

    async def record_created(self, connection: Connection, video: Video) -> None:
        """Record that a video was created; if its film exists already, also that it is ready."""
        await self._record(connection, video, _CREATED)
        await self._record_end(connection, video)

    async def on_render_changed(self, connection: Connection, render: Render) -> None:
        """Record an event for every video of a render that has ended."""
        if render.status in _ENDINGS:
            for record in await store.find_by_render(connection, render.id):
                await self._record_end(connection, Video(record, render))

    async def _record_end(self, connection: Connection, video: Video) -> None:
        topic = _ENDINGS.get(video.render.status)
        if topic is None:
            return
        await self._record(connection, video, topic)
        callback = video.record.config.get("callback")
        if callback is not None:
            await self.callbacks.send(connection, callback, self._event(video, topic))

    async def _record(self, connection: Connection, video: Video, topic: str) -> None:
        await self.outbox.record(connection, self._event(video, topic))

    def _event(self, video: Video, topic: str) -> Event:
        return Event(
            organization_id=video.record.organization_id,
            api_key_id=video.record.api_key_id,
            topic=topic,
            resource_id=video.id,
            data=event_data(video, base_url=self.base_url),
        )


def event_data(video: Video, *, base_url: str) -> dict[str, Any]:
    """Return a video in the format of events."""
    address = f"{base_url}/v2/videos/{video.id}"
    return {
        "id": video.id,
        "is_ready": video.is_ready,
        "is_failed": video.is_failed,
        "timestamp": int(video.record.created_at.timestamp()),
        "metadata": dict(video.record.metadata),
        "download_url": f"{address}/download" if video.is_ready else None,
        "stream_url": f"{address}/stream" if video.is_ready and video.is_streamable else None,
        "thumbnail_url": f"{address}/thumbnail" if video.is_ready else None,
        "error": _error(video),
    }


def _error(video: Video) -> dict[str, str | None] | None:
    failure = video_failure(video)
    if failure is None:
        return None
    return {
        "code": failure.code,
        "message": failure.message,
        "layer": failure.layer_id,
        "path": failure.path,
    }
