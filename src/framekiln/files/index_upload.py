"""Checks an uploaded index in a confined child, and that the tracks it names are playable."""

from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Final

from framekiln.db.notify import notify
from framekiln.db.pool import Connection
from framekiln.files import store, track_store
from framekiln.files.errors import InvalidIndex
from framekiln.files.events import FileEvents
from framekiln.files.fragment_index import FRAGMENT_INDEX_TASK
from framekiln.files.model import (
    MAX_INDEX_BYTES,
    File,
    FileFacts,
    Track,
    WaitingIndex,
    progress_topic,
    track_key,
)
from framekiln.jobs.failures import failure_of
from framekiln.kit.confined.limits import ResourceLimits
from framekiln.kit.confined.run import run_confined
from framekiln.kit.ids import FileId
from framekiln.storage.blob_store import BlobStore

_LIMITS: Final = ResourceLimits(
    cpu_s=30, memory_bytes=1 << 30, file_bytes=2 * MAX_INDEX_BYTES, wall_s=120
)
_MATROSKA: Final = b"\x1a\x45\xdf\xa3"


@dataclass(frozen=True)
class CheckedIndex:
    """An index that is served, and the facts of the file in it."""

    path: Path
    facts: FileFacts
    needs: Mapping[int, int]
    """For each track that is not uploaded yet: the number of bytes that the index needs."""


async def check_uploaded_index(
    file: File, tracks: list[Track], uploaded: Path, *, blobs: BlobStore
) -> CheckedIndex:
    """Return the accepted index; it is written next to the uploaded one.

    Only a file that is not being processed can wait for missing tracks.
    """
    sizes = {str(track.track_id): track.byte_size for track in tracks if track.is_complete}
    accepted = uploaded.with_name("accepted.json")
    result = await run_confined(
        FRAGMENT_INDEX_TASK,
        {
            "uploaded": uploaded.name,
            "accepted": accepted.name,
            "sizes": sizes,
            "may_wait": file.status.can_await_tracks,
        },
        limits=_LIMITS,
        folder=uploaded.parent,
    )
    needs = {int(track_id): size_bytes for track_id, size_bytes in result["needs"].items()}
    for track_id in result["tracks"]:
        key = track_key(file.organization_id, file.id, track_id)
        if track_id not in needs and not await is_playable_track(blobs, key):
            raise not_mp4(track_id)
    facts = FileFacts(
        media_type="video/mp4" if result["width"] else "audio/mp4",
        width_px=result["width"],
        height_px=result["height"],
        duration_ms=result["duration_ms"],
    )
    return CheckedIndex(accepted, facts, needs)


async def is_playable_track(blobs: BlobStore, key: str) -> bool:
    """Return whether a track is an MP4, or a WebM, as tracks with alpha are."""
    head = b""
    async with aclosing(blobs.stream(key, end=8)) as chunks:
        async for chunk in chunks:
            head += chunk
    return head[4:8] in (b"ftyp", b"styp") or head[:4] == _MATROSKA


def not_mp4(track_id: int) -> InvalidIndex:
    """Return the error for a track that is not an MP4."""
    return InvalidIndex(f"track {track_id} is not an MP4 file")


async def apply_index(
    connection: Connection,
    file_id: FileId,
    index: WaitingIndex,
    *,
    events: FileEvents,
    now: datetime,
) -> None:
    """Make the file ready if its index needs no more tracks; else store the waiting index."""
    if index.needs:
        await track_store.put_waiting_index(connection, file_id, index)
        return
    await track_store.delete_waiting_index(connection, file_id)
    if await store.set_ready(connection, file_id, index.facts, has_source=False, now=now):
        await events.record(connection, file_id)
    await notify(connection, progress_topic(file_id))


async def apply_completed_track(
    connection: Connection, track: Track, *, is_mp4: bool, events: FileEvents, now: datetime
) -> None:
    """Match a completed track against a waiting index; the file may become ready, or fail."""
    file_id = track.file_id
    index = await track_store.find_waiting_index(connection, file_id)
    if index is None or track.track_id not in index.needs:
        return
    error = _index_mismatch(index, track, is_mp4=is_mp4)
    if error is None:
        needs = {each: size for each, size in index.needs.items() if each != track.track_id}
        await apply_index(connection, file_id, replace(index, needs=needs), events=events, now=now)
        return
    await track_store.delete_waiting_index(connection, file_id)
    if await store.fail(connection, file_id, failure_of(error), now=now):
        await events.record(connection, file_id)
    await notify(connection, progress_topic(file_id))


def _index_mismatch(index: WaitingIndex, track: Track, *, is_mp4: bool) -> InvalidIndex | None:
    needed = index.needs[track.track_id]
    if track.byte_size < needed:
        return InvalidIndex(
            f"the index needs {needed} bytes of track {track.track_id}, which has"
            f" {track.byte_size}: upload a matching index"
        )
    return None if is_mp4 else not_mp4(track.track_id)
