"""Excerpts of streamed uploads: the received media between two times, as one fragmented MP4.

They are available during the upload, and have the same bytes later. They consist of whole
fragments, so an excerpt may begin earlier and end later than requested; its times are those of the
file.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import cached_property

from framekiln.db.pool import Database
from framekiln.files.errors import FileExpired, FileNotReady, TrackNotFound
from framekiln.files.model import File, FileStatus, track_key
from framekiln.files.streams import store
from framekiln.files.streams.errors import ExcerptEmpty
from framekiln.files.streams.model import Stream, StreamedFragment, StreamTrack
from framekiln.kit.clock import Clock
from framekiln.kit.errors import InvalidInput
from framekiln.media.isobmff.track_merge import TrackRenumberer, merge_init_segments
from framekiln.storage.blob_store import BlobStore
from framekiln.storage.errors import BlobNotFound


@dataclass(frozen=True)
class ExcerptRange:
    """The requested range; without a track number, of all tracks that are played."""

    from_ms: int
    to_ms: int
    track_id: int | None = None

    def __post_init__(self) -> None:
        if self.to_ms <= self.from_ms:
            raise InvalidInput("to_ms: must be more than from_ms", field="to_ms")


@dataclass(frozen=True)
class Excerpt:
    """The fragments of an excerpt, and their size."""

    file: File
    tracks: Sequence[StreamTrack]
    fragments: Sequence[StreamedFragment]

    @cached_property
    def init(self) -> bytes:
        """The init segment of all its tracks."""
        return merge_init_segments({each.track_id: each.init or b"" for each in self.tracks})

    @property
    def size_bytes(self) -> int:
        """The size of the whole excerpt; fragments keep their sizes."""
        return len(self.init) + sum(each.byte_size for each in self.fragments)

    @property
    def media_type(self) -> str:
        """Video if there is a video track, else audio."""
        has_pictures = any(each.type == "video" for each in self.tracks)
        return "video/mp4" if has_pictures else "audio/mp4"


class Excerpts:
    """Reads excerpts of the streams of all organizations."""

    def __init__(self, database: Database, *, blobs: BlobStore, clock: Clock) -> None:
        self._database = database
        self._blobs = blobs
        self._clock = clock

    async def find(self, stream: Stream, span: ExcerptRange) -> Excerpt:
        """Return the excerpt of a span, or raise when it is not available, or not yet."""
        tracks = _requested_tracks(stream, span)
        self._check_arrived(stream.file, tracks, span)
        async with self._database.connection() as connection:
            fragments = await store.list_fragments_between(
                connection, stream.file.id, from_ms=span.from_ms, to_ms=span.to_ms
            )
        numbers = {each.track_id for each in tracks}
        found = [each for each in fragments if each.track_id in numbers]
        if not found:
            raise ExcerptEmpty(f"the file has nothing between {span.from_ms} and {span.to_ms} ms")
        there = {each.track_id for each in found}
        return Excerpt(stream.file, [each for each in tracks if each.track_id in there], found)

    def _check_arrived(self, file: File, tracks: Sequence[StreamTrack], span: ExcerptRange) -> None:
        """Refuse a span that is not completely received: half of it would look like all of it."""
        if file.has_expired(self._clock.now()):
            raise FileExpired(f"file {file.id} has expired")
        if file.status is FileStatus.FAILED:
            raise FileNotReady(f"file {file.id} has failed", status=file.status)
        arrived_ms = min(each.end_ms or 0 for each in tracks)
        if file.status is FileStatus.RECEIVING and arrived_ms < span.to_ms:
            raise FileNotReady(
                f"file {file.id} is receiving and has {arrived_ms} ms so far, not yet"
                f" {span.to_ms} ms",
                status=file.status,
                available_ms=arrived_ms,
            )

    async def read(self, excerpt: Excerpt) -> AsyncGenerator[bytes, None]:
        """Yield the bytes of an excerpt; only the headers before the samples are buffered."""
        yield excerpt.init
        for sequence, fragment in enumerate(excerpt.fragments, 1):
            renumbering = TrackRenumberer(fragment.track_id, sequence=sequence)
            async with aclosing(self._read(excerpt.file, fragment)) as chunks:
                async for chunk in chunks:
                    if ready := renumbering.feed(chunk):
                        yield ready

    async def _read(self, file: File, fragment: StreamedFragment) -> AsyncGenerator[bytes, None]:
        if file.status is not FileStatus.READY:
            try:
                async with aclosing(self._blobs.stream(fragment.blob_key)) as chunks:
                    async for chunk in chunks:
                        yield chunk
            except BlobNotFound:
                # The file just became ready: its fragments are now in track files.
                pass
            else:
                return
        key = track_key(file.organization_id, file.id, fragment.track_id)
        end = fragment.first_byte + fragment.byte_size
        async with aclosing(self._blobs.stream(key, start=fragment.first_byte, end=end)) as chunks:
            async for chunk in chunks:
                yield chunk


def _requested_tracks(stream: Stream, span: ExcerptRange) -> list[StreamTrack]:
    if span.track_id is None:
        return stream.tracks
    found = [each for each in stream.tracks if each.track_id == span.track_id]
    if not found:
        raise TrackNotFound(f"the stream {stream.file.id} has no track {span.track_id}")
    return found
