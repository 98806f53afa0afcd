"""The operations of owners on transcriptions: create, follow and read them."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from framekiln.db.notify import Follower, Notifications
from framekiln.db.pool import Connection, Database
from framekiln.files.lookup import lock_file
from framekiln.files.model import File, Track
from framekiln.files.service import Files, file_not_found
from framekiln.identity.model import Caller
from framekiln.jobs.queue import JobQueue
from framekiln.kit.clock import Clock
from framekiln.kit.ids import FileId, OrganizationId, TranscriptionId, new_uuid
from framekiln.quotas.model import Quota
from framekiln.quotas.service import Quotas
from framekiln.speech.languages import check_language
from framekiln.speech.model import Transcript, join_slices
from framekiln.storage.blob_store import BlobStore
from framekiln.storage.errors import BlobNotFound
from framekiln.transcripts import correction_store, slice_store, store
from framekiln.transcripts.corrections import (
    TranscriptCorrection,
    check_correction,
    merge_corrections,
)
from framekiln.transcripts.documents import page_captions, read_transcript
from framekiln.transcripts.errors import (
    CorrectionNotFound,
    InvalidCorrection,
    NoAudioTrack,
    NotAnAudioTrack,
    TranscriptionNotComplete,
    TranscriptionNotFound,
)
from framekiln.transcripts.events import event_of
from framekiln.transcripts.jobs import prepare_job
from framekiln.transcripts.model import (
    WORK_SLICE_MS,
    NewTranscription,
    Transcription,
    TranscriptionProgress,
    TranscriptionRequest,
    TranscriptionStatus,
    topic,
)
from framekiln.webhooks.outbox import Outbox


class Transcripts:
    """The transcriptions of all organizations, for their owners."""

    def __init__(  # noqa: PLR0913 - each is a part of the application
        self,
        database: Database,
        *,
        files: Files,
        jobs: JobQueue,
        blobs: BlobStore,
        notifications: Notifications,
        outbox: Outbox,
        clock: Clock,
        languages: frozenset[str],
        quotas: Quotas,
    ) -> None:
        self._quotas = quotas
        self._database = database
        self._files = files
        self._jobs = jobs
        self._blobs = blobs
        self._notifications = notifications
        self._outbox = outbox
        self._clock = clock
        self._languages = languages

    async def start(self, caller: Caller, ask: TranscriptionRequest) -> tuple[Transcription, bool]:
        """Start the transcription of a track, or return the existing one, and whether it is new.

        A transcription that failed, or was made for another language, is made again. A language
        that the speech engine does not support is refused here, before any work starts.
        """
        language = check_language(ask.language, self._languages) if ask.language else None
        organization_id = caller.organization.id
        file = await self._files.get(organization_id, ask.file_id)
        self._files.check_readable(file)
        tracks = await self._files.tracks(organization_id, file.id)
        track = choose_track(file.id, tracks, ask.track_id)
        async with self._database.transaction() as connection:
            # Concurrent requests for the same file wait here, and so does a deletion.
            if await lock_file(connection, organization_id, file.id) is None:
                raise file_not_found(file.id)
            found = await store.find_newest(
                connection, organization_id, file.id, track_id=track.track_id
            )
            if found is not None and found.satisfies(language):
                return found, False
            await self._quotas.check(connection, organization_id, Quota.QUEUED_JOBS)
            created = await store.insert(
                connection,
                TranscriptionId(new_uuid()),
                _new(file, track, language),
                organization_id=organization_id,
                api_key_id=caller.api_key_id,
                now=self._clock.now(),
            )
            await self._jobs.defer(connection, prepare_job(created))
            await self._outbox.record(connection, event_of(created))
        return created, True

    async def get(
        self, organization_id: OrganizationId, transcription_id: TranscriptionId
    ) -> Transcription:
        """Return a transcription of the organization."""
        async with self._database.connection() as connection:
            found = await store.find(connection, organization_id, transcription_id)
        if found is None:
            raise TranscriptionNotFound(f"there is no transcription {transcription_id}")
        return found

    async def newest(
        self, organization_id: OrganizationId, file_id: FileId, *, complete_first: bool = False
    ) -> Transcription:
        """Return the newest transcription of a file; optionally prefer an older complete one."""
        await self._files.get(organization_id, file_id)
        async with self._database.connection() as connection:
            found = await store.find_newest(
                connection, organization_id, file_id, complete_first=complete_first
            )
        if found is None:
            raise TranscriptionNotFound(
                f"file {file_id} has no transcription; POST /api/v1/files/{file_id}/transcribe"
                " creates one"
            )
        return found

    async def page(
        self,
        organization_id: OrganizationId,
        *,
        file_id: FileId | None,
        before_position: int | None,
        limit: int,
    ) -> list[Transcription]:
        """Return transcriptions of the organization, newest first."""
        async with self._database.connection() as connection:
            return await store.list_newest(
                connection,
                organization_id,
                file_id=file_id,
                before_position=before_position,
                limit=limit,
            )

    async def transcript(
        self, transcription: Transcription, *, corrected: bool = True
    ) -> Transcript:
        """Return the whole transcript with its corrections, or as it was recognized.

        Raises if it is not complete.
        """
        await self._check_file(transcription)
        if transcription.transcript_key is None:
            raise _not_complete(transcription, "it has no text")
        recognized = await read_transcript(self._blobs, transcription.transcript_key)
        return await self._corrected(transcription, recognized) if corrected else recognized

    async def corrections(self, transcription: Transcription) -> list[TranscriptCorrection]:
        """Return the corrections of the transcribed track, in order of time."""
        async with self._database.connection() as connection:
            return await correction_store.list_all(connection, transcription)

    async def correct(
        self, transcription: Transcription, *, start_ms: int, end_ms: int, text: str
    ) -> TranscriptCorrection:
        """Replace what is said in a span, and the corrections within it."""
        if start_ms >= transcription.duration_ms:
            raise InvalidCorrection(
                f"the correction starts at {start_ms} ms, but the track ends at"
                f" {transcription.duration_ms} ms",
                field="start_ms",
            )
        recognized = await self.transcript(transcription, corrected=False)
        original = recognized.between(start_ms, end_ms).text
        new = TranscriptCorrection(start_ms, end_ms, original, text, self._clock.now())
        async with self._locked_file(transcription) as connection:
            known = await correction_store.list_all(connection, transcription)
            check_correction(new, known)
            await correction_store.replace(connection, transcription, new)
        return new

    async def remove_correction(
        self, transcription: Transcription, start_ms: int
    ) -> TranscriptCorrection:
        """Delete the correction that starts at a time: what was recognized is read again."""
        async with self._locked_file(transcription) as connection:
            removed = await correction_store.delete(connection, transcription, start_ms)
        if removed is None:
            raise CorrectionNotFound(
                f"no correction of transcription {transcription.id} starts at {start_ms} ms"
            )
        return removed

    async def fragment(self, transcription: Transcription, number: int) -> Transcript:
        """Return the transcript of slice `number`, which may be available before the whole is."""
        start_ms = number * transcription.work_slice_ms
        transcript = await self._around(transcription, number)
        return transcript.between(start_ms, start_ms + transcription.work_slice_ms)

    async def for_file(
        self, organization_id: OrganizationId, file_id: FileId, *, corrected: bool = True
    ) -> Transcript:
        """Return the transcript of a file, or raise why there is none."""
        found = await self.newest(organization_id, file_id, complete_first=True)
        return await self.transcript(found, corrected=corrected)

    async def captions_json(self, organization_id: OrganizationId, file_id: FileId) -> bytes:
        """Return the captions of a file as pages read them, or raise why there are none."""
        transcript = await self.for_file(organization_id, file_id)
        return json.dumps(page_captions(transcript)).encode()

    async def progress(self, transcription_id: TranscriptionId) -> TranscriptionProgress:
        """Return the progress of a transcription."""
        async with self._database.connection() as connection:
            progress = await store.find_progress(connection, transcription_id)
        if progress is None:
            raise TranscriptionNotFound("the transcription was deleted with its file")
        return progress

    @asynccontextmanager
    async def follow(self, transcription_id: TranscriptionId) -> AsyncIterator[Follower]:
        """Yield a follower that wakes whenever a transcription's progress or status changes."""
        async with self._notifications.follow(topic(transcription_id)) as follower:
            yield follower

    async def _around(self, transcription: Transcription, number: int) -> Transcript:
        """Return the transcript of a slice and its neighbours, because words may cross a border."""
        if transcription.status is TranscriptionStatus.COMPLETE:
            return await self.transcript(transcription)
        await self._check_file(transcription)
        async with self._database.connection() as connection:
            keys = await slice_store.keys(
                connection, transcription.id, first=number - 1, last=number + 1
            )
        if None in keys or transcription.samples_key is None:
            raise _not_complete(transcription, f"fragment {number} is not ready yet")
        try:
            parts = [await read_transcript(self._blobs, key) for key in keys if key is not None]
        except BlobNotFound:
            # It was completed just now, and the parts were deleted.
            again = await self.get(transcription.organization_id, transcription.id)
            return await self.transcript(again)
        return await self._corrected(transcription, join_slices(parts))

    async def _corrected(self, transcription: Transcription, recognized: Transcript) -> Transcript:
        return merge_corrections(recognized, await self.corrections(transcription))

    @asynccontextmanager
    async def _locked_file(self, transcription: Transcription) -> AsyncIterator[Connection]:
        """Lock the file, so that nobody else changes its corrections meanwhile."""
        organization_id, file_id = transcription.organization_id, transcription.file_id
        async with self._database.transaction() as connection:
            if await lock_file(connection, organization_id, file_id) is None:
                raise file_not_found(file_id)
            yield connection

    async def _check_file(self, transcription: Transcription) -> None:
        """Raise if the file has expired, because its transcript expires with it."""
        file = await self._files.get(transcription.organization_id, transcription.file_id)
        self._files.check_readable(file)


