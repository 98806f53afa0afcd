"""The operations on files, except uploads. Each state change is one transaction."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Final

from framekiln.audit.log import record
from framekiln.db.newest_rows import NewestPage
from framekiln.db.notify import Follower, Notifications, notify
from framekiln.db.pool import Database
from framekiln.files import part_store, store, track_store
from framekiln.files.errors import (
    FileExpired,
    FileNotFound,
    FileNotReady,
    TooManyTracks,
    TrackExists,
    TrackNotFound,
)
from framekiln.files.events import FileEvents
from framekiln.files.index_upload import CheckedIndex, apply_index, check_uploaded_index
from framekiln.files.model import (
    MAX_BYTES,
    MAX_TRACKS,
    File,
    FileFilter,
    FileProgress,
    FileStatus,
    FileType,
    NewFile,
    NewTrack,
    Track,
    WaitingIndex,
    complete_track_ids,
    default_tracks,
    file_prefix,
    progress_topic,
    source_key,
    track_key,
    uploaded_index_key,
)
from framekiln.identity.model import Caller
from framekiln.kit.atomic_file import READABLE_BY_ALL
from framekiln.kit.clock import Clock
from framekiln.kit.confined.budget import children_of
from framekiln.kit.confined.job_folders import open_job_folders
from framekiln.kit.confined.limits import ResourceLimits
from framekiln.kit.confined.run import run_confined
from framekiln.kit.ids import FileId, OrganizationId, new_uuid
from framekiln.media.task_names import MUX_TRACKS_TASK
from framekiln.quotas.model import Quota
from framekiln.quotas.service import Quotas
from framekiln.storage.blob_store import BlobStore
from framekiln.storage.deletions import BlobDeletions
from framekiln.storage.new_blobs import NewBlobs

EXPIRED_RECORD_RETENTION: Final = timedelta(days=30)
"""How long the record of an expired file is kept."""
_REMOVED_AT_A_TIME: Final = 100
_MUXED: Final = "muxed.mp4"
_MUX_LIMITS: Final = ResourceLimits(
    cpu_s=1800, memory_bytes=1 << 30, file_bytes=2 * MAX_BYTES[FileType.VIDEO], wall_s=1800
)


class Files:
    """The files of all organizations, for their owners."""

    def __init__(
        self,
        database: Database,
        *,
        blobs: BlobStore,
        notifications: Notifications,
        clock: Clock,
        events: FileEvents,
        quotas: Quotas,
    ) -> None:
        self._database = database
        self._quotas = quotas
        self._events = events
        self._blobs = blobs
        self._notifications = notifications
        self._clock = clock
        self._deletions = BlobDeletions(database, blobs, clock)
        self._new_blobs = NewBlobs(database, blobs, clock)

    async def create(self, caller: Caller, new: NewFile) -> tuple[File, bool]:
        """Register a file, or find the same one; return it and whether it is new."""
        organization_id, now = caller.organization.id, self._clock.now()
        async with self._database.transaction() as connection:
            if new.md5 is not None:
                await store.lock_md5(connection, organization_id, new.md5)
                if twin := await store.find_duplicate(connection, organization_id, new, now=now):
                    return twin, False
            await self._quotas.check(
                connection,
                organization_id,
                Quota.QUEUED_JOBS,
                Quota.STORED_BYTES,
                adding_bytes=new.byte_size or 0,
            )
            file = await store.insert(
                connection,
                FileId(new_uuid()),
                new,
                organization_id=organization_id,
                api_key_id=caller.api_key_id,
                now=now,
            )
            await self._events.record(connection, file.id)
            if new.older_type is not None:
                await self._events.record_older(connection, file, new.older_type)
        return file, True

    async def get(self, organization_id: OrganizationId, file_id: FileId) -> File:
        """Return a file of the organization."""
        async with self._database.connection() as connection:
            file = await store.find(connection, organization_id, file_id)
        if file is None:
            raise file_not_found(file_id)
        return file

    async def find_by_md5(self, organization_id: OrganizationId, md5: str) -> File:
        """Return the newest file with this MD5 that has neither failed nor expired."""
        async with self._database.connection() as connection:
            file = await store.find_by_md5(connection, organization_id, md5, now=self._clock.now())
        if file is None:
            raise FileNotFound(f"there is no file with md5 {md5[:64]}")
        return file

    async def page(
        self, organization_id: OrganizationId, page: NewestPage, *, wanted: FileFilter
    ) -> list[File]:
        """Return files of the organization, newest first."""
        async with self._database.connection() as connection:
            return await store.list_newest(connection, organization_id, page, wanted=wanted)

    async def tracks(self, organization_id: OrganizationId, file_id: FileId) -> list[Track]:
        """Return the tracks of a file, by number; the scrub track comes last."""
        async with self._database.connection() as connection:
            if await store.find(connection, organization_id, file_id) is None:
                raise file_not_found(file_id)
            return await track_store.list_all(connection, file_id)

    def check_readable(self, file: File) -> None:
        """Raise unless the file's content can be served."""
        self._check_alive(file)
        if file.status is not FileStatus.READY:
            reason = f": {file.failure.message}" if file.failure else ""
            raise FileNotReady(
                f"file {file.id} is {file.status}, so it has no content{reason}",
                status=file.status,
            )

    async def fetch_source(self, file: File, path: Path) -> None:
        """Provide the original of a file at a local path, read only."""
        self.check_readable(file)
        if not file.has_source:
            raise FileNotReady(
                f"file {file.id} was uploaded as tracks and has no original",
                status=file.status,
            )
        await self._blobs.get_to_read(source_key(file.organization_id, file.id), path)

    async def fetch_media(
        self, file: File, path: Path, *, mux_limits: ResourceLimits = _MUX_LIMITS
    ) -> None:
        """Provide the playable media of a file at a local path, however it was uploaded.

        It is read only, for any user. Tracks are muxed, within the limits.
        """
        if file.has_source:
            await self.fetch_source(file, path)
            return
        self.check_readable(file)
        firsts = default_tracks(await self.tracks(file.organization_id, file.id))
        if not firsts:
            raise FileNotReady(f"file {file.id} has no tracks", status=file.status)
        with open_job_folders("mux") as place, children_of(str(file.organization_id)):
            parts = [
                place.source.with_name(f"{place.source.name}-{each.track_id}") for each in firsts
            ]
            for track, part in zip(firsts, parts, strict=True):
                await self.fetch_track(file, track.track_id, part)
            await run_confined(
                MUX_TRACKS_TASK,
                {"tracks": [str(part) for part in parts], "out": _MUXED},
                limits=mux_limits,
                folder=place.folder,
                readable=parts,
            )
            muxed = place.folder / _MUXED
            await asyncio.to_thread(muxed.chmod, READABLE_BY_ALL)
            await asyncio.to_thread(shutil.move, muxed, path)

    async def fetch_track(self, file: File, track_id: int, path: Path) -> None:
        """Provide a track, a whole fragmented MP4, at a local path, read only."""
        self.check_readable(file)
        await self.complete_track(file, track_id)
        key = track_key(file.organization_id, file.id, track_id)
        await self._blobs.get_to_read(key, path)

    async def complete_track(self, file: File, track_id: int) -> Track:
        """Return a complete track, or raise `TrackNotFound`."""
        tracks = await self.tracks(file.organization_id, file.id)
        track = next((each for each in tracks if each.track_id == track_id), None)
        if track is None or not track.is_complete:
            raise TrackNotFound(f"file {file.id} has no track {track_id}")
        return track

    async def add_track(
        self, organization_id: OrganizationId, file_id: FileId, new: NewTrack
    ) -> Track:
        """Add a track for upload; an existing one with the same size is returned unchanged."""
        async with self._database.transaction() as connection:
            file = await store.lock(connection, organization_id, file_id)
            if file is None:
                raise file_not_found(file_id)
            self._check_alive(file)
            tracks = await track_store.list_all(connection, file_id)
            found = next((each for each in tracks if each.track_id == new.track_id), None)
            if found is not None and found.byte_size == new.byte_size:
                return found
            _check_addable(tracks, found)
            parts = await part_store.list_all(connection, file_id, new.track_id)
            stale = [part.blob_key for part in parts]
            await part_store.delete_all(connection, file_id, new.track_id)
            await self._deletions.add(connection, *stale)
            track = await track_store.put(connection, file_id, new)
            if found is None:
                await self._events.record_track(connection, file, track)
        await self._deletions.run(*stale)
        return track

    async def accept_index(
        self, organization_id: OrganizationId, file_id: FileId, uploaded: Path
    ) -> File:
        """Check and store a fragment index; the file is ready when all its tracks are complete.

        `uploaded` must be alone in its folder, which the confined child gets.
        """
        is_kept = False
        while not is_kept:
            file = await self.get(organization_id, file_id)
            self._check_alive(file)
            tracks = await self.tracks(organization_id, file_id)
            checked = await check_uploaded_index(file, tracks, uploaded, blobs=self._blobs)
            is_kept = await self._keep_index(file, tracks, checked)
        return await self.get(organization_id, file_id)

    async def _keep_index(self, file: File, tracks: list[Track], checked: CheckedIndex) -> bool:
        """Store a checked index; False when a new track requires another check."""
        key = uploaded_index_key(file.organization_id, file.id)
        # Before the transaction: it may take long, and the database has few connections.
        await self._new_blobs.put_file(key, checked.path)
        async with (
            self._new_blobs.recording(key),
            self._database.transaction() as connection,
        ):
            current = await store.lock(connection, file.organization_id, file.id)
            if current is None:
                raise file_not_found(file.id)
            self._check_alive(current)
            stored = await track_store.list_all(connection, file.id)
            is_outdated = complete_track_ids(stored) != complete_track_ids(tracks)
            is_kept = not checked.needs or (not is_outdated and current.status.can_await_tracks)
            replaced = current.uploaded_index_key if is_kept else None
            unused = [replaced] if replaced else []
            if is_kept:
                await track_store.set_uploaded_index(connection, file.id, key)
                await apply_index(
                    connection,
                    file.id,
                    WaitingIndex(checked.facts, checked.needs),
                    events=self._events,
                    now=self._clock.now(),
                )
            await self._deletions.add(connection, *unused)
        await self._deletions.run(*unused)
        if not is_kept:
            await self._new_blobs.discard(key)
        return is_kept

    async def delete(self, organization_id: OrganizationId, file_id: FileId) -> None:
        """Delete a file and everything stored for it; a worker that processes it notices."""
        blobs = f"{file_prefix(organization_id, file_id)}/"
        async with self._database.transaction() as connection:
            if not await store.delete(connection, organization_id, file_id):
                raise file_not_found(file_id)
            await self._deletions.add(connection, blobs)
            await record(
                connection, organization_id, "file.deleted", resource=file_id, now=self._clock.now()
            )
            await notify(connection, progress_topic(file_id))
        await self._deletions.run(blobs)

    async def remove_expired(self) -> int:
        """Delete the content of expired files; return how many."""
        now = self._clock.now()
        async with self._database.connection() as connection:
            expired = await store.list_expired(connection, now=now, limit=_REMOVED_AT_A_TIME)
        for file in expired:
            blobs = f"{file_prefix(file.organization_id, file.id)}/"
            async with self._database.transaction() as connection:
                await store.set_content_removed(connection, file.id, now=now)
                await self._deletions.add(connection, blobs)
            await self._deletions.run(blobs)
        async with self._database.transaction() as connection:
            await store.delete_expired_before(
                connection, now - EXPIRED_RECORD_RETENTION, limit=_REMOVED_AT_A_TIME
            )
        return len(expired)

    async def progress(self, file_id: FileId) -> FileProgress:
        """Return the progress of a file's processing."""
        async with self._database.connection() as connection:
            progress = await store.find_progress(connection, file_id)
        if progress is None:
            raise file_not_found(file_id)
        return progress

    def _check_alive(self, file: File) -> None:
        if file.has_expired(self._clock.now()) or file.content_removed_at is not None:
            raise FileExpired(f"file {file.id} has expired")

    @asynccontextmanager
    async def follow(self, file_id: FileId) -> AsyncIterator[Follower]:
        """Follow the changes of a file's progress and status."""
        async with self._notifications.follow(progress_topic(file_id)) as follower:
            yield follower


