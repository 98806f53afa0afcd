"""Job handlers of transcriptions: prepare the audio, transcribe each slice, join the results.

The audio is decoded once, in a confined child process, and its language detected. It is stored as
one blob of raw samples until the end: each slice reads its own bytes, so nothing is decoded twice.
"""

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import UUID

from framekiln.files.service import Files
from framekiln.jobs.failures import fail_on_last_attempt, retry_while_database_down
from framekiln.jobs.model import JobContext
from framekiln.kit.confined.job_folders import JobFolders, open_job_folders
from framekiln.kit.confined.limits import ResourceLimits
from framekiln.kit.confined.run import run_confined
from framekiln.kit.ids import FileId, OrganizationId, TranscriptionId
from framekiln.media.audio.speech_samples import MAX_DURATION_S, SAMPLE_BYTES, SAMPLE_HZ
from framekiln.media.task_names import SPEECH_SAMPLES_TASK
from framekiln.speech.captions import to_json
from framekiln.speech.model import join_slices
from framekiln.speech.transcriber import SpeechSlice, slice_with_margins
from framekiln.storage.blob_store import BlobStore
from framekiln.storage.new_blobs import NewBlobs
from framekiln.transcripts.documents import read_transcript
from framekiln.transcripts.model import (
    Transcription,
    samples_key,
    slice_key,
    transcript_key,
    transcription_prefix,
)
from framekiln.transcripts.recognizer import Recognizer
from framekiln.transcripts.samples import duration_ms, read_local, read_slice
from framekiln.transcripts.slice_store import TakenSpeechSlice
from framekiln.transcripts.worker import PreparedAudio, TakenAudio, TranscriptWorker

_LIMITS: Final = ResourceLimits(
    cpu_s=2 * 3600,
    memory_bytes=1 << 30,
    file_bytes=(MAX_DURATION_S + 60) * SAMPLE_HZ * SAMPLE_BYTES,
    wall_s=3600,
)
# The language is that of the first speech; after ten minutes without any, each slice detects its
# own.
_LISTEN_MS: Final = 120_000
_LISTEN_AT_MOST_MS: Final = 600_000


@dataclass(frozen=True)
class PrepareAudio:
    """Handles `transcript.prepare` jobs."""

    work: TranscriptWorker
    files: Files
    blobs: BlobStore
    new_blobs: NewBlobs
    recognizer: Recognizer

    async def __call__(self, job: JobContext) -> None:
        """Decode the audio and queue its slices."""
        named = TranscriptionRef.of(job)
        async with fail_transcription_on_last_attempt(self.work, job):
            taken = await self.work.take_audio(named.transcription_id, attempt=job.attempt)
            if taken is not None:
                await self._prepare(taken)

    async def _prepare(self, taken: TakenAudio) -> None:
        with open_job_folders("speech") as place:
            whole_ms = await self._decode(taken.transcription, place)
            path = place.folder / "samples"
            language = await self._language(taken.transcription, path, whole_ms)
            key = samples_key(taken.transcription)
            await self.new_blobs.put_file(key, path)
        if not await self.work.save_audio(taken, PreparedAudio(key, whole_ms, language)):
            await self.new_blobs.discard(key)

    async def _decode(self, transcription: Transcription, place: JobFolders) -> int:
        """Write the samples and return their duration."""
        file = await self.files.get(transcription.organization_id, transcription.file_id)
        stream_index = 0
        if file.has_source:
            # The track file may have been re-encoded, which could change the result.
            await self.files.fetch_source(file, place.source)
            stream_index = transcription.track_id - 1
        else:
            await self.files.fetch_track(file, transcription.track_id, place.source)
        result = await run_confined(
            SPEECH_SAMPLES_TASK,
            {"source": str(place.source), "stream_index": stream_index, "samples": "samples"},
            limits=_LIMITS,
            folder=place.folder,
            readable=[place.source],
        )
        return duration_ms(int(result["sample_count"]))

    async def _language(
        self, transcription: Transcription, path: Path, whole_ms: int
    ) -> str | None:
        """Return the requested or configured language, otherwise the first one spoken."""
        chosen = transcription.asked_language or self.recognizer.settings.language
        if chosen is not None:
            return await self.recognizer.check_language(chosen)
        for start_ms in range(0, min(whole_ms, _LISTEN_AT_MOST_MS), _LISTEN_MS):
            samples = read_local(path, start_ms, start_ms + _LISTEN_MS)
            if found := await self.recognizer.detect_language(samples):
                return found
        return None


