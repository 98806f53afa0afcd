"""Handlers of playback jobs: probe sources, make segments."""

from framekiln.jobs.model import Handler
from framekiln.kit.confined.warm_sandbox import WarmSandbox
from framekiln.playback.handlers import MakeSegment, ProbeSource
from framekiln.playback.jobs import MAKE_SEGMENT, PROBE_SOURCE
from framekiln.playback.segment_worker import open_segment_worker
from framekiln.services import Services


def playback_handlers(services: Services, sandbox: WarmSandbox) -> dict[str, Handler]:
    """Return the handlers by job kind, with one segment worker for all."""
    database, locks, jobs = services.database, services.locks, services.jobs
    clock = services.clock
    segment_worker = open_segment_worker(services.blobs, sandbox)
    return {
        PROBE_SOURCE: ProbeSource(database, locks, jobs, segment_worker, clock),
        MAKE_SEGMENT: MakeSegment(database, locks, services.blobs, segment_worker, clock),
    }
