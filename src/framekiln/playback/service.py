"""The operations of players: get the renditions of a source, and any of its segments.

Missing segments are requested from the workers and awaited for a limited time. Nothing is decoded
here.
"""

import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Final, TypeVar

from framekiln.db.notify import Notifications
from framekiln.db.pool import Database
from framekiln.files.service import Files
from framekiln.jobs.queue import JobQueue
from framekiln.kit.clock import Clock
from framekiln.kit.confined.errors import rebuild_error
from framekiln.kit.ids import FileId, OrganizationId
from framekiln.media.segments.renditions import AUDIO, Outline
from framekiln.playback import store
from framekiln.playback.addresses import address_of
from framekiln.playback.errors import MediaNotReady
from framekiln.playback.jobs import segment_job
from framekiln.playback.model import (
    MadeSegment,
    PlaybackSource,
    SegmentName,
    SourceId,
    segment_key,
    source_prefix,
    topic,
)
from framekiln.playback.segment_names import check_segment, find_rendition
from framekiln.playback.sources import FAILURES_LAST, PlaybackSources
from framekiln.renders.service import Renders
from framekiln.storage.blob_store import BlobStore
from framekiln.storage.deletions import BlobDeletions

WAIT_S: Final = 30.0
RETENTION: Final = timedelta(days=1)
SEGMENTS_AHEAD: Final = 2
_CHECK_EVERY: Final = timedelta(minutes=10)
_GRACE: Final = timedelta(minutes=10)
_REMOVED_AT_A_TIME: Final = 100


