"""transcribe: the speech of the first audio track, as segments and words.

A file that is ready is transcribed once for all who ask: steps wait for that transcription, and a
window takes its part of it. Only a window of a file that still arrives is listened to here.
"""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from framekiln.db.pool import Database
from framekiln.files.model import FileStatus
from framekiln.identity.lookup import find_initiator
from framekiln.identity.model import Caller
from framekiln.jobs.failures import Failure
from framekiln.kit.canonical_json import canonical_json
from framekiln.kit.confined.job_folders import open_job_folders
from framekiln.kit.confined.limits import ResourceLimits
from framekiln.kit.confined.run import run_confined
from framekiln.kit.errors import CompositionFailed, FramekilnError
from framekiln.kit.ids import TranscriptionId
from framekiln.media.errors import UnreadableMedia
from framekiln.media.task_names import SPAN_SAMPLES_TASK
from framekiln.pipelines.definition.windows import Window
from framekiln.pipelines.errors import DecodeFailed, RunNotFound
from framekiln.pipelines.execution.step_media import StepMedia
from framekiln.pipelines.execution.step_type import RetryLater, StepServices, StepType, StepWork
from framekiln.pipelines.jobs import LIGHT_STEPS_QUEUE, STEPS_QUEUE
from framekiln.pipelines.model.run import Run
from framekiln.pipelines.outputs.model import (
    MAX_ANNOTATIONS,
    MAX_OUTPUT_BYTES,
    Annotation,
    StepOutput,
)
from framekiln.pipelines.scheduling.run_state import MediaState
from framekiln.pipelines.schema.records import as_json
from framekiln.speech.model import Transcript, join_slices
from framekiln.transcripts.errors import NoAudioTrack
from framekiln.transcripts.model import Transcription, TranscriptionRequest, TranscriptionStatus
from framekiln.transcripts.service import Transcripts

if TYPE_CHECKING:
    from framekiln.transcripts.recognizer import Recognizer

_LIMITS: Final = ResourceLimits(cpu_s=3600, memory_bytes=1 << 30, file_bytes=512 << 20, wall_s=3600)


class TranscriptionFailed(CompositionFailed):
    """The transcription that a step had made failed; another attempt has another one made."""

    code = "transcription_failed"
    retryable = True


class TranscribeStep(StepType):
    """Waits for a transcription, or listens itself to what still arrives."""

    name = "transcribe"
    segmentable = True

    def queue(self, media: MediaState) -> str:
        """Return the queue: other jobs make the transcription of a whole file."""
        return STEPS_QUEUE if media is MediaState.ARRIVING else LIGHT_STEPS_QUEUE

    def open_runner(self, services: StepServices) -> "TranscribeRunner":
        """Return what runs transcribe steps."""
        return TranscribeRunner(
            services.database, StepMedia.of(services), services.transcripts, services.recognizer
        )


STEP_TYPE: Final = TranscribeStep()


@dataclass(frozen=True)
class TranscribeRunner:
    """Runs transcribe steps."""

    database: Database
    media: StepMedia
    transcripts: Transcripts
    recognizer: "Recognizer"

    async def run(self, work: StepWork) -> StepOutput | RetryLater:
        """Return what is said; nothing is said in a file without sound."""
        if work.window is not None and work.file.status is not FileStatus.READY:
            return await asyncio.to_thread(
                _output, await self._listen(work, work.window), work.window
            )
        try:
            transcription = await self._transcription(work)
        except NoAudioTrack:
            return _output(Transcript(None), None)
        if transcription.failure is not None:
            raise _failed(transcription, transcription.failure)
        if transcription.status is not TranscriptionStatus.COMPLETE:
            progress = await self.transcripts.progress(transcription.id)
            return RetryLater(done_ms=int(progress.fraction * transcription.duration_ms))
        transcript = await self.transcripts.transcript(transcription)
        return await asyncio.to_thread(_output, transcript, work.window)

    async def _transcription(self, work: StepWork) -> Transcription:
        """Return the transcription of the file as it stands; have it made if there is none."""
        if work.note is not None:
            known = TranscriptionId(UUID(work.note["transcription_id"]))
            return await self.transcripts.get(work.run.organization_id, known)
        caller = await caller_of(self.database, work.run)
        transcription, _ = await self.transcripts.start(caller, TranscriptionRequest(work.file.id))
        await work.remember({"transcription_id": str(transcription.id)})
        return transcription

    async def _listen(self, work: StepWork, window: Window) -> Transcript:
        # The api has this module, too, and needs no numbers of samples.
        from framekiln.speech.transcriber import MARGIN_MS  # noqa: PLC0415

        first_ms = max(0, window.media_start_ms - MARGIN_MS)
        with open_job_folders("speech") as place:
            if not await self.media.fetch(work, "audio", place.source, lead_ms=MARGIN_MS):
                return Transcript(None)
            await run_confined(
                SPAN_SAMPLES_TASK,
                {
                    "source": str(place.source),
                    "samples": "samples",
                    "from_ms": first_ms,
                    "until_ms": window.end_ms,
                },
                limits=_LIMITS,
                folder=place.folder,
                readable=[place.source],
            )
            transcript = await self._recognize(place.folder / "samples", window.end_ms - first_ms)
        return transcript.shifted(first_ms)

    async def _recognize(self, path: Path, duration_ms: int) -> Transcript:
        """Return what is said, with times from the beginning of the samples."""
        from framekiln.speech.transcriber import SLICE_MS, slice_with_margins  # noqa: PLC0415
        from framekiln.transcripts.samples import read_local  # noqa: PLC0415

        slices: list[Transcript] = []
        language = self.recognizer.settings.language
        for start_ms in range(0, duration_ms, SLICE_MS):
            part = slice_with_margins(start_ms, start_ms + SLICE_MS, duration_ms=duration_ms)
            samples = await asyncio.to_thread(
                read_local, path, part.first_ms, part.end_ms + part.tail_ms
            )
            slices.append(await self.recognizer.transcribe_slice(samples, part, language))
            language = language or slices[-1].language
        return join_slices(slices)