def _check_addable(tracks: list[Track], found: Track | None) -> None:
    if found is not None and found.is_complete:
        raise TrackExists(
            f"track {found.track_id} is complete and has {found.byte_size} bytes",
            byte_size=found.byte_size,
        )
    if found is None and len(tracks) >= MAX_TRACKS:
        raise TooManyTracks(f"the file has {MAX_TRACKS} tracks, which is the limit")


def file_not_found(file_id: FileId) -> FileNotFound:
    """Return the error for an unknown file."""
    return FileNotFound(f"there is no file {file_id}")


class FilesByType:
    """The files of all organizations, by type."""

    def __init__(self, database: Database, *, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def get(
        self, organization_id: OrganizationId, file_id: FileId, *, file_type: FileType
    ) -> File:
        """Return a file of this type."""
        async with self._database.connection() as connection:
            file = await store.find(connection, organization_id, file_id)
        if file is None or file.type is not file_type:
            raise file_not_found(file_id)
        return file

    async def find_by_md5(
        self,
        organization_id: OrganizationId,
        md5: str,
        *,
        file_type: FileType,
        with_size: bool = True,
    ) -> File:
        """Return the best file of this type with this MD5."""
        async with self._database.connection() as connection:
            found = await store.find_by_type_and_md5(
                connection,
                organization_id,
                md5,
                file_type=file_type,
                with_size=with_size,
                now=self._clock.now(),
            )
            file = await store.find(connection, organization_id, found) if found else None
        if file is None:
            raise FileNotFound(f"there is no {file_type} file with md5 {md5[:64]}")
        return file