class Playback:
    """Sources by URL, and their segments by name."""

    def __init__(  # noqa: PLR0913 - each is one thing it needs
        self,
        database: Database,
        *,
        files: Files,
        renders: Renders,
        jobs: JobQueue,
        blobs: BlobStore,
        notifications: Notifications,
        clock: Clock,
        wait_s: float = WAIT_S,
    ) -> None:
        self._database = database
        self._sources = PlaybackSources(
            database, files=files, renders=renders, jobs=jobs, clock=clock
        )
        self._jobs = jobs
        self._blobs = blobs
        self._deletions = BlobDeletions(database, blobs, clock)
        self._notifications = notifications
        self._clock = clock
        self._wait_s = wait_s

    async def open(
        self, organization_id: OrganizationId, url: str
    ) -> tuple[PlaybackSource, Outline]:
        """Return the source of `url` and its renditions; the first time, a worker probes it."""
        source = await self._sources.find_or_add(organization_id, url)
        if source.outline is None:
            source = await wait_until_made(
                self._notifications,
                source.id,
                lambda: self._sources.probed(source.id),
                within_s=self._wait_s,
            )
        await self._sources.note_use(source)
        assert source.outline is not None
        return source, source.outline

    async def preprobe(self, organization_id: OrganizationId, file_id: FileId) -> None:
        """Queue the probe of a file that may be played, with the lowest priority."""
        await self._sources.find_or_add(organization_id, address_of(file_id), is_ahead=True)

    async def segment(self, source: PlaybackSource, name: SegmentName) -> str:
        """Return the blob key of a segment; it is made if it does not exist."""
        assert source.outline is not None
        check_segment(find_rendition(source.outline, name.rendition_id), name)
        missing = await self._missing(source, name)
        # All at once, so that the next requests need not wait.
        await self._request_segments(source, name, missing)
        if name.number in missing:
            await wait_until_made(
                self._notifications,
                source.id,
                lambda: self._is_made(source, name),
                within_s=self._wait_s,
            )
        return segment_key(source, name)

    async def prepare_start(self, source: PlaybackSource, outline: Outline) -> None:
        """Queue the first segments that are cheap and will be requested.

        Encoded video is not made until a player requests a size.
        """
        for rendition in (outline.renditions[0], outline.audio_rendition):
            if rendition is not None and (rendition.is_copy or rendition.id == AUDIO):
                name = SegmentName(rendition.id, 0)
                await self._request_segments(
                    source, name, await self._missing(source, name, ahead=1)
                )

    async def remove_unused(self) -> int:
        """Remove all data of sources that are deleted or unused; return how many there were."""
        now = self._clock.now()
        async with self._database.connection() as connection:
            unused = await store.list_unused(
                connection,
                unused_since=now - RETENTION,
                expired_before=now - _GRACE,
                limit=_REMOVED_AT_A_TIME,
            )
        async with self._database.transaction() as connection:
            unchecked = await store.take_unchecked(
                connection, checked_before=now - _CHECK_EVERY, now=now, limit=_REMOVED_AT_A_TIME
            )
        gone = [source for source in unchecked if not await self._has_tracks(source)]
        removed = {source.id: source for source in (*unused, *gone)}
        for source in removed.values():
            blobs = f"{source_prefix(source.organization_id, source.id)}/"
            async with self._database.transaction() as connection:
                await store.delete(connection, source.id)
                await self._deletions.add(connection, blobs)
            await self._deletions.run(blobs)
        return len(removed)

    async def _missing(
        self, source: PlaybackSource, name: SegmentName, *, ahead: int = SEGMENTS_AHEAD
    ) -> list[int]:
        """Return the missing ones of a segment and those after it; raise if it cannot be made.

        A segment that failed as background work is not retried until it is requested.
        """
        assert source.outline is not None
        rendition = find_rendition(source.outline, name.rendition_id)
        last = min(name.number + ahead, rendition.segment_count)
        async with self._database.connection() as connection:
            found = await store.find_segments(
                connection, source.id, name.rendition_id, range(name.number, last + 1)
            )
        made = {each.number: each for each in found}
        if name.number in made and not self._is_good(made[name.number]):
            del made[name.number]
        return [n for n in range(max(1, name.number), last + 1) if n not in made]

    async def _request_segments(
        self, source: PlaybackSource, name: SegmentName, missing: list[int]
    ) -> None:
        """Queue the segment and those after it, as far as they are missing."""
        if not missing:
            return
        async with self._database.transaction() as connection:
            for number in missing:
                each = SegmentName(name.rendition_id, number)
                job = segment_job(source, each, ahead=number - name.number)
                await self._jobs.defer(connection, job)

    async def _is_made(self, source: PlaybackSource, name: SegmentName) -> bool | None:
        """Return True or None; raise the error if the segment failed a moment ago."""
        async with self._database.connection() as connection:
            made = await store.find_segments(
                connection, source.id, name.rendition_id, [name.number]
            )
        return self._is_good(made[0]) or None if made else None

    def _is_good(self, made: MadeSegment) -> bool:
        """Return whether a segment exists; raise the error if it failed a moment ago."""
        if made.failure is None:
            return True
        if self._clock.now() - made.made_at < FAILURES_LAST:
            raise rebuild_error(dict(made.failure), "playback")
        return False

    async def _has_tracks(self, source: PlaybackSource) -> bool:
        for key in (source.tracks.pictures_key, source.tracks.sound_key):
            if key is not None and await self._blobs.info(key) is None:
                return False
        return True


_RETRY_AFTER_S: Final = 2
# The delay after a lost notification.
_LOOK_EVERY_S: Final = 2.0

Found = TypeVar("Found")


async def wait_until_made(
    notifications: Notifications,
    source_id: SourceId,
    look: Callable[[], Awaitable[Found | None]],
    *,
    within_s: float,
) -> Found:
    """Return the result of `look` as soon as there is one, or raise `MediaNotReady`."""
    give_up_at = time.monotonic() + within_s
    async with notifications.follow(topic(source_id)) as follower:
        while (found := await look()) is None:
            left_s = give_up_at - time.monotonic()
            if left_s <= 0:
                raise MediaNotReady(
                    f"the media is not ready yet; try again in {_RETRY_AFTER_S} s",
                    retry_after_s=_RETRY_AFTER_S,
                )
            await follower.wait(min(left_s, _LOOK_EVERY_S))
    return found
