"""Completes an upload: joins the parts of tracks, checks images and captions and makes them ready.

Videos are processed by a worker instead.
"""

import tempfile
from contextlib import suppress
from pathlib import Path

from framekiln.db.notify import notify
from framekiln.db.pool import Database
from framekiln.files import part_store, store, track_store
from framekiln.files.content import inspect_content
from framekiln.files.events import FileEvents
from framekiln.files.index_upload import apply_completed_track, is_playable_track
from framekiln.files.model import (
    OWN_CONTENT,
    File,
    FileFacts,
    Track,
    progress_topic,
    source_key,
    track_key,
)
from framekiln.files.part_join import check_md5, stream_parts, write_joined
from framekiln.files.part_store import Part
from framekiln.jobs.failures import failure_of
from framekiln.kit.clock import Clock
from framekiln.kit.confined.budget import children_of
from framekiln.kit.errors import CompositionFailed, FramekilnError, InvalidInput, TooLarge
from framekiln.storage.blob_store import BlobStore
from framekiln.storage.deletions import BlobDeletions
from framekiln.storage.errors import BlobNotFound


class UploadCompletion:
    """Runs in the request that sends the last byte. Idempotent."""

    def __init__(
        self, database: Database, *, blobs: BlobStore, clock: Clock, events: FileEvents
    ) -> None:
        self._database = database
        self._events = events
        self._blobs = blobs
        self._deletions = BlobDeletions(database, blobs, clock)
        self._clock = clock

    async def finish(self, file: File, track: Track | None) -> None:
        """Join the parts into one blob; raises when the content of a small file is invalid."""
        track_id = track.track_id if track else OWN_CONTENT
        async with self._database.connection() as connection:
            parts = await part_store.list_all(connection, file.id, track_id)
        # Another request may complete it too: then the parts disappear.
        with suppress(BlobNotFound):
            if parts and track is not None:
                await self._finish_track(file, track, parts)
            elif parts:
                await self._finish_small(file, parts)
        await self._deletions.run(*(part.blob_key for part in parts))

    async def _finish_track(self, file: File, track: Track, parts: list[Part]) -> None:
        key = track_key(file.organization_id, file.id, track.track_id)
        await self._blobs.put_stream(key, stream_parts(self._blobs, parts))
        is_mp4 = await is_playable_track(self._blobs, key)
        now = self._clock.now()
        async with self._database.transaction() as connection:
            await store.lock(connection, file.organization_id, file.id)
            is_new = await track_store.set_complete(connection, file.id, track.track_id)
            await part_store.delete_all(connection, file.id, track.track_id)
            await self._deletions.add(connection, *(part.blob_key for part in parts))
            if is_new:
                await apply_completed_track(
                    connection, track, is_mp4=is_mp4, events=self._events, now=now
                )

    async def _finish_small(self, file: File, parts: list[Part]) -> None:
        with tempfile.TemporaryDirectory(prefix="framekiln-file-") as name:
            path = Path(name) / "source"
            try:
                check_md5(file, await write_joined(self._blobs, parts, path))
                with children_of(str(file.organization_id)):
                    facts = await inspect_content(file.type, path)
            except FramekilnError as error:
                if _is_content_at_fault(error):
                    await self._refuse(file, error, parts)
                raise
            await self._blobs.put_file(source_key(file.organization_id, file.id), path)
        await self._accept(file, facts, parts)

    async def _accept(self, file: File, facts: FileFacts, parts: list[Part]) -> None:
        now = self._clock.now()
        async with self._database.transaction() as connection:
            await store.lock(connection, file.organization_id, file.id)
            is_ready = await store.set_ready(connection, file.id, facts, has_source=True, now=now)
            await part_store.delete_all(connection, file.id, OWN_CONTENT)
            await self._deletions.add(connection, *(part.blob_key for part in parts))
            await notify(connection, progress_topic(file.id))
            if is_ready:
                await self._events.record(connection, file.id)
        if not is_ready:
            # It was deleted or has expired.
            await self._blobs.delete(source_key(file.organization_id, file.id))

    async def _refuse(self, file: File, error: FramekilnError, parts: list[Part]) -> None:
        async with self._database.transaction() as connection:
            failure = failure_of(error)
            if await store.fail(connection, file.id, failure, now=self._clock.now()):
                await self._events.record(connection, file.id)
            await part_store.delete_all(connection, file.id, OWN_CONTENT)
            await self._deletions.add(connection, *(part.blob_key for part in parts))
            await notify(connection, progress_topic(file.id))
        await self._deletions.run(*(part.blob_key for part in parts))


def _is_content_at_fault(error: FramekilnError) -> bool:
    return isinstance(error, InvalidInput | TooLarge | CompositionFailed)
