"""Checks an uploaded index in a confined child, and that the tracks it names are what they say."""

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


async def check_uploaded_index(
    file: File, tracks: list[Track], uploaded: Path, *, blobs: BlobStore
) -> CheckedIndex:
    """Return what is accepted of an index; it stands beside the uploaded one."""
    sizes = {str(track.track_id): track.byte_size for track in tracks if track.is_complete}
    accepted = uploaded.with_name("accepted.json")
    told = await run_confined(
        "framekiln.files.fragment_index:task",
        {"uploaded": uploaded.name, "accepted": accepted.name, "sizes": sizes},
        limits=_LIMITS,
        folder=uploaded.parent,
    )
    for track_id in told["tracks"]:
        await _check_head(blobs, file, int(track_id))
    facts = Facts(
        media_type="video/mp4" if told["width"] else "audio/mp4",
        width_px=told["width"],
        height_px=told["height"],
        duration_ms=told["duration_ms"],
    )
    return CheckedIndex(accepted, facts)


async def _check_head(blobs: BlobStore, file: File, track_id: int) -> None:
    head = b""
    key = track_key(file.organization_id, file.id, track_id)
    async with aclosing(blobs.stream(key, end=8)) as chunks:
        async for chunk in chunks:
            head += chunk
    if head[4:8] not in (b"ftyp", b"styp") and head[:4] != _MATROSKA:
        raise InvalidIndex(f"track {track_id} is no MP4: it does not begin as one")
