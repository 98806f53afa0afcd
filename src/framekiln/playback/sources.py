"""Finds the source of a URL, or adds it and queues its download or probe."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from framekiln.db.pool import Database
from framekiln.files.errors import FileNotReady
from framekiln.files.model import File, FileType, Track, track_key
from framekiln.files.service import Files
from framekiln.jobs.queue import JobQueue
from framekiln.kit.clock import Clock
from framekiln.kit.confined.errors import rebuild_error
from framekiln.kit.ids import FileId, OrganizationId, RenderId, new_uuid
from framekiln.playback import store
from framekiln.playback.addresses import check_web_address, file_id_in, render_id_in
from framekiln.playback.errors import SourceAddressInvalid
from framekiln.playback.jobs import fetch_job, probe_job
from framekiln.playback.model import NO_TRACKS, PlaybackSource, SourceId, SourceStatus, SourceTracks
from framekiln.renders.errors import RenderNotComplete
from framekiln.renders.model import Render
from framekiln.renders.output import container_of
from framekiln.renders.service import Renders

# A player that retries at once gets the same error; later, a new attempt.
FAILURES_LAST: Final = timedelta(seconds=10)
_TOUCH_EVERY: Final = timedelta(minutes=5)


class PlaybackSources:
    """The sources of all organizations, by URL."""

    def __init__(
        self, database: Database, *, files: Files, renders: Renders, jobs: JobQueue, clock: Clock
    ) -> None:
        self._database = database
        self._files = files
        self._renders = renders
        self._jobs = jobs
        self._clock = clock

    async def find_or_add(
        self, organization_id: OrganizationId, url: str, *, is_ahead: bool = False
    ) -> PlaybackSource:
        """Return the source of `url`; a worker probes it if none has done so."""
        ours = await self._own_source(organization_id, url)
        address = ours.address if ours else url
        now = self._clock.now()
        async with self._database.connection() as connection:
            found = await store.find_newest(connection, organization_id, address, now=now)
        if found is not None and found.status is SourceStatus.READY:
            return found
        tracks, language = await self._tracks_of(ours.content) if ours else (NO_TRACKS, None)
        new = _new_source(organization_id, address, tracks, now=now)
        async with self._database.transaction() as connection:
            await store.lock_address(connection, organization_id, address)
            found = await store.find_newest(connection, organization_id, address, now=now)
            if found is None or _is_stale(found, now):
                found = new
                await store.insert(connection, found)
            if found.status is SourceStatus.LOOKING:
                is_here = found.tracks != NO_TRACKS
                probe = probe_job(found, language=language, is_ahead=is_ahead)
                await self._jobs.defer(connection, probe if is_here else fetch_job(found))
        return found

    async def probed(self, source_id: SourceId) -> PlaybackSource | None:
        """Return a source that is ready, or None while it is not; raise the error if it failed."""
        async with self._database.connection() as connection:
            source = await store.find(connection, source_id)
        if source is None or source.status is SourceStatus.LOOKING:
            return None
        if source.failure is not None:
            raise rebuild_error(dict(source.failure), "playback")
        return source

    async def note_use(self, source: PlaybackSource) -> None:
        """Note that a source is in use, so that its segments are kept."""
        now = self._clock.now()
        if now - source.used_at <= _TOUCH_EVERY:
            return
        async with self._database.transaction() as connection:
            await store.touch(connection, source.id, now=now)

    async def _own_source(self, organization_id: OrganizationId, url: str) -> "_OwnSource | None":
        """Return our own source that a URL names; None if it must be fetched from the web."""
        file_id, render_id = file_id_in(url), render_id_in(url)
        if file_id is not None:
            return await self._file(organization_id, file_id)
        if render_id is not None:
            return await self._render(organization_id, render_id)
        check_web_address(url)
        return None

    async def _render(self, organization_id: OrganizationId, render_id: RenderId) -> "_OwnSource":
        render = await self._renders.get(organization_id, render_id)
        if render.result is None:
            raise RenderNotComplete(
                f"render {render.id} is {render.status}, so it cannot be played",
                status=render.status,
            )
        if container_of(render.request.output) != "mp4":
            raise SourceAddressInvalid(
                f"url: render {render.id} is not an MP4; only MP4 renders can be played",
                field="url",
            )
        return _OwnSource(f"render-id:{render.id}@{render.completed_at}", render)

    async def _file(self, organization_id: OrganizationId, file_id: FileId) -> "_OwnSource":
        file = await self._files.get(organization_id, file_id)
        self._files.check_readable(file)
        if file.type is not FileType.VIDEO:
            raise SourceAddressInvalid(
                f"url: file {file.id} is of type {file.type}; only videos can be played",
                field="url",
            )
        # A file with replaced content is a different source.
        return _OwnSource(f"file-id:{file.id}@{file.completed_at}", file)

    async def _tracks_of(self, content: File | Render) -> tuple[SourceTracks, str | None]:
        """Return the main tracks, the first of each kind or all of them in one blob.

        And the language of the audio, if the record of its track has it.
        """
        if isinstance(content, Render):
            key = content.result.output_key if content.result else None
            return SourceTracks(key, key), None
        first: dict[str, Track] = {}
        file, tracks = content, await self._files.tracks(content.organization_id, content.id)
        for track in sorted(tracks, key=lambda track: track.track_id):
            if track.track_id > 0 and track.is_complete:
                first.setdefault(track.type, track)
        if not first:
            raise FileNotReady(f"file {file.id} has no complete track", status=file.status)
        keys = {
            kind: track_key(file.organization_id, file.id, track.track_id)
            for kind, track in first.items()
        }
        sound = first.get("audio")
        language = sound.language if sound else None
        return SourceTracks(keys.get("video"), keys.get("audio")), language


@dataclass(frozen=True)
class _OwnSource:
    """A file or a render, and its address as a source."""

    address: str
    content: File | Render


def _is_stale(source: PlaybackSource, now: datetime) -> bool:
    is_failed = source.status is SourceStatus.FAILED
    return is_failed and now - source.changed_at > FAILURES_LAST


def _new_source(
    organization_id: OrganizationId, address: str, tracks: SourceTracks, *, now: datetime
) -> PlaybackSource:
    return PlaybackSource(
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
