"""Which handler does which kind of job. A worker opens only what its queues need."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from framekiln.engine.film import FilmLimits
from framekiln.engine.studio import Studio
from framekiln.jobs.model import Handler
from framekiln.renders.run import RenderRunner
from framekiln.renders.service import RENDER_QUEUE, RUN_RENDER
from framekiln.services import Services


@asynccontextmanager
async def open_handlers(
    services: Services, *, queues: list[str], concurrency: int
) -> AsyncIterator[Mapping[str, Handler]]:
    """Yield the handlers for the queues, with whatever machinery they need kept warm."""
    if RENDER_QUEUE not in queues:
        yield {}
        return
    settings = services.settings
    limits = FilmLimits(
        settle_s=settings.settle_timeout_s,
        frame_s=settings.settle_timeout_s,
        whole_s=settings.render_timeout_s,
    )
    studio = Studio(concurrency, limits)
    try:
        await studio.warm_up()
        yield {RUN_RENDER: RenderRunner(services.renders, services.blobs, studio)}
    finally:
        await studio.close()
