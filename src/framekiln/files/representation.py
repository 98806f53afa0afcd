"""The JSON of a file, for callers, and for pages during a render. Pure."""

from collections.abc import Sequence
from typing import Any

from framekiln.files.model import File, Track
from framekiln.kit.clock import iso


def file_summary(file: File) -> dict[str, Any]:
    """Return the fields of every response about a file."""
    return {
        "id": str(file.id),
        "filename": file.filename,
        "type": file.type,
        "status": file.status,
        "byte_size": file.byte_size,
        "md5": file.md5,
        "next_byte": file.next_byte,
        "expires_at": iso(file.expires_at),
    }


def file_detail(file: File, tracks: Sequence[Track]) -> dict[str, Any]:
    """Return all fields; the scrub track is not listed with the file's own tracks."""
    failure = file.failure
    return {
        **file_summary(file),
        "mime_type": file.mime_type or file.media_type,
        "width": file.width_px,
        "height": file.height_px,
        "duration_ms": file.duration_ms,
        "created_at": file.created_at.isoformat(),
        "completed_at": iso(file.completed_at),
        "failed_at": iso(file.failed_at),
        "error": {"code": failure.code, "message": failure.message} if failure else None,
        "tracks": [_track(track) for track in tracks if track.track_id > 0],
    }


def _track(track: Track) -> dict[str, Any]:
    return {
        "track_id": track.track_id,
        "type": track.type,
        "codec_name": track.codec_name,
        "duration_ms": track.duration_ms,
        "byte_size": track.byte_size,
    }
