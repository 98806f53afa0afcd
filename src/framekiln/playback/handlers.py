"""Job handlers of playback: download a source, probe it, make a segment.

Each may run twice, or concurrently. All decoding happens in confined child processes. Errors are
recorded for the waiting request; a later request starts a new attempt, so the queue itself does
not retry.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

import structlog

from framekiln.db.advisory_locks import AdvisoryLocks
from framekiln.db.notify import notify
from framekiln.db.pool import Database, DatabaseUnavailable
from framekiln.files.ingest import Ingest
from framekiln.jobs.failures import retry_while_database_down
from framekiln.jobs.model import JobContext
from framekiln.jobs.queue import JobQueue
from framekiln.kit.clock import Clock
from framekiln.kit.confined.errors import describe_error
from framekiln.kit.confined.limits import ResourceLimits
from framekiln.kit.confined.pause import PauseSwitch
from framekiln.kit.errors import FramekilnError
from framekiln.media.segments.renditions import Outline, Rendition
from framekiln.media.segments.tasks import OUTLINE_TASK, SEGMENT_TASK
from framekiln.playback import store
from framekiln.playback.jobs import fetch_job, probe_job
from framekiln.playback.model import (
    NO_TRACKS,
    PlaybackSource,
    SegmentName,
    SourceId,
    SourceStatus,
    SourceTracks,
    segment_key,
    topic,
)
from framekiln.playback.segment_worker import SegmentWorker, SourceTask
from framekiln.storage.blob_store import BlobStore

_LOOK_LIMITS: Final = ResourceLimits(
    cpu_s=120, memory_bytes=2 << 30, file_bytes=1 << 20, wall_s=120
)
_MAKE_LIMITS: Final = ResourceLimits(
    cpu_s=240, memory_bytes=3 << 30, file_bytes=512 << 20, wall_s=120
)
_OUT: Final = "segment.m4s"

log = structlog.get_logger(__name__)

Record = Callable[[Mapping[str, Any]], Awaitable[None]]


@dataclass(frozen=True)
class FetchSource:
    """Handles `playback.fetch` jobs."""

    database: Database
    locks: AdvisoryLocks
    jobs: JobQueue
    ingest: Ingest
    clock: Clock

    async def __call__(self, job: JobContext) -> None:
        """Download a source and queue its probe."""
        source_id = SourceId(UUID(job.args["source_id"]))
        async with self.locks.try_lock(f"playback:{source_id}:fetch") as is_ours:
            source = await _find(self.database, source_id)
            if not is_ours or source is None or source.status is not SourceStatus.LOOKING:
                return
            async with _record_failed(self.database, source_id, self.clock):
                asset = await self.ingest.get(source.organization_id, source.address)
                async with self.database.transaction() as connection:
                    fetched = await store.set_tracks(
                        connection,
                        source_id,
                        SourceTracks(asset.blob_key, asset.blob_key),
                        expires_at=asset.expires_at,
                        now=self.clock.now(),
                    )
                    if fetched is not None:
                        await self.jobs.defer(connection, probe_job(fetched))


@dataclass(frozen=True)
class ProbeSource:
    """Handles `playback.look` jobs."""

    database: Database
    locks: AdvisoryLocks
    jobs: JobQueue
    worker: SegmentWorker
    clock: Clock

    async def __call__(self, job: JobContext) -> None:
        """Probe a source and record its renditions."""
        source_id = SourceId(UUID(job.args["source_id"]))
        work, is_ahead = f"playback:{source_id}", _is_ahead(job)
        if not is_ahead and self.worker.priority.promote(work):
            return
        async with self.locks.try_lock(work) as is_ours:
            source = await _find(self.database, source_id)
            if not is_ours or source is None or source.status is not SourceStatus.LOOKING:
                return
            if source.tracks == NO_TRACKS:
                # Older versions queue the probe of a source that is not fetched.
                async with self.database.transaction() as connection:
                    await self.jobs.defer(connection, fetch_job(source))
                return
            async with _record_failed(self.database, source_id, self.clock):
                async with self.worker.priority.admit(work, is_ahead=is_ahead) as pause_switch:
                    language = job.args.get("language")
                    outline = await self._probe(source, language, pause_switch)
                async with self.database.transaction() as connection:
                    await store.set_ready(
                        connection,
                        source_id,
                        outline,
                        tracks=_used(source.tracks, outline),
                        now=self.clock.now(),
                    )
                    await notify(connection, topic(source_id))

    async def _probe(
        self, source: PlaybackSource, language: str | None, pause_switch: PauseSwitch
    ) -> Outline:
        files, tracks = self.worker.sources, source.tracks
        keys = (tracks.pictures_key, tracks.sound_key)
        async with AsyncExitStack() as stack:
            pictures, sound = [
                await stack.enter_async_context(files.local(key)) if key else None for key in keys
            ]
            task = SourceTask(
                OUTLINE_TASK,
                {
                    "pictures": str(pictures) if pictures else None,
                    "sound": str(sound) if sound else None,
                    "language": language,
                },
                _LOOK_LIMITS,
                tuple({path for path in (pictures, sound) if path}),
                source.name,
            )
            result, _ = await stack.enter_async_context(
                self.worker.run_task(task, pause_switch=pause_switch)
            )
        return Outline.from_json(result)


@dataclass(frozen=True)
class MakeSegment:
    """Handles `playback.segment` jobs."""

    database: Database
    locks: AdvisoryLocks
    blobs: BlobStore
    worker: SegmentWorker
    clock: Clock

    async def __call__(self, job: JobContext) -> None:
        """Make a segment, unless it exists or another worker is making it."""
        source_id = SourceId(UUID(job.args["source_id"]))
        name = SegmentName(job.args["rendition"], job.args["number"])
        work = f"playback:{source_id}:{name.rendition_id}:{name.number}"
        turns, is_ahead = self.worker.priority, _is_ahead(job)
        if not is_ahead and turns.promote(work):
            return
        async with (
            turns.admit(work, is_ahead=is_ahead) as pause_switch,
            self.locks.try_lock(work) as is_ours,
        ):
            if not is_ours or await self._is_made(source_id, name):
                return
            source = await _find(self.database, source_id)
            rendition = source and source.outline and source.outline.find(name.rendition_id)
            if source is None or not rendition:
                return
            async with _record_errors(lambda failure: self._record(source_id, name, failure)):
                await self._make(source, rendition, name, pause_switch=pause_switch)
                await self._record(source_id, name, None)
                if await _find(self.database, source_id) is None:
                    # The source was removed in the meantime, with all its segments.
                    await self.blobs.delete(segment_key(source, name))

    async def _make(
        self,
        source: PlaybackSource,
        rendition: Rendition,
        name: SegmentName,
        *,
        pause_switch: PauseSwitch,
    ) -> None:
        async with self.worker.sources.local(source.key_of(name.rendition_id)) as path:
            args = {
                "source": str(path),
                "rendition": rendition.to_json(),
                "number": name.number,
                "out": _OUT,
            }
            task = SourceTask(SEGMENT_TASK, args, _MAKE_LIMITS, (path,), source.name)
            async with self.worker.run_task(task, pause_switch=pause_switch) as (_, folder):
                await self.blobs.put_file(segment_key(source, name), folder / _OUT)

    async def _is_made(self, source_id: SourceId, name: SegmentName) -> bool:
        async with self.database.connection() as connection:
            made = await store.find_segments(
                connection, source_id, name.rendition_id, [name.number]
            )
        return any(each.failure is None for each in made)

    async def _record(
        self, source_id: SourceId, name: SegmentName, failure: Mapping[str, Any] | None
    ) -> None:
        async with self.database.transaction() as connection:
            await store.put_segment(
                connection, source_id, name, failure=failure, now=self.clock.now()
            )
            await notify(connection, topic(source_id))


@asynccontextmanager
async def _record_failed(
    database: Database, source_id: SourceId, clock: Clock
) -> AsyncIterator[None]:
    """Record an error as that of the source, instead of raising it."""

    async def record(failure: Mapping[str, Any]) -> None:
        async with database.transaction() as connection:
            await store.set_failed(connection, source_id, failure, now=clock.now())
            await notify(connection, topic(source_id))

    async with _record_errors(record):
        yield


@asynccontextmanager
async def _record_errors(record: Record) -> AsyncIterator[None]:
    """Record an error instead of raising it."""
    try:
        yield
    except DatabaseUnavailable:
        raise
    except Exception as error:
        is_ours = isinstance(error, FramekilnError)
        log.warning("playback.job_failed", error=repr(error), exc_info=not is_ours)
        failure = describe_error(error)
        await retry_while_database_down(lambda: record(failure))


def _is_ahead(job: JobContext) -> bool:
    """Return whether no request waits for it; jobs of older versions do not say."""
    return bool(job.args.get("is_ahead"))


async def _find(database: Database, source_id: SourceId) -> PlaybackSource | None:
    async with database.connection() as connection:
        return await store.find(connection, source_id)


def _used(tracks: SourceTracks, outline: Outline) -> SourceTracks:
    """Return the tracks of a source, without those that the outline does not use."""
    return SourceTracks(
        tracks.pictures_key if outline.video_renditions else None,
        tracks.sound_key if outline.audio_rendition else None,
    )