async def caller_of(database: Database, run: Run) -> Caller:
    """Return who began a run; what is begun goes on when their key was revoked since."""
    async with database.connection() as connection:
        caller = await find_initiator(connection, run.organization_id, run.api_key_id)
    if caller is None:
        raise RunNotFound(f"the organization of run {run.id} is gone")
    return caller


def _failed(transcription: Transcription, failure: Failure) -> FramekilnError:
    message = f"transcription {transcription.id} failed: {failure.message}"
    if failure.code == UnreadableMedia.code:
        return DecodeFailed(message)
    return TranscriptionFailed(message)


def _output(transcript: Transcript, window: Window | None) -> StepOutput:
    if window is not None:
        transcript = transcript.between(window.start_ms, window.end_ms)
    return fit_transcript(
        {
            "language": transcript.language,
            "engine": transcript.engine,
            "segment_count": len(transcript.segments),
            "word_count": len(transcript.words),
        },
        segments=[
            _annotation("speech.segment", each.text, (each.start_ms, each.end_ms), window)
            for each in transcript.segments
        ],
        words=[
            _annotation(
                "speech.word", each.text, (each.start_ms, each.end_ms), window, each.probability
            )
            for each in transcript.words
        ],
    )


def _annotation(
    kind: str,
    text: str,
    span_ms: tuple[int, int],
    window: Window | None,
    probability: float | None = None,
) -> Annotation:
    """Return what was said; of a word on the border of a window only what lies inside counts."""
    start_ms, end_ms = span_ms
    if window is not None:
        start_ms, end_ms = (
            max(window.start_ms, min(window.end_ms, each_ms)) for each_ms in span_ms
        )
    return Annotation(
        kind=kind,
        start_ms=start_ms,
        end_ms=end_ms,
        text=text,
        confidence=None if probability is None else round(max(0.0, min(1.0, probability)), 4),
    )


def fit_transcript(
    metadata: dict[str, Any], *, segments: Iterable[Annotation], words: Iterable[Annotation]
) -> StepOutput:
    """Return an output within the limits (spec 2.11); metadata says whether it is `truncated`.

    Segments are kept in time order as far as they fit. Words are kept only if all of them fit
    beside all segments: half of them would look like the whole.
    """
    in_time, all_words = _in_time_order(segments), _in_time_order(words)
    whole = StepOutput({**metadata, "truncated": False}, (*in_time, *all_words))
    if _count_fitting(whole) == len(whole.annotations):
        return whole
    without_words = StepOutput({**metadata, "truncated": True}, in_time)
    return StepOutput(without_words.metadata, in_time[: _count_fitting(without_words)])


def _in_time_order(annotations: Iterable[Annotation]) -> tuple[Annotation, ...]:
    return tuple(sorted(annotations, key=lambda each: (each.start_ms, each.end_ms)))


def _count_fitting(output: StepOutput) -> int:
    """Return how many annotations, from the first on, stay within the limits."""
    room_bytes = MAX_OUTPUT_BYTES - StepOutput(output.metadata).size_bytes
    sizes_bytes = _sizes_bytes(output.annotations[:MAX_ANNOTATIONS])
    return sum(1 for _ in takewhile(lambda used: used <= room_bytes, accumulate(sizes_bytes)))


def _sizes_bytes(annotations: Sequence[Annotation]) -> Iterable[int]:
    for index, annotation in enumerate(annotations):
        # Each but the first has a comma before it.
        yield len(canonical_json(as_json(annotation))) + (index > 0)
