"""The handlers of a worker, by job kind. Only what its queues need is imported and opened.

All handlers together import every library, and a worker that sends webhooks needs none that decode
films. Hence the imports inside functions.
"""
# ruff: noqa: PLC0415

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager

from framekiln.files.jobs import FILES_QUEUE
from framekiln.jobs.model import Handler
from framekiln.kit.confined.warm_sandbox import WarmSandbox
from framekiln.pipelines.jobs import ENDPOINTS_QUEUE, STEPS_QUEUE
from framekiln.playback.jobs import QUEUE as PLAYBACK_QUEUE
from framekiln.renders.jobs import FILM_QUEUE, MEDIA_QUEUE
from framekiln.services import Services
from framekiln.transcripts.jobs import SPEECH_QUEUE
from framekiln.videos.bulks.handlers import StartRows
from framekiln.videos.bulks.jobs import START_ROWS
from framekiln.webhooks.jobs import IO_QUEUE

Handlers = dict[str, Handler]


@asynccontextmanager
async def open_handlers(
    services: Services, *, queues: list[str], concurrency: int
) -> AsyncIterator[Mapping[str, Handler]]:
    """Yield the handlers for the queues, with the resources that they keep open."""
    handlers = _plain_handlers(services, queues)
    async with AsyncExitStack() as stack:
        if SPEECH_QUEUE in queues or STEPS_QUEUE in queues:
            from framekiln.worker.speech_handlers import open_speech_handlers

            handlers |= await stack.enter_async_context(open_speech_handlers(services, queues))
        if MEDIA_QUEUE in queues or PLAYBACK_QUEUE in queues:
            from framekiln.worker.media_sandbox import open_media_sandbox

            sandbox = await stack.enter_async_context(open_media_sandbox())
            handlers |= _sandbox_handlers(services, queues, sandbox)
        if FILM_QUEUE in queues:
            from framekiln.worker.film_handlers import open_film_handlers

            films = open_film_handlers(services, concurrency=concurrency)
            handlers |= await stack.enter_async_context(films)
        yield handlers


def _sandbox_handlers(services: Services, queues: list[str], sandbox: WarmSandbox) -> Handlers:
    """Return the handlers that share the warm sandbox."""
    handlers: Handlers = {}
    if MEDIA_QUEUE in queues:
        from framekiln.worker.media_handlers import media_handlers

        handlers |= media_handlers(services, sandbox)
    if PLAYBACK_QUEUE in queues:
        from framekiln.worker.playback_handlers import playback_handlers

        handlers |= playback_handlers(services, sandbox)
    return handlers


def _plain_handlers(services: Services, queues: list[str]) -> Handlers:
    """Return the handlers that keep nothing open."""
    handlers: Handlers = {}
    if FILES_QUEUE in queues:
        from framekiln.worker.file_handlers import file_handlers

        handlers |= file_handlers(services)
    if IO_QUEUE in queues:
        from framekiln.worker.http_handlers import webhook_handlers

        handlers |= webhook_handlers(services)
        handlers[START_ROWS] = StartRows(services.v2.bulk_worker)
    if ENDPOINTS_QUEUE in queues:
        from framekiln.worker.http_handlers import endpoint_handlers

        handlers |= endpoint_handlers(services)
    if {FILM_QUEUE, MEDIA_QUEUE, PLAYBACK_QUEUE} & set(queues):
        from framekiln.worker.source_handlers import source_handlers

        handlers |= source_handlers(services)
    return handlers