@dataclass(frozen=True)
class TranscriptionRef:
    """The transcription of a job; its row may have been deleted before the job runs."""

    transcription_id: TranscriptionId
    organization_id: OrganizationId
    file_id: FileId

    @classmethod
    def of(cls, job: JobContext) -> "TranscriptionRef":
        """Parse the arguments of a job."""
        return cls(
            TranscriptionId(UUID(job.args["transcription_id"])),
            OrganizationId(UUID(job.args["organization_id"])),
            FileId(UUID(job.args["file_id"])),
        )

    @property
    def prefix(self) -> str:
        """The key prefix of its blobs."""
        return transcription_prefix(self.organization_id, self.file_id, self.transcription_id)


def fail_transcription_on_last_attempt(
    work: TranscriptWorker, job: JobContext
) -> AbstractAsyncContextManager[None]:
    """Mark it failed when its job fails for good, but not while the queue still retries."""
    named = TranscriptionRef.of(job)
    return fail_on_last_attempt(job, lambda failure: work.fail(named.transcription_id, failure))


@dataclass(frozen=True)
class TranscribeSlice:
    """Handles `transcript.slice` jobs."""

    work: TranscriptWorker
    blobs: BlobStore
    new_blobs: NewBlobs
    recognizer: Recognizer

    async def __call__(self, job: JobContext) -> None:
        """Transcribe a slice."""
        named = TranscriptionRef.of(job)
        async with fail_transcription_on_last_attempt(self.work, job):
            taken = await self.work.take_slice(
                named.transcription_id, int(job.args["number"]), attempt=job.attempt
            )
            if taken is not None:
                await self._transcribe(taken)

    async def _transcribe(self, taken: TakenSpeechSlice) -> None:
        transcription = taken.transcription
        assert transcription.samples_key is not None, "slices come with the samples"
        part = slice_of(transcription, taken.number)
        samples = await read_slice(self.blobs, transcription.samples_key, part)
        transcript = await self.recognizer.transcribe_slice(samples, part, transcription.language)
        new = slice_key(transcription, taken.number)
        [key] = await retry_while_database_down(lambda: self.new_blobs.register(new))
        await self.blobs.put(key, to_json(transcript).encode())
        if not await retry_while_database_down(lambda: self.work.finish_slice(taken, blob_key=key)):
            await self.new_blobs.discard(key)


@dataclass(frozen=True)
class JoinTranscript:
    """Handles `transcript.join` jobs."""

    work: TranscriptWorker
    blobs: BlobStore

    async def __call__(self, job: JobContext) -> None:
        """Join the transcripts of all slices, record the result, and delete the parts."""
        named = TranscriptionRef.of(job)
        async with fail_transcription_on_last_attempt(self.work, job):
            found = await self.work.finished_slices(named.transcription_id)
            if found is None:
                return
            transcription, keys = found
            whole = join_slices([await read_transcript(self.blobs, key) for key in keys])
            key = transcript_key(transcription)
            await self.blobs.put(key, to_json(whole).encode())
            is_complete = await retry_while_database_down(
                lambda: self.work.complete(transcription, transcript_key=key, transcript=whole)
            )
            if not is_complete and not await self.work.is_complete(transcription.id):
                # Deleted with its file, or failed, and blobs have been stored since.
                await self.blobs.delete_prefix(named.prefix)


def slice_of(transcription: Transcription, number: int) -> SpeechSlice:
    """Return a slice of the audio with its margins."""
    start_ms = number * transcription.work_slice_ms
    return slice_with_margins(
        start_ms, start_ms + transcription.work_slice_ms, duration_ms=transcription.duration_ms
    )
