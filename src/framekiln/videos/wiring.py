"""Builds the services of this domain."""

from dataclasses import dataclass

from framekiln.db.pool import Database
from framekiln.files.ingest import Ingest
from framekiln.files.service import Files
from framekiln.identity.service import Identity
from framekiln.jobs.queue import JobQueue
from framekiln.kit.clock import Clock
from framekiln.kit.fair_threads import FairThreads
from framekiln.kit.guarded_transport import resolve_by_system
from framekiln.renders.service import Renders
from framekiln.storage.blob_store import BlobStore
from framekiln.videos.bulks.events import BulkEvents
from framekiln.videos.bulks.service import Bulks
from framekiln.videos.bulks.worker import BulkWorker, OnRowStarted
from framekiln.videos.events import VideoEvents
from framekiln.videos.frames import Frames
from framekiln.videos.hls.service import HlsStreams
from framekiln.videos.planner import Planner
from framekiln.videos.service import Videos
from framekiln.videos.sources import SourceFinder
from framekiln.videos.templates.remote_checks import RemoteChecks
from framekiln.videos.templates.service import Templates
from framekiln.videos.uploaded_sources import UploadedSources


@dataclass(frozen=True)
class VideoServices:
    """The services that the routes of v2 use."""

    videos: Videos
    templates: Templates
    planner: Planner
    frames: Frames
    hls: HlsStreams
    sources: SourceFinder
    uploads: UploadedSources
    bulks: Bulks
    bulk_worker: BulkWorker
    threads: FairThreads
    """For validation, plans and templates; to be closed at the end."""

    @classmethod
    def build(  # noqa: PLR0913 - each is a part of the application
        cls,
        database: Database,
        *,
        renders: Renders,
        ingest: Ingest,
        files: Files,
        blobs: BlobStore,
        events: VideoEvents,
        jobs: JobQueue,
        identity: Identity,
        clock: Clock,
        on_row_started: OnRowStarted,
    ) -> "VideoServices":
        """Build all services."""
        threads = FairThreads()
        videos = Videos(
            database, renders=renders, files=files, events=events, threads=threads, clock=clock
        )
        sources = SourceFinder(ingest, files, blobs)
        remote = RemoteChecks(sources, resolve_by_system)
        templates = Templates(database, videos=videos, remote=remote, threads=threads, clock=clock)
        bulk_events = BulkEvents(events.outbox)
        return cls(
            videos=videos,
            templates=templates,
            bulks=Bulks(
                database,
                templates=templates,
                videos=videos,
                jobs=jobs,
                events=bulk_events,
                clock=clock,
            ),
            bulk_worker=BulkWorker(
                database,
                templates=templates,
                identity=identity,
                jobs=jobs,
                events=bulk_events,
                clock=clock,
                on_row_started=on_row_started,
            ),
            planner=Planner(sources, threads),
            frames=Frames(database, renders, blobs),
            hls=HlsStreams(renders, blobs),
            sources=sources,
            uploads=UploadedSources(ingest),
            threads=threads,
        )
