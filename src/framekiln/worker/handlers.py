"""Which handler does which kind of job. A worker opens only what its queues need."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Final

from framekiln.engine.order import FilmLimits
from framekiln.engine.studio import Studio
from framekiln.files.jobs import FILES_QUEUE, PROCESS_FILE
from framekiln.files.processing import ProcessFile
from framekiln.files.streams.assembling import AssembleStream
from framekiln.files.streams.jobs import ASSEMBLE_STREAM
from framekiln.jobs.model import Handler
from framekiln.pipelines.runners.detect_scenes import DetectScenes
from framekiln.pipelines.runners.probe import Probe
from framekiln.pipelines.runners.publish import Publish
from framekiln.pipelines.runners.redact_render import RedactRender
from framekiln.pipelines.runners.sample_frames import SampleFrames
from framekiln.pipelines.runners.step import Runners
from framekiln.pipelines.runners.step_media import StepMedia
from framekiln.pipelines.runners.transcribe import Transcribe
from framekiln.pipelines.running.jobs import QUEUE as STEPS_QUEUE
from framekiln.pipelines.running.jobs import RUN_STEP
from framekiln.pipelines.running.step_job import RunStep
from framekiln.pipelines.sending.delivery import SendAttempt
from framekiln.pipelines.sending.jobs import ENDPOINTS_QUEUE, SEND_ATTEMPT
from framekiln.pipelines.sending.media_urls import MediaUrls
from framekiln.playback.foreseeing import ThenLook
from framekiln.playback.jobs import LOOK, MAKE
from framekiln.playback.jobs import QUEUE as PLAYBACK_QUEUE
from framekiln.playback.making import LookAtSource, MakeSegment
from framekiln.playback.workshop import Workshop, open_workshop
from framekiln.renders.assets import Sources
from framekiln.renders.film_job import FilmRenders
from framekiln.renders.jobs import (
    FILM_QUEUE,
    FILM_RENDER,
    JOIN_RENDER,
    MEDIA_QUEUE,
    MIX_SOUND,
    REDACT_FILE,
)
from framekiln.renders.media_jobs import JoinRender, MixSound
from framekiln.renders.redacting import RedactFile
from framekiln.renders.reuse.reusing import Reuse
from framekiln.services import Services
from framekiln.speech.configuration import SpeechSettings
from framekiln.transcripts.hearing import HearSlice, JoinTranscript
from framekiln.transcripts.jobs import HEAR_SLICE, JOIN, PREPARE, SPEECH_QUEUE
from framekiln.transcripts.preparing import PrepareSound
from framekiln.transcripts.recognizer import Recognizer
from framekiln.webhooks.jobs import IO_QUEUE, SEND_WEBHOOK
from framekiln.webhooks.sending import SendWebhook
from framekiln.worker.page_service import PageService

Opened = dict[str, Handler]


@asynccontextmanager
async def open_handlers(
    services: Services, *, queues: list[str], concurrency: int
) -> AsyncIterator[Mapping[str, Handler]]:
    """Yield the handlers for the queues, with whatever machinery they need kept warm."""
    async with AsyncExitStack() as stack:
        handlers: Opened = {}
        for queue, handlers_of in _PLAIN.items():
            if queue in queues:
                handlers |= handlers_of(services)
        if not _HEARING.isdisjoint(queues):
            # One for both: a model takes a gigabyte. It is loaded when somebody first speaks.
            recognizer = Recognizer(SpeechSettings.of(services.settings))
            stack.push_async_callback(recognizer.close)
            handlers |= _hearing_handlers(services, recognizer, queues)
        if PLAYBACK_QUEUE in queues:
            workshop = await stack.enter_async_context(open_workshop(services.blobs))
            handlers |= _playback_handlers(services, workshop)
        if FILM_QUEUE in queues:
            studio = Studio(concurrency)
            stack.push_async_callback(studio.close)
            await studio.warm_up()
            handlers[FILM_RENDER] = _film_handler(services, studio)
        yield handlers


def step_runners(services: Services, recognizer: Recognizer) -> Runners:
    """Return what runs each type of step that a worker does."""
    files, blobs, public_url = services.files, services.blobs, services.settings.public_url
    media = StepMedia(services.database, files, blobs)
    return {
        "probe": Probe(files),
        "publish": Publish(files, public_url),
        "transcribe": Transcribe(services.database, media, services.transcripts, recognizer),
        "sample_frames": SampleFrames(media, files, blobs),
        "detect_scenes": DetectScenes(media),
        "redact_render": RedactRender(files, services.renders, public_url),
    }


def _media_handlers(services: Services) -> Opened:
    work, blobs = services.render_work, services.blobs
    return {
        MIX_SOUND: MixSound(work, blobs, render_sources(services), render_reuse(services)),
        JOIN_RENDER: JoinRender(work, blobs),
    }


def _file_handlers(services: Services) -> Opened:
    work, blobs, playback = services.file_work, services.blobs, services.playback
    return {
        PROCESS_FILE: ThenLook(ProcessFile(work, blobs), playback),
        ASSEMBLE_STREAM: ThenLook(AssembleStream(work, blobs, services.streams), playback),
        REDACT_FILE: RedactFile(services.render_work, services.files, blobs),
    }


def _io_handlers(services: Services) -> Opened:
    sending = SendWebhook(services.webhook_work, services.fetcher, clock=services.clock)
    return {SEND_WEBHOOK: sending}


def _endpoint_handlers(services: Services) -> Opened:
    public_url = services.settings.public_url
    return {
        SEND_ATTEMPT: SendAttempt(
            services.pipelines.attempts,
            services.fetcher,
            media=MediaUrls(services.tokens, public_url=public_url),
            public_url=public_url,
            clock=services.clock,
        )
    }


_PLAIN: Final[Mapping[str, Callable[[Services], Opened]]] = {
    MEDIA_QUEUE: _media_handlers,
    FILES_QUEUE: _file_handlers,
    IO_QUEUE: _io_handlers,
    ENDPOINTS_QUEUE: _endpoint_handlers,
}


_HEARING: Final = frozenset({SPEECH_QUEUE, STEPS_QUEUE})


def _hearing_handlers(services: Services, recognizer: Recognizer, queues: list[str]) -> Opened:
    handlers: Opened = {}
    if SPEECH_QUEUE in queues:
        handlers |= _speech_handlers(services, recognizer)
    if STEPS_QUEUE in queues:
        runners = step_runners(services, recognizer)
        handlers[RUN_STEP] = RunStep(services.pipelines.work, runners)
    return handlers


def _speech_handlers(services: Services, recognizer: Recognizer) -> Opened:
    work, blobs = services.transcript_work, services.blobs
    return {
        PREPARE: PrepareSound(work, services.files, blobs, recognizer),
        HEAR_SLICE: HearSlice(work, blobs, recognizer),
        JOIN: JoinTranscript(work, blobs),
    }


def _playback_handlers(services: Services, workshop: Workshop) -> Opened:
    database, clock = services.database, services.clock
    return {
        LOOK: LookAtSource(database, services.ingest, workshop, clock),
        MAKE: MakeSegment(database, services.blobs, workshop, clock),
    }


def _film_handler(services: Services, studio: Studio) -> FilmRenders:
    return FilmRenders(
        work=services.render_work,
        blobs=services.blobs,
        sources=render_sources(services),
        jobs=services.jobs,
        studio=studio,
        limits=FilmLimits.of(services.settings),
        reuse=render_reuse(services),
        service_of=partial(PageService, services),
    )


def render_reuse(services: Services) -> Reuse:
    """Return what renders ask before they make something."""
    return Reuse(services.render_work, services.blobs, services.kept_parts)


def render_sources(services: Services) -> Sources:
    """Return where the sources of renders come from."""
    return Sources(services.ingest, services.files, services.transcripts, services.blobs)
