"""The handlers of what players ask for."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from framekiln.jobs.model import Handler
from framekiln.playback.handlers import MakeSegment, ProbeSource
from framekiln.playback.jobs import MAKE_SEGMENT, PROBE_SOURCE
from framekiln.playback.segment_worker import SegmentWorker, open_segment_worker
from framekiln.services import Services


@asynccontextmanager
async def open_playback_handlers(services: Services) -> AsyncIterator[dict[str, Handler]]:
    """Yield them by kind of job, with a workshop kept warm."""
    async with open_segment_worker(services.blobs) as workshop:
        yield _playback_handlers(services, workshop)


def _playback_handlers(services: Services, workshop: SegmentWorker) -> dict[str, Handler]:
    database, clock = services.database, services.clock
    return {
        PROBE_SOURCE: ProbeSource(database, services.ingest, workshop, clock),
        MAKE_SEGMENT: MakeSegment(database, services.blobs, workshop, clock),
    }
