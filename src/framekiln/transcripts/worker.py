"""The operations of workers on transcriptions, from created to complete or failed.

Each method is one transaction under the transcription's row lock, so its workers never race.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from framekiln.db.notify import notify
from framekiln.db.pool import Connection, Database
from framekiln.files.errors import FileExpired
from framekiln.files.lookup import find_file
from framekiln.jobs.failures import Failure
from framekiln.jobs.queue import JobQueue
from framekiln.kit.clock import Clock
from framekiln.kit.ids import TranscriptionId
from framekiln.speech.model import Transcript
from framekiln.storage.deletions import BlobDeletions
from framekiln.transcripts import slice_store, store
from framekiln.transcripts.errors import TranscriptionKillsWorkers
from framekiln.transcripts.events import event_of
from framekiln.transcripts.jobs import join_job, slice_job
from framekiln.transcripts.model import (
    Transcription,
    TranscriptionStatus,
    parts_prefix,
    prefix_of,
    topic,
)
from framekiln.transcripts.slice_store import TakenSpeechSlice
from framekiln.webhooks.outbox import Outbox

MAX_TAKES: Final = 5
"""Audio, or a slice of it, that crashed this many workers is not tried again."""


@dataclass(frozen=True)
class TakenAudio:
    """A transcription that one worker has taken to prepare its audio."""

    transcription: Transcription
    fence: int


@dataclass(frozen=True)
class PreparedAudio:
    """The decoded audio: its blob, its duration, and its speech."""

    samples_key: str
    duration_ms: int
    language: str | None


class TranscriptWorker:
    """The transcriptions of all organizations, for workers."""

    def __init__(
        self,
        database: Database,
        *,
        jobs: JobQueue,
        outbox: Outbox,
        clock: Clock,
        deletions: BlobDeletions,
    ) -> None:
        self._deletions = deletions
        self._database = database
        self._jobs = jobs
        self._outbox = outbox
        self._clock = clock

    async def take_audio(
        self, transcription_id: TranscriptionId, *, attempt: int
    ) -> TakenAudio | None:
        """Take the preparation, for an attempt of its job; None if there is nothing to prepare."""
        async with self._locked(transcription_id) as (connection, transcription):
            fence = await store.take(connection, transcription_id)
        if transcription is None or fence is None:
            return None
        if attempt > MAX_TAKES:
            raise TranscriptionKillsWorkers(
                f"{MAX_TAKES} workers died while they decoded its sound"
            )
        return TakenAudio(transcription, fence)

    async def save_audio(self, taken: TakenAudio, sound: PreparedAudio) -> bool:
        """Record the decoded audio and queue its slices; return False if it is no longer ours."""
        transcription_id = taken.transcription.id
        async with self._locked(transcription_id) as (connection, _):
            prepared = await store.set_prepared(
                connection,
                transcription_id,
                fence=taken.fence,
                samples_key=sound.samples_key,
                duration_ms=sound.duration_ms,
                language=sound.language,
            )
            if prepared is None:
                return False
            count = prepared.slice_count
            await slice_store.insert(connection, transcription_id, count)
            jobs = [slice_job(prepared, number) for number in range(count)]
            # Audio shorter than a millisecond has no slices.
            await self._jobs.defer_many(connection, jobs or [join_job(prepared)])
            return True

    async def take_slice(
        self, transcription_id: TranscriptionId, number: int, *, attempt: int
    ) -> TakenSpeechSlice | None:
        """Take a slice, for an attempt of its job; return None if it is no longer needed."""
        async with self._locked(transcription_id) as (connection, transcription):
            if transcription is None or transcription.status.is_terminal:
                return None
            fence = await slice_store.take(connection, transcription_id, number)
            if fence is None:
                return None
            if begun := await store.set_transcribing(connection, transcription_id):
                await self._outbox.record(connection, event_of(begun))
        if attempt > MAX_TAKES:
            raise TranscriptionKillsWorkers(
                f"{MAX_TAKES} workers died while they transcribed slice {number}"
            )
        return TakenSpeechSlice(transcription, number, fence)

    async def finish_slice(self, taken: TakenSpeechSlice, *, blob_key: str) -> bool:
        """Record a slice; the last one queues the join. Return False if it is no longer needed."""
        transcription_id = taken.transcription.id
        async with self._locked(transcription_id) as (connection, transcription):
            if transcription is None or transcription.status.is_terminal:
                return False
            if not await slice_store.finish(connection, taken, blob_key=blob_key):
                return False
            if await slice_store.count_unfinished(connection, transcription_id) == 0:
                await self._jobs.defer(connection, join_job(transcription))
            return True

    async def finished_slices(
        self, transcription_id: TranscriptionId
    ) -> tuple[Transcription, list[str]] | None:
        """Return a transcription and the keys of its slices; None if it needs no joining."""
        async with self._database.connection() as connection:
            transcription = await store.find_any(connection, transcription_id)
            if transcription is None or transcription.status.is_terminal:
                return None
            keys = await slice_store.keys(connection, transcription_id)
        return transcription, [key for key in keys if key is not None]

    async def complete(
        self, transcription: Transcription, *, transcript_key: str, transcript: Transcript
    ) -> bool:
        """Complete it, and delete its parts; return False if it has already ended.

        Raises if its file has expired.
        """
        owner, now = transcription.organization_id, self._clock.now()
        unused = f"{parts_prefix(transcription)}/"
        async with self._locked(transcription.id) as (connection, _):
            file = await find_file(connection, owner, transcription.file_id)
            if file is None:
                return False
            if file.has_expired(now):
                raise FileExpired("the file expired before its transcription was complete")
            ended = await store.complete(
                connection,
                transcription.id,
                transcript_key=transcript_key,
                transcript=transcript,
                now=now,
            )
            if ended is not None:
                await self._deletions.add(connection, unused)
                await self._outbox.record(connection, event_of(ended))
        if ended is not None:
            await self._deletions.run(unused)
        return ended is not None

    async def is_complete(self, transcription_id: TranscriptionId) -> bool:
        """Whether it exists and is complete."""
        async with self._database.connection() as connection:
            found = await store.find_any(connection, transcription_id)
        return found is not None and found.status is TranscriptionStatus.COMPLETE

    async def fail(self, transcription_id: TranscriptionId, failure: Failure) -> None:
        """Mark it failed, and delete its blobs, unless it has already ended."""
        async with self._locked(transcription_id) as (connection, _):
            ended = await store.fail(connection, transcription_id, failure, now=self._clock.now())
            if ended is not None:
                await self._deletions.add(connection, f"{prefix_of(ended)}/")
                await self._outbox.record(connection, event_of(ended))
        if ended is not None:
            await self._deletions.run(f"{prefix_of(ended)}/")

    @asynccontextmanager
    async def _locked(
        self, transcription_id: TranscriptionId
    ) -> AsyncIterator[tuple[Connection, Transcription | None]]:
        """Lock the transcription's row; notify followers of changes."""
        async with self._database.transaction() as connection:
            yield connection, await store.lock(connection, transcription_id)
            await notify(connection, topic(transcription_id))
