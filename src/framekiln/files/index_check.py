"""Checks an uploaded index in a confined child, and that the tracks it names are what they say."""

from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from framekiln.files.errors import InvalidIndex
from framekiln.files.model import MAX_INDEX_BYTES, Facts, File, Track, track_key
from framekiln.kit.confined.limits import Limits
from framekiln.kit.confined.run import run_confined
from framekiln.storage.blob_store import BlobStore

_LIMITS: Final = Limits(cpu_s=30, memory_bytes=1 << 30, file_bytes=2 * MAX_INDEX_BYTES, wall_s=120)
_MATROSKA: Final = b"\x1a\x45\xdf\xa3"


@dataclass(frozen=True)
class CheckedIndex:
    """An index as it will be served, and what it says of the file."""

    path: Path
    facts: Facts
    needs: Mapping[int, int]
    """By the number of each track that has not come: how many bytes the index needs of it."""


async def check_uploaded_index(
    file: File, tracks: list[Track], uploaded: Path, *, blobs: BlobStore
) -> CheckedIndex:
    """Return what is accepted of an index; it stands beside the uploaded one.

    Only a file of which nothing has been made can wait for tracks that are missing.
    """
    sizes = {str(track.track_id): track.byte_size for track in tracks if track.is_complete}
    accepted = uploaded.with_name("accepted.json")
    told = await run_confined(
        "framekiln.files.fragment_index:task",
        {
            "uploaded": uploaded.name,
            "accepted": accepted.name,
            "sizes": sizes,
            "may_wait": file.status.can_await_tracks,
        },
        limits=_LIMITS,
        folder=uploaded.parent,
    )
    needs = {int(track_id): size_bytes for track_id, size_bytes in told["needs"].items()}
    for track_id in told["tracks"]:
        key = track_key(file.organization_id, file.id, track_id)
        if track_id not in needs and not await begins_as_mp4(blobs, key):
            raise no_mp4(track_id)
    facts = Facts(
        media_type="video/mp4" if told["width"] else "audio/mp4",
        width_px=told["width"],
        height_px=told["height"],
        duration_ms=told["duration_ms"],
    )
    return CheckedIndex(accepted, facts, needs)


async def begins_as_mp4(blobs: BlobStore, key: str) -> bool:
    """Whether a track begins as players expect it: as MP4, or as WebM where it has alpha."""
    head = b""
    async with aclosing(blobs.stream(key, end=8)) as chunks:
        async for chunk in chunks:
            head += chunk
    return head[4:8] in (b"ftyp", b"styp") or head[:4] == _MATROSKA


def no_mp4(track_id: int) -> InvalidIndex:
    """Return the error that an index names a track which is none."""
    return InvalidIndex(f"track {track_id} is no MP4: it does not begin as one")
