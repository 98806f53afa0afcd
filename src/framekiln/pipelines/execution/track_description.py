"""Tracks of files as outputs of steps and requests to endpoints describe them (spec 4.7)."""

from typing import Any

from framekiln.db.pool import Connection
from framekiln.files.lookup import list_stream_tracks, list_tracks
from framekiln.files.model import File, FileStatus, Track


async def describe_tracks(connection: Connection, file: File) -> list[dict[str, Any]]:
    """Return the tracks of a file, also of one that still arrives."""
    if file.status is FileStatus.READY:
        tracks = await list_tracks(connection, file.id)
        return [describe_track(each) for each in tracks if each.track_id > 0 and each.is_complete]
    return [
        {
            "track_id": each.track_id,
            "type": each.type,
            "codec": each.codec_name,
            "duration_ms": None,
        }
        for each in await list_stream_tracks(connection, file.id)
    ]


def describe_track(track: Track) -> dict[str, Any]:
    """Return a track; what was not found out about it is left out."""
    described: dict[str, Any] = {
        "track_id": track.track_id,
        "type": track.type,
        "codec": track.codec_name,
        "duration_ms": track.duration_ms,
    }
    names = ("width", "height") if track.type == "video" else ("sample_rate", "channels")
    for name in names:
        value = track.probe_info.get(name)
        # ffprobe writes some numbers as text.
        if isinstance(value, int | str) and str(value).isdecimal():
            described[name] = int(value)
    return described
