"""Handlers of playback jobs: download and probe sources, make segments."""

from framekiln.jobs.model import Handler
from framekiln.kit.confined.warm_sandbox import WarmSandbox
from framekiln.playback.handlers import FetchSource, MakeSegment, ProbeSource
from framekiln.playback.jobs import FETCH_SOURCE, MAKE_SEGMENT, PROBE_SOURCE
from framekiln.playback.segment_worker import open_segment_worker
from framekiln.services import Services


def playback_handlers(services: Services, sandbox: WarmSandbox) -> dict[str, Handler]:
    """Return the handlers by job kind, with one segment worker for all."""
    database, locks, jobs = services.database, services.locks, services.jobs
    clock = services.clock
    segment_worker = open_segment_worker(services.blobs, sandbox)
    return {
        FETCH_SOURCE: FetchSource(database, locks, jobs, services.ingest, clock),
        PROBE_SOURCE: ProbeSource(database, locks, jobs, segment_worker, clock),
        MAKE_SEGMENT: MakeSegment(database, locks, services.blobs, segment_worker, clock),
    }