def _new(file: File, track: Track, language: str | None) -> NewTranscription:
    return NewTranscription(
        file_id=file.id,
        track_id=track.track_id,
        asked_language=language,
        duration_ms=track.duration_ms,
        work_slice_ms=WORK_SLICE_MS,
    )


def _not_complete(transcription: Transcription, so: str) -> TranscriptionNotComplete:
    reason = f": {transcription.failure.message}" if transcription.failure else ""
    return TranscriptionNotComplete(
        f"transcription {transcription.id} is {transcription.status}, so {so}{reason}",
        status=transcription.status,
    )


def choose_track(file_id: FileId, tracks: Sequence[Track], wanted: int | None) -> Track:
    """Return the requested track, or the first audio track; raise if it is not an audio track."""
    sounds = [track for track in tracks if track.type == "audio" and track.is_complete]
    if not sounds:
        raise NoAudioTrack(f"file {file_id} has no audio track to transcribe")
    if wanted is None:
        return min(sounds, key=lambda track: track.track_id)
    found = next((track for track in sounds if track.track_id == wanted), None)
    if found is None:
        known = ", ".join(str(track.track_id) for track in sounds)
        raise NotAnAudioTrack(
            f"track {wanted} of file {file_id} is not an audio track; audio tracks: {known}",
            field="trackId",
        )
    return found
