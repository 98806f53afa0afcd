"""What workers do with files: take a video, process it, and make it ready or failed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from framekiln.db.notify import notify
from framekiln.db.pool import Database
from framekiln.files import part_store, store, track_store
from framekiln.files.errors import FileExpired, FileKillsWorkers
from framekiln.files.events import FileEvents
from framekiln.files.model import OWN_CONTENT, File, FileFacts, NewTrack, progress_topic
from framekiln.files.part_store import Part
from framekiln.jobs.failures import Failure
from framekiln.kit.clock import Clock
from framekiln.kit.ids import FileId
from framekiln.storage.deletions import BlobDeletions

MAX_TAKES: Final = 5
"""A file fails after it has killed this many workers."""


@dataclass(frozen=True)
class TakenFile:
    """A file that one worker has taken."""

    file: File
    fence: int


class FileWorker:
    """The files of all organizations, for workers."""

    def __init__(
        self, database: Database, *, clock: Clock, events: FileEvents, deletions: BlobDeletions
    ) -> None:
        self._deletions = deletions
        self._database = database
        self._events = events
        self._clock = clock

    async def take(self, file_id: FileId, *, attempt: int) -> TakenFile | None:
        """Take a file for this attempt of a job; None when there is nothing to do.

        Raises when the file must not be tried again.
        """
        async with self._database.transaction() as connection:
            found = await store.take(connection, file_id)
        if found is None:
            return None
        taken = TakenFile(*found)
        if taken.file.has_expired(self._clock.now()):
            raise FileExpired("the file expired before it was processed")
        if attempt > MAX_TAKES:
            raise FileKillsWorkers(f"{MAX_TAKES} workers died while they processed the file")
        return taken

    async def upload_parts(self, file_id: FileId) -> list[Part]:
        """Return the parts of the upload, in order."""
        async with self._database.connection() as connection:
            return await part_store.list_all(connection, file_id, OWN_CONTENT)

    async def is_still_taken(self, taken: TakenFile) -> bool:
        """Return whether this worker still has the file: not taken over, deleted or ready."""
        async with self._database.connection() as connection:
            return await store.is_taken(connection, taken.file.id, fence=taken.fence)

    async def report(self, file_id: FileId, permille: int) -> None:
        """Record the progress."""
        async with self._database.transaction() as connection:
            await store.set_progress(connection, file_id, permille=permille)
            await notify(connection, progress_topic(file_id))

    async def complete(
        self, taken: TakenFile, facts: FileFacts, tracks: Sequence[NewTrack], *, unused: str
    ) -> bool:
        """Make the file ready, and delete `unused` blobs; False if this worker has lost it."""
        file_id = taken.file.id
        async with self._database.transaction() as connection:
            is_ready = await store.set_ready(
                connection,
                file_id,
                facts,
                has_source=True,
                now=self._clock.now(),
                fence=taken.fence,
            )
            if is_ready:
                await track_store.replace_all(connection, file_id, tracks)
                await part_store.delete_all(connection, file_id, OWN_CONTENT)
                await self._deletions.add(connection, unused)
                await self._events.record(connection, file_id)
            await notify(connection, progress_topic(file_id))
        if is_ready:
            await self._deletions.run(unused)
        return is_ready

    async def fail(self, file_id: FileId, failure: Failure, *, unused: Sequence[str]) -> None:
        """Record why it failed, and delete `unused` blobs, unless it has already ended."""
        async with self._database.transaction() as connection:
            has_failed = await store.fail(connection, file_id, failure, now=self._clock.now())
            await part_store.delete_all(connection, file_id, OWN_CONTENT)
            await notify(connection, progress_topic(file_id))
            if has_failed:
                await self._deletions.add(connection, *unused)
                await self._events.record(connection, file_id)
        if has_failed:
            await self._deletions.run(*unused)

    async def is_needed(self, file: File) -> bool:
        """Return whether the file still exists and has not expired."""
        async with self._database.connection() as connection:
            found = await store.find(connection, file.organization_id, file.id)
        return found is not None and not found.has_expired(self._clock.now())
