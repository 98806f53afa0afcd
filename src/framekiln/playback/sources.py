"""From an address to a source: found if it is known and still good, else added and looked at."""

from datetime import datetime, timedelta
from typing import Final

from framekiln.db.pool import Database
from framekiln.files.errors import FileNotReady
from framekiln.files.model import File, FileType, track_key
from framekiln.files.service import Files
from framekiln.jobs.queue import JobQueue
from framekiln.kit.clock import Clock
from framekiln.kit.confined.errors import rebuild_error
from framekiln.kit.ids import OrganizationId, new_uuid
from framekiln.playback import store
from framekiln.playback.addresses import check_web_address, file_named
from framekiln.playback.jobs import look_job
from framekiln.playback.model import (
    Source,
    SourceAddressInvalid,
    SourceId,
    SourceStatus,
    Tracks,
)

# A player that asks again at once gets the same answer; one that waits, a new try.
FAILURES_LAST: Final = timedelta(seconds=10)
_TOUCH_EVERY: Final = timedelta(minutes=5)


class Sources:
    """The sources of all organizations, by address."""

    def __init__(self, database: Database, *, files: Files, jobs: JobQueue, clock: Clock) -> None:
        self._database = database
        self._files = files
        self._jobs = jobs
        self._clock = clock

    async def find_or_add(
        self, organization_id: OrganizationId, url: str, *, is_ahead: bool = False
    ) -> Source:
        """Return the source behind `url`, which a worker looks at if nobody has done so."""
        file = await self._file_named(organization_id, url)
        # A file whose content was replaced is another source.
        address = f"file-id:{file.id}@{file.completed_at}" if file else url
        now = self._clock.now()
        async with self._database.connection() as connection:
            found = await store.find_newest(connection, organization_id, address, now=now)
        if found is not None and found.status is SourceStatus.READY:
            return found
        tracks = await self._tracks_of(file) if file else Tracks(None, None)
        new = _new_source(organization_id, address, tracks, now=now)
        async with self._database.transaction() as connection:
            await store.lock_address(connection, organization_id, address)
            found = await store.find_newest(connection, organization_id, address, now=now)
            if found is None or _is_stale(found, now):
                found = new
                await store.insert(connection, found)
            if found.status is SourceStatus.LOOKING:
                await self._jobs.defer(connection, look_job(found, is_ahead=is_ahead))
        return found

    async def looked_at(self, source_id: SourceId) -> Source | None:
        """Return a source that is ready, None as long as it is not; raise why it never will be."""
        async with self._database.connection() as connection:
            source = await store.find(connection, source_id)
        if source is None or source.status is SourceStatus.LOOKING:
            return None
        if source.failure is not None:
            raise rebuild_error(dict(source.failure), "playback")
        return source

    async def note_use(self, source: Source) -> None:
        """Keep what was made of a source for another while."""
        now = self._clock.now()
        if now - source.used_at <= _TOUCH_EVERY:
            return
        async with self._database.transaction() as connection:
            await store.touch(connection, source.id, now=now)

    async def _file_named(self, organization_id: OrganizationId, url: str) -> File | None:
        file_id = file_named(url)
        if file_id is None:
            check_web_address(url)
            return None
        file = await self._files.get(organization_id, file_id)
        self._files.check_readable(file)
        if file.type is not FileType.VIDEO:
            raise SourceAddressInvalid(
                f"url: file {file.id} is of type {file.type}; only videos are played", field="url"
            )
        return file

    async def _tracks_of(self, file: File) -> Tracks:
        """Return the main tracks of a file: the first of each kind."""
        first: dict[str, str] = {}
        tracks = await self._files.tracks(file.organization_id, file.id)
        for track in sorted(tracks, key=lambda track: track.track_id):
            if track.track_id > 0 and track.is_complete:
                key = track_key(file.organization_id, file.id, track.track_id)
                first.setdefault(track.type, key)
        if not first:
            raise FileNotReady(f"file {file.id} has no complete track", status=file.status)
        return Tracks(first.get("video"), first.get("audio"))


def _is_stale(source: Source, now: datetime) -> bool:
    is_failed = source.status is SourceStatus.FAILED
    return is_failed and now - source.changed_at > FAILURES_LAST


def _new_source(
    organization_id: OrganizationId, address: str, tracks: Tracks, *, now: datetime
) -> Source:
    return Source(
        id=SourceId(new_uuid()),
        organization_id=organization_id,
        address=address,
        status=SourceStatus.LOOKING,
        tracks=tracks,
        outline=None,
        failure=None,
        created_at=now,
        changed_at=now,
        expires_at=None,
        used_at=now,
    )
