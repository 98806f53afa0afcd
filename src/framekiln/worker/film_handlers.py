"""The handler of films."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from framekiln.engine.order import FilmLimits
from framekiln.engine.studio import Studio
from framekiln.jobs.model import Handler
from framekiln.playback.page_player import PagePlayer
from framekiln.renders.film_job import FilmRenders
from framekiln.renders.jobs import FILM_RENDER
from framekiln.services import Services
from framekiln.worker.page_service import PageService
from framekiln.worker.render_parts import render_reuse, render_sources


@asynccontextmanager
async def open_films(services: Services, *, concurrency: int) -> AsyncIterator[dict[str, Handler]]:
    """Yield it by kind of job, with browsers kept warm."""
    studio = Studio(concurrency)
    try:
        await studio.warm_up()
        yield {FILM_RENDER: _film_handler(services, studio)}
    finally:
        await studio.close()


def _film_handler(services: Services, studio: Studio) -> FilmRenders:
    return FilmRenders(
        work=services.render_work,
        blobs=services.blobs,
        sources=render_sources(services),
        jobs=services.jobs,
        studio=studio,
        limits=FilmLimits.of(services.settings),
        reuse=render_reuse(services),
        service_of=lambda organization_id, loop, folder: PageService(
            services, organization_id, loop, PagePlayer(folder)
        ),
    )
