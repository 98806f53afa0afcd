"""All parts of this domain, put together once."""

from dataclasses import dataclass

from framekiln.db.pool import Database
from framekiln.files.ingest import Ingest
from framekiln.kit.clock import Clock
from framekiln.kit.guarded_transport import resolve_by_system
from framekiln.renders.service import Renders
from framekiln.storage.blob_store import BlobStore
from framekiln.videos.frames import Frames
from framekiln.videos.news import VideoNews
from framekiln.videos.planning import Planner
from framekiln.videos.service import Videos
from framekiln.videos.sources import SourceFinder
from framekiln.videos.streaming.service import Streams
from framekiln.videos.templates.remote_checks import RemoteChecks
from framekiln.videos.templates.service import Templates
from framekiln.videos.uploads import UploadedSources


@dataclass(frozen=True)
class VideoParts:
    """What the routes of v2 work with."""

    videos: Videos
    templates: Templates
    planner: Planner
    frames: Frames
    streams: Streams
    sources: SourceFinder
    uploads: UploadedSources

    @classmethod
    def over(
        cls,
        database: Database,
        *,
        renders: Renders,
        ingest: Ingest,
        blobs: BlobStore,
        news: VideoNews,
        clock: Clock,
    ) -> "VideoParts":
        """Put everything together."""
        videos = Videos(database, renders=renders, news=news, clock=clock)
        sources = SourceFinder(ingest, blobs)
        remote = RemoteChecks(sources, resolve_by_system)
        return cls(
            videos=videos,
            templates=Templates(database, videos=videos, remote=remote, clock=clock),
            planner=Planner(sources),
            frames=Frames(database, renders, blobs),
            streams=Streams(renders, blobs),
            sources=sources,
            uploads=UploadedSources(database, blobs, clock),
        )
