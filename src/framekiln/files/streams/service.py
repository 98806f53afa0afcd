"""The operations on streamed uploads as a whole. Each state change is one transaction."""

from collections.abc import Mapping
from typing import Final

from framekiln.db.notify import notify
from framekiln.db.pool import Database
from framekiln.files import store as file_store
from framekiln.files.events import SEALED, FileEvents
from framekiln.files.jobs import assemble_job
from framekiln.files.model import File, FileStatus, FileType, NewFile, progress_topic
from framekiln.files.service import file_not_found
from framekiln.files.streams import store
from framekiln.files.streams.errors import StreamAbandoned, StreamIncomplete, StreamNotFound
from framekiln.files.streams.excerpts import Excerpts
from framekiln.files.streams.model import (
    ABANDONED_AFTER,
    NewStream,
    Stream,
    StreamedFragment,
    StreamTrack,
    stream_prefix,
)
from framekiln.files.streams.receiver import StreamReceiver, stream_closed
from framekiln.identity.model import Caller
from framekiln.jobs.failures import failure_of
from framekiln.jobs.queue import JobQueue
from framekiln.kit.clock import Clock
from framekiln.kit.ids import FileId, OrganizationId, new_uuid
from framekiln.quotas.model import Quota
from framekiln.quotas.service import Quotas
from framekiln.storage.blob_store import BlobStore
from framekiln.storage.deletions import BlobDeletions

_FAILED_AT_A_TIME: Final = 100


class Streams:
    """The streamed uploads of all organizations."""

    def __init__(
        self,
        database: Database,
        *,
        jobs: JobQueue,
        blobs: BlobStore,
        clock: Clock,
        events: FileEvents,
        quotas: Quotas,
    ) -> None:
        self._quotas = quotas
        self._database = database
        self._events = events
        self._jobs = jobs
        self._deletions = BlobDeletions(database, blobs, clock)
        self._clock = clock
        self.receiving = StreamReceiver(database, blobs=blobs, clock=clock)
        self.excerpts = Excerpts(database, blobs=blobs, clock=clock)

    async def create(self, caller: Caller, new: NewStream) -> Stream:
        """Start a streamed upload: a file with the status receiving."""
        file_id, now = FileId(new_uuid()), self._clock.now()
        async with self._database.transaction() as connection:
            await self._quotas.check(
                connection, caller.organization.id, Quota.QUEUED_JOBS, Quota.STORED_BYTES
            )
            await file_store.insert(
                connection,
                file_id,
                NewFile(new.filename, FileType.VIDEO, None, expires_at=new.expires_at),
                organization_id=caller.organization.id,
                api_key_id=caller.api_key_id,
                now=now,
            )
            await store.begin(connection, file_id, new.tracks, now=now)
            await self._events.record(connection, file_id)
        return await self.find(caller.organization.id, file_id)

    async def find(self, organization_id: OrganizationId, file_id: FileId) -> Stream:
        """Return a streamed upload and its progress."""
        async with self._database.connection() as connection:
            file = await file_store.find(connection, organization_id, file_id)
            tracks = await store.list_tracks(connection, file_id) if file else []
        if file is None:
            raise file_not_found(file_id)
        if not tracks:
            raise StreamNotFound(f"file {file_id} is not uploaded as a stream")
        return Stream(file, tracks)

    async def fragments(
        self, organization_id: OrganizationId, file_id: FileId
    ) -> list[StreamedFragment]:
        """Return the received fragments, by track and number; none for other files."""
        async with self._database.connection() as connection:
            if await file_store.find(connection, organization_id, file_id) is None:
                raise file_not_found(file_id)
            return await store.list_fragments(connection, file_id)

    async def seal(
        self, organization_id: OrganizationId, file_id: FileId, counts: Mapping[int, int]
    ) -> File:
        """Seal a streamed upload with this many fragments per track, and start its assembly.

        Sealing it again changes nothing.
        """
        async with self._database.transaction() as connection:
            file = await file_store.lock(connection, organization_id, file_id)
            if file is None:
                raise file_not_found(file_id)
            tracks = await store.list_tracks(connection, file_id)
            _check_complete(file, tracks, counts)
            if file.status is FileStatus.RECEIVING:
                await store.set_extent(
                    connection,
                    file_id,
                    byte_size=sum(track.byte_size for track in tracks),
                    duration_ms=max(track.end_ms or 0 for track in tracks),
                )
                await file_store.set_processing(connection, file_id)
                await self._jobs.defer(connection, assemble_job(file))
                await self._events.record(connection, file_id, SEALED)
                await notify(connection, progress_topic(file_id))
            elif file.status is FileStatus.FAILED:
                raise stream_closed(file)
        return (await self.find(organization_id, file_id)).file

    async def fail_abandoned(self) -> int:
        """Fail streams that received nothing for a day; return how many."""
        since = self._clock.now() - ABANDONED_AFTER
        async with self._database.connection() as connection:
            found = await store.list_abandoned(connection, since=since, limit=_FAILED_AT_A_TIME)
        failure = failure_of(
            StreamAbandoned("the stream received nothing for 24 hours and was not sealed")
        )
        failed = 0
        for organization_id, file_id in found:
            blobs = f"{stream_prefix(organization_id, file_id)}/"
            async with self._database.transaction() as connection:
                await file_store.lock(connection, organization_id, file_id)
                if not await store.is_abandoned(connection, file_id, since=since):
                    continue
                if await file_store.fail(connection, file_id, failure, now=self._clock.now()):
                    await self._deletions.add(connection, blobs)
                    await self._events.record(connection, file_id)
                await notify(connection, progress_topic(file_id))
            await self._deletions.run(blobs)
            failed += 1
        return failed


def _check_complete(file: File, tracks: list[StreamTrack], counts: Mapping[int, int]) -> None:
    """Refuse to seal a stream whose fragments are not those that the client counts."""
    if not tracks:
        raise StreamNotFound(f"file {file.id} is not uploaded as a stream")
    received = {track.track_id: track.fragment_count for track in tracks}
    if received == dict(counts) and all(received.values()):
        return
    wrong = ", ".join(
        f"track {each} has {received.get(each, 0)}, not {counts.get(each, 0)}"
        for each in sorted({*received, *counts})
        if received.get(each, 0) != counts.get(each, 0)
    )
    raise StreamIncomplete(
        f"fragments are missing: {wrong or 'every track needs at least one'}",
        tracks={str(each): {"next": count} for each, count in received.items()},
    )
