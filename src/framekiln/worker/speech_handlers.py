"""Handlers that share the speech recognizer: transcriptions and pipeline steps."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from framekiln.jobs.model import Handler
from framekiln.pipelines.execution.handlers import RunStep
from framekiln.pipelines.execution.step_type import StepServices, open_runners
from framekiln.pipelines.jobs import RUN_STEP, STEPS_QUEUE
from framekiln.services import Services
from framekiln.speech.configuration import SpeechSettings
from framekiln.transcripts.handlers import JoinTranscript, PrepareAudio, TranscribeSlice
from framekiln.transcripts.jobs import JOIN, PREPARE, SPEECH_QUEUE, TRANSCRIBE_SLICE
from framekiln.transcripts.recognizer import Recognizer


@asynccontextmanager
async def open_speech_handlers(
    services: Services, queues: list[str]
) -> AsyncIterator[dict[str, Handler]]:
    """Yield the handlers by job kind, with one recognizer for all."""
    # Shared, because a model takes a gigabyte. It is loaded on first use.
    recognizer = Recognizer(SpeechSettings.of(services.settings))
    try:
        yield _handlers_of(services, recognizer, queues)
    finally:
        await recognizer.close()


def step_services(services: Services, recognizer: Recognizer) -> StepServices:
    """Return what runners of steps are built from."""
    return StepServices(
        database=services.database,
        files=services.files,
        blobs=services.blobs,
        renders=services.renders,
        transcripts=services.transcripts,
        recognizer=recognizer,
        public_url=services.settings.public_url,
    )


def _handlers_of(
    services: Services, recognizer: Recognizer, queues: list[str]
) -> dict[str, Handler]:
    handlers: dict[str, Handler] = {}
    if SPEECH_QUEUE in queues:
        handlers |= _speech_handlers(services, recognizer)
    if STEPS_QUEUE in queues:
        runners = open_runners(services.pipelines.step_types, step_services(services, recognizer))
        handlers[RUN_STEP] = RunStep(services.pipelines.worker, runners)
    return handlers


def _speech_handlers(services: Services, recognizer: Recognizer) -> dict[str, Handler]:
    work, blobs, new_blobs = services.transcript_worker, services.blobs, services.new_blobs
    return {
        PREPARE: PrepareAudio(work, services.files, blobs, new_blobs, recognizer),
        TRANSCRIBE_SLICE: TranscribeSlice(work, blobs, new_blobs, recognizer),
        JOIN: JoinTranscript(work, blobs),
    }
