"""Which handler does which kind of job. A worker opens only what its queues need."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager

from framekiln.engine.order import FilmLimits
from framekiln.engine.studio import Studio
from framekiln.jobs.model import Handler
from framekiln.renders.film_job import FilmRenders
from framekiln.renders.jobs import FILM_QUEUE, FILM_RENDER, JOIN_RENDER, MEDIA_QUEUE, MIX_SOUND
from framekiln.renders.media_jobs import JoinRender, MixSound
from framekiln.services import Services


@asynccontextmanager
async def open_handlers(
    services: Services, *, queues: list[str], concurrency: int
) -> AsyncIterator[Mapping[str, Handler]]:
    """Yield the handlers for the queues, with whatever machinery they need kept warm."""
    async with AsyncExitStack() as stack:
        handlers: dict[str, Handler] = {}
        if MEDIA_QUEUE in queues:
            work, blobs = services.render_work, services.blobs
            handlers[MIX_SOUND] = MixSound(work, blobs, services.ingest)
            handlers[JOIN_RENDER] = JoinRender(work, blobs)
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
        ingest=services.ingest,
        jobs=services.jobs,
        studio=studio,
        limits=limits,
    )
