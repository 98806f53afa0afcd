"""Webhook events of files, recorded in the transaction of each state change."""

from collections.abc import Mapping
from typing import Any, Final

from framekiln.db.pool import Connection
from framekiln.files import store
from framekiln.files.model import File, FileStatus, OlderType, Track
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
            await self._send(connection, file, topic or _TOPICS[file.status], event_data(file))

    async def record_older(self, connection: Connection, file: File, older_type: OlderType) -> None:
        """Record that a file was registered, in the form of older clients."""
        await self._send(connection, file, f"{older_type}.created", older_data(file, older_type))

    async def record_track(self, connection: Connection, file: File, track: Track) -> None:
        """Record that a track was added, in the form of older clients."""
        await self._send(connection, file, "isobmff_track.created", track_data(track))

    async def _send(
        self, connection: Connection, file: File, topic: str, data: Mapping[str, Any]
    ) -> None:
        event = Event(
            organization_id=file.organization_id,
            api_key_id=file.api_key_id,
            topic=topic,
            resource_id=file.id,
            data=data,
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


def older_data(file: File, older_type: OlderType) -> dict[str, Any]:
    """Return the event data of a file in the form of older clients."""
    data: dict[str, Any] = {"id": str(file.id), "filename": file.filename, "md5": file.md5}
    match older_type:
        case OlderType.UNPROCESSED:
            completed_at = iso(file.completed_at)
            data |= {"byte_size": file.byte_size, "next_byte": file.next_byte}
            return data | {"completed_at": completed_at}
        case OlderType.IMAGE:
            data |= {"byte_size": file.byte_size, "mime_type": file.mime_type}
            return data | {"width": file.width_px, "height": file.height_px}
        case OlderType.ISOBMFF:
            return data


def track_data(track: Track) -> dict[str, Any]:
    """Return the event data of a track."""
    return {
        "file_id": str(track.file_id),
        "track_id": track.track_id,
        "type": track.type,
        "codec_name": track.codec_name,
        "byte_size": track.byte_size,
        "duration_ms": track.duration_ms,
    }
