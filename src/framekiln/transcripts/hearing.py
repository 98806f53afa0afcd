"""The jobs that do the listening: one for each slice, and one that joins what they heard.

A worker that dies costs its slice, never more. Run twice, the later run counts.
"""

from dataclasses import dataclass

from framekiln.jobs.ending import patiently
from framekiln.jobs.model import JobContext
from framekiln.speech.captions import to_json
from framekiln.speech.engine import Slice, slice_at
from framekiln.speech.model import join_slices
from framekiln.storage.blob_store import BlobStore
from framekiln.transcripts.ending import Named, ending_badly
from framekiln.transcripts.kept import read_transcript
from framekiln.transcripts.model import Transcription, parts_prefix, slice_key, transcript_key
from framekiln.transcripts.recognizer import Recognizer
from framekiln.transcripts.samples import read_slice
from framekiln.transcripts.slices.store import TakenSlice
from framekiln.transcripts.work import TranscriptWork


@dataclass(frozen=True)
class HearSlice:
    """Handles `transcript.slice` jobs."""

    work: TranscriptWork
    blobs: BlobStore
    recognizer: Recognizer

    async def __call__(self, job: JobContext) -> None:
        """Write down what is said in a slice."""
        named = Named.of(job)
        async with ending_badly(self.work, self.blobs, job):
            taken = await self.work.take_slice(named.transcription_id, int(job.args["number"]))
            if taken is not None:
                await self._hear(taken)

    async def _hear(self, taken: TakenSlice) -> None:
        transcription = taken.transcription
        assert transcription.samples_key is not None, "slices come with the samples"
        part = part_of(transcription, taken.number)
        samples = await read_slice(self.blobs, transcription.samples_key, part)
        heard = await self.recognizer.hear(samples, part, transcription.language)
        key = slice_key(transcription, taken.number, fence=taken.fence)
        await self.blobs.put(key, to_json(heard).encode())
        if not await patiently(lambda: self.work.finish_slice(taken, blob_key=key)):
            await self.blobs.delete(key)


@dataclass(frozen=True)
class JoinTranscript:
    """Handles `transcript.join` jobs."""

    work: TranscriptWork
    blobs: BlobStore

    async def __call__(self, job: JobContext) -> None:
        """Make one transcript of all slices, record it, and clear the parts away."""
        named = Named.of(job)
        async with ending_badly(self.work, self.blobs, job):
            found = await self.work.all_heard(named.transcription_id)
            if found is None:
                return
            transcription, keys = found
            whole = join_slices([await read_transcript(self.blobs, key) for key in keys])
            key = transcript_key(transcription)
            await self.blobs.put(key, to_json(whole).encode())
            if await patiently(
                lambda: self.work.complete(transcription, transcript_key=key, said=whole)
            ):
                await self.blobs.delete_prefix(parts_prefix(transcription))
            elif not await self.work.is_complete(transcription.id):
                # Deleted with its file, or failed, and we have stored something since.
                await self.blobs.delete_prefix(named.prefix)


def part_of(transcription: Transcription, number: int) -> Slice:
    """Return a slice of the sound, with the margins that hearing it needs."""
    start_ms = number * transcription.work_slice_ms
    return slice_at(
        start_ms, start_ms + transcription.work_slice_ms, duration_ms=transcription.duration_ms
    )
