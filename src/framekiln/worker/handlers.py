"""Which handler does which kind of job. A worker opens only what its queues need."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager

from framekiln.engine.order import FilmLimits
from framekiln.engine.studio import Studio
from framekiln.files.jobs import MEDIA_QUEUE as FILES_QUEUE
from framekiln.files.jobs import PROCESS_FILE
from framekiln.files.processing import ProcessFile
from framekiln.jobs.model import Handler
from framekiln.kit.errors import NotFound
from framekiln.kit.ids import FileId, OrganizationId
from framekiln.renders.assets import Sources
from framekiln.renders.film_job import FilmRenders
from framekiln.renders.jobs import FILM_QUEUE, FILM_RENDER, JOIN_RENDER, MEDIA_QUEUE, MIX_SOUND
from framekiln.renders.media_jobs import JoinRender, MixSound
from framekiln.services import Services
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
        if IO_QUEUE in queues:
            handlers[SEND_WEBHOOK] = SendWebhook(
                services.webhook_work, services.fetcher, clock=services.clock
            )
        if FILM_QUEUE in queues:
            studio = Studio(concurrency)
            stack.push_async_callback(studio.close)
            await studio.warm_up()
            handlers[FILM_RENDER] = _film_handler(services, studio)
        yield handlers


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
    return Sources(services.ingest, services.files, _NothingSpoken(), services.blobs)


class _NothingSpoken:
    """Stands where transcriptions will."""

    async def captions_json(self, organization_id: OrganizationId, file_id: FileId) -> bytes:
        raise NotFound(f"file {file_id} has no transcription")
