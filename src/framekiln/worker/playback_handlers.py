"""Handlers of playback jobs: probe sources, make segments."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from framekiln.jobs.model import Handler
from framekiln.playback.handlers import MakeSegment, ProbeSource
from framekiln.playback.jobs import MAKE_SEGMENT, PROBE_SOURCE
from framekiln.playback.segment_worker import SegmentWorker, open_segment_worker
from framekiln.services import Services


@asynccontextmanager
async def open_playback_handlers(services: Services) -> AsyncIterator[dict[str, Handler]]:
    """Yield the handlers by job kind, with one segment worker for both."""
    async with open_segment_worker(services.blobs) as segment_worker:
        yield _playback_handlers(services, segment_worker)


def _playback_handlers(services: Services, segment_worker: SegmentWorker) -> dict[str, Handler]:
    database, clock = services.database, services.clock
    return {
        PROBE_SOURCE: ProbeSource(database, services.ingest, segment_worker, clock),
        MAKE_SEGMENT: MakeSegment(database, services.blobs, segment_worker, clock),
    }
