"""Webhook events of files, recorded in the transaction of each state change."""

from typing import Any, Final

from framekiln.db.pool import Connection
from framekiln.files import store
from framekiln.files.model import File, FileStatus
from framekiln.kit.clock import iso
from framekiln.kit.ids import FileId
from framekiln.webhooks.model import Event
from framekiln.webhooks.outbox import Outbox

SEALED: Final = "file.sealed"
_TOPICS: Final = {
    FileStatus.CREATED: "file.created",
    FileStatus.UPLOADING: "file.uploading",
    FileStatus.RECEIVING: "file.receiving",
    FileStatus.PROCESSING: "file.processing",
    FileStatus.READY: "file.ready",
    FileStatus.FAILED: "file.failed",
}


class FileEvents:
    """Records webhook events of files."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox

    async def record(
        self, connection: Connection, file_id: FileId, topic: str | None = None
    ) -> None:
        """Record the current state of a file, under the topic of that state or another."""
        file = await store.find_by_id(connection, file_id)
        if file is not None:
            event = Event(
                organization_id=file.organization_id,
                api_key_id=file.api_key_id,
                topic=topic or _TOPICS[file.status],
                resource_id=file.id,
                data=event_data(file),
            )
            await self._outbox.record(connection, event)


def event_data(file: File) -> dict[str, Any]:
    """Return the event data of a file."""
    return {
        "id": str(file.id),
        "type": str(file.type),
        "status": str(file.status),
        "filename": file.filename,
        "byte_size": file.byte_size,
        "md5": file.md5,
        "mime_type": file.media_type or file.mime_type,
        "width": file.width_px,
        "height": file.height_px,
        "expires_at": iso(file.expires_at),
    }
