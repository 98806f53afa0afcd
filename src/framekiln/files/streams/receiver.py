"""Receives the init segments and fragments of streamed uploads.

Every fragment gets a new blob and is recorded under the file's row lock if it follows the last
one. So of two concurrent clients one is ahead, and what the other sends again changes nothing:
fragments are never mixed up.
"""

import asyncio
import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from framekiln.db.notify import notify
from framekiln.db.pool import Connection, Database
from framekiln.files import store as file_store
from framekiln.files.errors import FileExpired, TrackNotFound
from framekiln.files.model import MAX_BYTES, File, FileStatus, FileType, progress_topic
from framekiln.files.service import file_not_found
from framekiln.files.streams import store
from framekiln.files.streams.errors import (
    DigestMismatch,
    FragmentDiffers,
    FragmentGap,
    InitMissing,
    StreamClosed,
    StreamNotFound,
)
from framekiln.files.streams.model import (
    MAX_FRAGMENTS,
    StreamedFragment,
    StreamTrack,
    chained_digest,
    stream_prefix,
)
from framekiln.files.streams.validation import check_fragment, check_init, presentation_ms
from framekiln.kit.clock import Clock
from framekiln.kit.errors import TooLarge
from framekiln.kit.ids import FileId, OrganizationId
from framekiln.media.isobmff.track_init import parse_init
from framekiln.storage.blob_store import BlobStore
from framekiln.storage.keys import NewKey, new_key
from framekiln.storage.new_blobs import NewBlobs

_MAX_BYTES: Final = MAX_BYTES[FileType.VIDEO]


@dataclass(frozen=True)
class StreamTrackRef:
    """One track of a streamed upload."""

    organization_id: OrganizationId
    file_id: FileId
    track_id: int


@dataclass(frozen=True)
class ReceivedBody:
    """A received body, and the digest that the client declared."""

    path: Path
    sha256: bytes


class StreamReceiver:
    """Receives init segments and fragments of streamed uploads."""

    def __init__(self, database: Database, *, blobs: BlobStore, clock: Clock) -> None:
        self._database = database
        self._new_blobs = NewBlobs(database, blobs, clock)
        self._clock = clock

    async def put_init(self, place: StreamTrackRef, body: ReceivedBody) -> tuple[StreamTrack, bool]:
        """Store the init segment of a track; return whether it is new."""
        await _check_digest(body)
        data = await asyncio.to_thread(body.path.read_bytes)
        async with self._database.transaction() as connection:
            file, track = await self._lock(connection, place)
            if track.init is not None:
                if track.init != data:
                    raise FragmentDiffers(
                        f"track {track.track_id} has another init segment: this is not the media"
                        " that the stream began with",
                        next=track.next_number,
                    )
                return track, False
            self._check_open(file)
            facts = await asyncio.to_thread(check_init, data, track.type)
            track = replace(track, sha256=chained_digest(None, body.sha256))
            await store.set_init(connection, track, data, facts=facts, now=self._clock.now())
            return await _track(connection, place), True

    async def put_fragment(
        self, place: StreamTrackRef, number: int, body: ReceivedBody
    ) -> tuple[StreamTrack, bool]:
        """Store a fragment if it follows the last one; return whether it is new."""
        await _check_digest(body)
        async with self._database.connection() as connection:
            file = await file_store.find(connection, place.organization_id, place.file_id)
            if file is None:
                raise file_not_found(place.file_id)
            track = await _track(connection, place)
            if await self._has(connection, file, track, number=number, sha256=body.sha256):
                return track, False
        folder = stream_prefix(place.organization_id, place.file_id)
        key = new_key(f"{folder}/{track.track_id}", str(track.next_number))
        fragment = await asyncio.to_thread(_verified, track, body, key)
        await self._new_blobs.put_file(key, body.path)
        async with self._new_blobs.recording(key):
            track, is_new = await self._record(place, fragment)
        if not is_new:
            await self._new_blobs.discard(key)
        return track, is_new

    async def _record(
        self, place: StreamTrackRef, fragment: StreamedFragment
    ) -> tuple[StreamTrack, bool]:
        number, sha256 = fragment.number, fragment.sha256
        async with self._database.transaction() as connection:
            file, track = await self._lock(connection, place)
            if await self._has(connection, file, track, number=number, sha256=sha256):
                return track, False
            _check_limits(await store.count_bytes(connection, place.file_id), fragment)
            chain = chained_digest(track.sha256, sha256)
            now = self._clock.now()
            await store.add_fragment(connection, track, fragment, chain=chain, now=now)
            # For runs that work on the media during the upload.
            await notify(connection, progress_topic(place.file_id))
            return await _track(connection, place), True

    async def _has(
        self,
        connection: Connection,
        file: File,
        track: StreamTrack,
        *,
        number: int,
        sha256: bytes,
    ) -> bool:
        """Return whether a fragment is stored; raise when it is neither stored nor the next."""
        if number < track.next_number:
            found = await store.find_fragment(
                connection, track.file_id, track.track_id, number=number
            )
            if found is None or found.sha256 != sha256:
                raise FragmentDiffers(
                    f"fragment {number} of track {track.track_id} is stored with different bytes:"
                    " this is not the media that the stream began with",
                    next=track.next_number,
                )
            return True
        self._check_open(file)
        if number > track.next_number:
            raise FragmentGap(
                f"fragment {number} of track {track.track_id} was sent, but {track.next_number} is"
                " expected; continue there",
                next=track.next_number,
            )
        if track.init is None:
            raise InitMissing(
                f"track {track.track_id} has no init segment yet: send it first", next=number
            )
        return False

    async def _lock(
        self, connection: Connection, place: StreamTrackRef
    ) -> tuple[File, StreamTrack]:
        file = await file_store.lock(connection, place.organization_id, place.file_id)
        if file is None:
            raise file_not_found(place.file_id)
        return file, await _track(connection, place)

    def _check_open(self, file: File) -> None:
        if file.has_expired(self._clock.now()):
            raise FileExpired(f"file {file.id} has expired")
        if file.status is not FileStatus.RECEIVING:
            raise stream_closed(file)


