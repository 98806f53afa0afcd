"""Reads consecutive fragments of a streamed upload as a playable MP4, during and after the upload.

The MP4 is the init segment of a track and some consecutive fragments. Before the file is ready
they are separate blobs; afterwards they are in the track file, in the same order.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from pathlib import Path

from framekiln.files.model import File, FileStatus, track_key
from framekiln.files.streams.model import Stream, StreamedFragment
from framekiln.kit.atomic_file import atomic_file
from framekiln.storage.blob_store import BlobStore


async def fetch_fragments(
    blobs: BlobStore, stream: Stream, fragments: Sequence[StreamedFragment], path: Path
) -> None:
    """Write consecutive fragments of one track to a local MP4.

    Raises `BlobNotFound` when the file became ready or was deleted meanwhile: read the stream
    again then.
    """
    track_id = fragments[0].track_id
    init = next(track.init for track in stream.tracks if track.track_id == track_id)
    assert init is not None, "a track with fragments has an init segment"
    async with atomic_file(path) as write:
        await write(init)
        async with aclosing(_bytes_of(blobs, stream.file, fragments)) as chunks:
            async for chunk in chunks:
                await write(chunk)


async def _bytes_of(
    blobs: BlobStore, file: File, fragments: Sequence[StreamedFragment]
) -> AsyncGenerator[bytes, None]:
    if file.status is FileStatus.READY:
        key = track_key(file.organization_id, file.id, fragments[0].track_id)
        start, last = fragments[0].first_byte, fragments[-1]
        async with aclosing(
            blobs.stream(key, start=start, end=last.first_byte + last.byte_size)
        ) as chunks:
            async for chunk in chunks:
                yield chunk
        return
    for fragment in fragments:
        async with aclosing(blobs.stream(fragment.blob_key)) as chunks:
            async for chunk in chunks:
                yield chunk
