"""The job that begins a transcription: decode the sound once, find its language, cut it up.

Decoding happens in a confined child. The sound is kept as one blob of raw samples until the end:
each slice reads its own bytes of it, so that nothing is decoded twice.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from framekiln.files.service import Files
from framekiln.jobs.model import JobContext
from framekiln.kit.confined.limits import Limits
from framekiln.kit.confined.run import run_confined
from framekiln.kit.confined.workplace import Workplace, open_workplace
from framekiln.media.hearing.speech_samples import LONGEST_S, SAMPLE_BYTES, SAMPLE_HZ
from framekiln.storage.blob_store import BlobStore
from framekiln.transcripts.ending import Named, ending_badly
from framekiln.transcripts.model import Transcription, samples_key
from framekiln.transcripts.recognizer import Recognizer
from framekiln.transcripts.samples import duration_ms, read_local
from framekiln.transcripts.work import PreparedSound, TakenSound, TranscriptWork

_LIMITS: Final = Limits(
    cpu_s=2 * 3600,
    memory_bytes=1 << 30,
    file_bytes=(LONGEST_S + 60) * SAMPLE_HZ * SAMPLE_BYTES,
    wall_s=3600,
)
# The language is that of the first words; ten minutes without any, and each slice finds its own.
_LISTEN_MS: Final = 120_000
_LISTEN_AT_MOST_MS: Final = 600_000


@dataclass(frozen=True)
class PrepareSound:
    """Handles `transcript.prepare` jobs."""

    work: TranscriptWork
    files: Files
    blobs: BlobStore
    recognizer: Recognizer

    async def __call__(self, job: JobContext) -> None:
        """Make the sound ready to be heard, and have its slices heard."""
        named = Named.of(job)
        async with ending_badly(self.work, self.blobs, job):
            taken = await self.work.take_sound(named.transcription_id)
            if taken is not None:
                await self._prepare(taken)

    async def _prepare(self, taken: TakenSound) -> None:
        with open_workplace("speech") as place:
            whole_ms = await self._decode(taken.transcription, place)
            path = place.folder / "samples"
            language = await self._language(taken.transcription, path, whole_ms)
            key = samples_key(taken.transcription, fence=taken.fence)
            await self.blobs.put_file(key, path)
        if not await self.work.save_sound(taken, PreparedSound(key, whole_ms, language)):
            await self.blobs.delete(key)

    async def _decode(self, transcription: Transcription, place: Workplace) -> int:
        """Write the samples and return how long they are."""
        file = await self.files.get(transcription.organization_id, transcription.file_id)
        stream_index = 0
        if file.has_source:
            # Its track may have been encoded anew, and sound different to a recognizer.
            await self.files.fetch_source(file, place.source)
            stream_index = transcription.track_id - 1
        else:
            await self.files.fetch_track(file, transcription.track_id, place.source)
        told = await run_confined(
            "framekiln.media.hearing.speech_samples:task",
            {"source": str(place.source), "stream_index": stream_index, "samples": "samples"},
            limits=_LIMITS,
            folder=place.folder,
            readable=[place.source],
        )
        return duration_ms(int(told["sample_count"]))

    async def _language(
        self, transcription: Transcription, path: Path, whole_ms: int
    ) -> str | None:
        """Return the language that was asked for or set, else the one that is spoken first."""
        chosen = transcription.asked_language or self.recognizer.settings.language
        if chosen is not None:
            return await self.recognizer.check_language(chosen)
        for start_ms in range(0, min(whole_ms, _LISTEN_AT_MOST_MS), _LISTEN_MS):
            samples = read_local(path, start_ms, start_ms + _LISTEN_MS)
            if found := await self.recognizer.detect_language(samples):
                return found
        return None
