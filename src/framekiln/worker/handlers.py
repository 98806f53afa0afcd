"""Which handler does which kind of job. A worker opens only what its queues need."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager

from framekiln.engine.order import FilmLimits
from framekiln.engine.studio import Studio
from framekiln.files.jobs import MEDIA_QUEUE as FILES_QUEUE
from framekiln.files.jobs import PROCESS_FILE
from framekiln.files.processing import ProcessFile
from framekiln.files.streams.assembling import AssembleStream
from framekiln.files.streams.jobs import ASSEMBLE_STREAM
from framekiln.jobs.model import Handler
from framekiln.pipelines.jobs import QUEUE as STEPS_QUEUE
from framekiln.pipelines.jobs import RUN_STEP
from framekiln.pipelines.runners.probe import Probe
from framekiln.pipelines.runners.publish import Publish
from framekiln.pipelines.step import Runners
from framekiln.pipelines.step_job import RunStep
from framekiln.playback.jobs import LOOK, MAKE
from framekiln.playback.jobs import QUEUE as PLAYBACK_QUEUE
from framekiln.playback.making import LookAtSource, MakeSegment
from framekiln.playback.source_files import open_source_files
from framekiln.renders.assets import Sources
from framekiln.renders.film_job import FilmRenders
from framekiln.renders.jobs import FILM_QUEUE, FILM_RENDER, JOIN_RENDER, MEDIA_QUEUE, MIX_SOUND
from framekiln.renders.media_jobs import JoinRender, MixSound
from framekiln.services import Services
from framekiln.speech.engine import SpeechSettings
from framekiln.transcripts.hearing import HearSlice, JoinTranscript
from framekiln.transcripts.jobs import HEAR_SLICE, JOIN, PREPARE, SPEECH_QUEUE
from framekiln.transcripts.preparing import PrepareSound
from framekiln.transcripts.recognizer import Recognizer
from framekiln.webhooks.jobs import IO_QUEUE, SEND_WEBHOOK
from framekiln.webhooks.sending import SendWebhook


@asynccontextmanager
async def open_handlers(
    services: Services, *, queues: list[str], concurrency: int
) -> AsyncIterator[Mapping[str, Handler]]:
    """Yield the handlers for the queues, with whatever machinery they need kept warm."""
    async with AsyncExitStack() as stack:
        handlers: dict[str, Handler] = {}
        if MEDIA_QUEUE in queues:
            work, blobs = services.render_work, services.blobs
            handlers[MIX_SOUND] = MixSound(work, blobs, render_sources(services))
            handlers[JOIN_RENDER] = JoinRender(work, blobs)
        if FILES_QUEUE in queues:
            handlers[PROCESS_FILE] = ProcessFile(services.file_work, services.blobs)
            handlers[ASSEMBLE_STREAM] = AssembleStream(
                services.file_work, services.streams, services.blobs
            )
        if PLAYBACK_QUEUE in queues:
            kept = await stack.enter_async_context(open_source_files(services.blobs))
            database, clock = services.database, services.clock
            handlers[LOOK] = LookAtSource(database, services.ingest, kept, clock)
            handlers[MAKE] = MakeSegment(database, services.blobs, kept, clock)
        if IO_QUEUE in queues:
            handlers[SEND_WEBHOOK] = SendWebhook(
                services.webhook_work, services.fetcher, clock=services.clock
            )
        if STEPS_QUEUE in queues:
            handlers[RUN_STEP] = RunStep(services.pipelines.work, step_runners(services))
        if SPEECH_QUEUE in queues:
            recognizer = Recognizer(SpeechSettings.of(services.settings))
            stack.push_async_callback(recognizer.close)
            handlers |= _speech_handlers(services, recognizer)
        if FILM_QUEUE in queues:
            studio = Studio(concurrency)
            stack.push_async_callback(studio.close)
            await studio.warm_up()
            handlers[FILM_RENDER] = _film_handler(services, studio)
        yield handlers


def step_runners(services: Services) -> Runners:
    """Return what runs each type of step that a worker does."""
    return {
        "probe": Probe(services.files),
        "publish": Publish(services.files, services.settings.public_url),
    }


def _speech_handlers(services: Services, recognizer: Recognizer) -> dict[str, Handler]:
    work, blobs = services.transcript_work, services.blobs
    return {
        PREPARE: PrepareSound(work, services.files, blobs, recognizer),
        HEAR_SLICE: HearSlice(work, blobs, recognizer),
        JOIN: JoinTranscript(work, blobs),
    }


def _film_handler(services: Services, studio: Studio) -> FilmRenders:
    settings = services.settings
    limits = FilmLimits.of(settings)
    return FilmRenders(
        work=services.render_work,
        blobs=services.blobs,
        sources=render_sources(services),
        jobs=services.jobs,
        studio=studio,
        limits=limits,
    )


def render_sources(services: Services) -> Sources:
    """Return where the sources of renders come from."""
    return Sources(services.ingest, services.files, services.transcripts, services.blobs)
