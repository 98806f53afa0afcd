"""Handler of film jobs."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from framekiln.capture.browser_limits import BrowserLimits
from framekiln.engine.film_order import FilmLimits, PageMethod
from framekiln.engine.film_threads import FilmThreadPool
from framekiln.jobs.model import Handler
from framekiln.playback.page_player import PagePlayer
from framekiln.renders.handlers.film import FilmRender
from framekiln.renders.jobs import FILM_QUEUE, FILM_RENDER
from framekiln.services import Services
from framekiln.worker.media_handlers import render_cache, render_sources
from framekiln.worker.page_service import PageService
from framekiln.worker.pools import RESERVED_SLOTS


@asynccontextmanager
async def open_film_handlers(
    services: Services, *, concurrency: int
) -> AsyncIterator[dict[str, Handler]]:
    """Yield the handler by job kind, with warm browsers."""
    slots = concurrency + RESERVED_SLOTS[FILM_QUEUE]
    film_threads = FilmThreadPool(slots, BrowserLimits.of(services.settings))
    try:
        await film_threads.warm_up(concurrency)
        yield {FILM_RENDER: _film_handler(services, film_threads)}
    finally:
        await film_threads.close()


def _film_handler(services: Services, film_threads: FilmThreadPool) -> FilmRender:
    return FilmRender(
        worker=services.render_worker,
        blobs=services.blobs,
        new_blobs=services.new_blobs,
        sources=render_sources(services),
        jobs=services.jobs,
        film_threads=film_threads,
        limits=FilmLimits.of(services.settings),
        cache=render_cache(services),
        page_method=PageMethod(services.settings.page_method),
        reuses_pages=services.settings.reuse_pages,
        page_service_for=lambda organization_id, loop, folder: PageService(
            services, organization_id, loop, PagePlayer(folder)
        ),
    )
