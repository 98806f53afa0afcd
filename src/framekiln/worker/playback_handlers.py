"""The handlers of what players ask for."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from framekiln.jobs.model import Handler
from framekiln.playback.jobs import LOOK, MAKE
from framekiln.playback.making import LookAtSource, MakeSegment
from framekiln.playback.workshop import Workshop, open_workshop
from framekiln.services import Services


@asynccontextmanager
async def open_playback(services: Services) -> AsyncIterator[dict[str, Handler]]:
    """Yield them by kind of job, with a workshop kept warm."""
    async with open_workshop(services.blobs) as workshop:
        yield _playback_handlers(services, workshop)


def _playback_handlers(services: Services, workshop: Workshop) -> dict[str, Handler]:
    database, clock = services.database, services.clock
    return {
        LOOK: LookAtSource(database, services.ingest, workshop, clock),
        MAKE: MakeSegment(database, services.blobs, workshop, clock),
    }
