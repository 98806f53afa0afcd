"""Handlers of jobs that download sources."""

from framekiln.jobs.model import Handler
from framekiln.playback.handlers import FetchSource
from framekiln.playback.jobs import FETCH_SOURCE
from framekiln.renders.handlers.sources import FetchSources
from framekiln.renders.jobs import FETCH_SOURCES
from framekiln.services import Services


def source_handlers(services: Services) -> dict[str, Handler]:
    """Return the handlers by job kind."""
    database, jobs, ingest = services.database, services.jobs, services.ingest
    return {
        FETCH_SOURCE: FetchSource(database, services.locks, jobs, ingest, services.clock),
        FETCH_SOURCES: FetchSources(services.render_worker, database, jobs, ingest),
    }
