"""Uploads in chunks, of a file's content or of one of its tracks.

Every part gets a new blob and is recorded under the file's row lock if it follows the last one.
So of two concurrent writers one is ahead, and what the other sends again is skipped: bytes are
never mixed up. The content itself is not read here.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import partial
from typing import Final

from framekiln.db.notify import notify
from framekiln.db.pool import Connection, Database
from framekiln.files import part_store, store, track_store
from framekiln.files.chunks import KEPT_BYTES, Chunk, PartCutter
from framekiln.files.completion import UploadCompletion
from framekiln.files.errors import (
    ChunkMismatch,
    FileExpired,
    FileNotFound,
    FileTakesNoContent,
    TooManyParts,
    TrackNotFound,
    UploadGap,
)
from framekiln.files.events import FileEvents
from framekiln.files.jobs import process_job
from framekiln.files.model import (
    OWN_CONTENT,
    File,
    FileStatus,
    FileType,
    Track,
    parts_prefix,
    progress_topic,
)
from framekiln.files.part_store import Part
from framekiln.jobs.queue import JobQueue
from framekiln.kit.clock import Clock
from framekiln.kit.errors import FramekilnError
from framekiln.kit.ids import FileId, OrganizationId
from framekiln.storage.blob_store import BlobStore
from framekiln.storage.keys import new_key
from framekiln.storage.new_blobs import NewBlobs

MAX_PARTS: Final = 10_000


@dataclass(frozen=True)
class Target:
    """The target of an upload: the content of a file, or one of its tracks."""

    organization_id: OrganizationId
    file_id: FileId
    track_id: int = OWN_CONTENT


@dataclass(frozen=True)
class Upload:
    """The progress of an upload."""

    file: File
    track: Track | None

    @property
    def byte_size(self) -> int | None:
        """The declared size; None where no bytes are expected."""
        return self.track.byte_size if self.track else self.file.byte_size

    @property
    def next_byte(self) -> int:
        """The first missing byte."""
        return self.track.next_byte if self.track else self.file.next_byte

    @property
    def is_complete(self) -> bool:
        """Whether the upload is complete."""
        return self.track.is_complete if self.track else self.file.status.is_all_sent

    @property
    def has_all_bytes(self) -> bool:
        """Whether every byte is stored; the content may still have to be joined and checked."""
        return self.next_byte == self.byte_size


class Uploads:
    """The uploads of all organizations."""

    def __init__(
        self,
        database: Database,
        *,
        jobs: JobQueue,
        blobs: BlobStore,
        clock: Clock,
        events: FileEvents,
    ) -> None:
        self._database = database
        self._events = events
        self._jobs = jobs
        self._new_blobs = NewBlobs(database, blobs, clock)
        self._clock = clock
        self._whole = UploadCompletion(database, blobs=blobs, clock=clock, events=events)

    async def find(self, target: Target) -> Upload:
        """Return the progress of an upload."""
        async with self._database.connection() as connection:
            file = await store.find(connection, target.organization_id, target.file_id)
            return await _upload(connection, file, target)

    async def receive(self, target: Target, chunk: Chunk, body: AsyncIterator[bytes]) -> Upload:
        """Store a chunk and return the progress of the upload.

        If the body breaks off, the received bytes are stored and its error is raised. With the
        last byte the content is joined and checked, or its processing starts.
        """
        upload = await self.find(target)
        byte_size = self._expected_bytes(upload)
        next_byte = byte_size if upload.is_complete else upload.next_byte
        end = chunk.check(byte_size=byte_size, next_byte=next_byte)
        cutter = PartCutter(
            partial(self._keep, target), start=chunk.start, end=end, next_byte=next_byte
        )
        await _read(body, cutter)
        if chunk.end is not None and cutter.position < chunk.end:
            raise ChunkMismatch(
                f"the body ended at byte {cutter.position}, but the range ends at {chunk.end}"
            )
        if cutter.position == chunk.start and next_byte < byte_size:
            raise ChunkMismatch("the body is empty", next_byte=next_byte)
        await cutter.finish()
        return await self._finish(target)

    async def _finish(self, target: Target) -> Upload:
        upload = await self.find(target)
        if upload.is_complete or not upload.has_all_bytes:
            return upload
        await self._whole.finish(upload.file, upload.track)
        return await self.find(target)

    def _expected_bytes(self, upload: Upload) -> int:
        file = upload.file
        if file.has_expired(self._clock.now()):
            raise FileExpired(f"file {file.id} has expired")
        if upload.byte_size is None:
            raise FileTakesNoContent(
                f"file {file.id} was created without a size: only its tracks are uploaded",
                status=file.status,
            )
        if upload.track is None and file.status in (FileStatus.FAILED, FileStatus.RECEIVING):
            raise _takes_no_content(file)
        return upload.byte_size

    async def _keep(self, target: Target, first_byte: int, data: bytes) -> int:
        """Store the bytes of a part that are not stored yet; return the next missing byte."""
        next_byte = (await self.find(target)).next_byte
        end_byte = first_byte + len(data)
        folder = parts_prefix(target.organization_id, target.file_id, target.track_id)
        while next_byte < end_byte:
            if next_byte < first_byte:
                raise UploadGap("the upload was restarted by another request", next_byte=next_byte)
            key = new_key(folder, str(next_byte))
            await self._new_blobs.put(key, data[next_byte - first_byte :])
            async with self._new_blobs.recording(key):
                next_byte, is_kept = await self._record(target, Part(next_byte, end_byte, key))
            if not is_kept:
                await self._new_blobs.discard(key)
        return next_byte

    async def _record(self, target: Target, part: Part) -> tuple[int, bool]:
        """Record a part if it follows the last one; return the next byte and whether it does."""
        async with self._database.transaction() as connection:
            file = await store.lock(connection, target.organization_id, target.file_id)
            upload = await _upload(connection, file, target)
            self._expected_bytes(upload)
            if upload.next_byte != part.first_byte:
                return upload.next_byte, False
            if upload.is_complete:
                raise _takes_no_content(upload.file)
            if await part_store.count(connection, target.file_id, target.track_id) >= MAX_PARTS:
                raise TooManyParts(
                    f"the upload was sent in more than {MAX_PARTS} chunks; send larger ones"
                )
            await part_store.insert(connection, target.file_id, target.track_id, part)
            await store.set_uploading(connection, target.file_id)
            if upload.file.status is FileStatus.CREATED:
                await self._events.record(connection, target.file_id)
            await self._advance(connection, upload, part.end_byte)
        return part.end_byte, True

    async def _advance(self, connection: Connection, upload: Upload, next_byte: int) -> None:
        file, track = upload.file, upload.track
        if track is not None:
            await track_store.advance(connection, file.id, track.track_id, next_byte=next_byte)
            return
        await store.advance(connection, file.id, next_byte=next_byte)
        if next_byte == file.byte_size and file.type is FileType.VIDEO:
            await store.set_processing(connection, file.id)
            # Tracks and index are made from the content now.
            await track_store.delete_waiting_index(connection, file.id)
            await self._events.record(connection, file.id)
            await self._jobs.defer(connection, process_job(file))
            await notify(connection, progress_topic(file.id))


async def _read(body: AsyncIterator[bytes], cutter: PartCutter) -> None:
    try:
        async for data in body:
            await cutter.add(data)
    except FramekilnError:
        raise
    except Exception:
        # The connection broke: the next attempt continues here.
        await cutter.finish(at_least=KEPT_BYTES)
        raise


async def _upload(connection: Connection, file: File | None, target: Target) -> Upload:
    if file is None:
        raise FileNotFound(f"there is no file {target.file_id}")
    if target.track_id == OWN_CONTENT:
        return Upload(file, None)
    track = await track_store.find(connection, target.file_id, target.track_id)
    if track is None:
        raise TrackNotFound(
            f"file {target.file_id} has no track {target.track_id}: create it first"
        )
    return Upload(file, track)


def _takes_no_content(file: File) -> FileTakesNoContent:
    reason = f": {file.failure.message}" if file.failure else ""
    return FileTakesNoContent(
        f"file {file.id} is {file.status} and accepts no content{reason}", status=file.status
    )