def stream_closed(file: File) -> StreamClosed:
    """Return the error for a stream that accepts no more fragments."""
    reason = f": {file.failure.message}" if file.failure else ""
    return StreamClosed(
        f"the stream {file.id} is {file.status} and accepts no more fragments{reason}",
        status=file.status,
    )


async def _check_digest(body: ReceivedBody) -> None:
    found = await asyncio.to_thread(_sum_of, body.path)
    if found != body.sha256:
        raise DigestMismatch(
            f"the body has the SHA-256 digest {found.hex()}, but Content-Digest has"
            f" {body.sha256.hex()}: send it again"
        )


def _sum_of(path: Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


async def _track(connection: Connection, place: StreamTrackRef) -> StreamTrack:
    track = await store.find_track(connection, place.file_id, place.track_id)
    if track is None:
        if not await store.list_tracks(connection, place.file_id):
            raise StreamNotFound(f"file {place.file_id} is not uploaded as a stream")
        raise TrackNotFound(f"the stream {place.file_id} has no track {place.track_id}")
    return track


def _verified(track: StreamTrack, body: ReceivedBody, key: NewKey) -> StreamedFragment:
    """Return the next fragment of a track, or raise when it is invalid."""
    assert track.init is not None, "checked before"
    init = parse_init(track.init)
    facts = check_fragment(init, body.path, end_dts=track.end_dts)
    return StreamedFragment(
        track_id=track.track_id,
        number=track.next_number,
        sha256=body.sha256,
        first_byte=track.byte_size,
        byte_size=facts.size_bytes,
        dts=facts.dts,
        duration=facts.end_dts - facts.dts,
        start_ms=presentation_ms(init, facts.cts),
        end_ms=presentation_ms(init, facts.end_cts),
        blob_key=key,
    )


def _check_limits(received_bytes: int, fragment: StreamedFragment) -> None:
    if received_bytes + fragment.byte_size > _MAX_BYTES:
        raise TooLarge(
            f"a streamed upload may have at most {_MAX_BYTES} bytes", limit_bytes=_MAX_BYTES
        )
    if fragment.number >= MAX_FRAGMENTS:
        raise TooLarge(
            f"a track may have at most {MAX_FRAGMENTS} fragments; make them longer",
            limit=MAX_FRAGMENTS,
        )
