"""The assembled application: every domain over one database, one queue, one blob store."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from framekiln.db.notify import Notifications
from framekiln.db.pool import Database
from framekiln.files.ingest import Ingest
from framekiln.identity.service import Identity
from framekiln.jobs.queue import JobQueue
from framekiln.kit.clock import Clock, SystemClock
from framekiln.kit.fetch import GuardedFetcher
from framekiln.renders.service import Renders
from framekiln.renders.work import RenderWork
from framekiln.settings import Settings
from framekiln.storage.blob_store import BlobStore, open_blob_store


@dataclass(frozen=True)
class Services:
    """What the drivers (api, worker, cli) work with."""

    settings: Settings
    clock: Clock
    database: Database
    notifications: Notifications
    jobs: JobQueue
    blobs: BlobStore
    identity: Identity
    ingest: Ingest
    renders: Renders
    render_work: RenderWork

    @classmethod
    @asynccontextmanager
    async def open(cls, settings: Settings, conninfo: str) -> AsyncIterator["Services"]:
        """Connect everything; the database at `conninfo` must be migrated."""
        clock = SystemClock()
        database = Database(conninfo)
        notifications = Notifications(conninfo)
        jobs = JobQueue(conninfo)
        blobs = open_blob_store(settings.storage_url, folder=settings.data / "blobs")
        async with AsyncExitStack() as stack:
            for part in (database, notifications, jobs):
                await part.open()
                stack.push_async_callback(part.close)
            yield cls(
                settings=settings,
                clock=clock,
                database=database,
                notifications=notifications,
                jobs=jobs,
                blobs=blobs,
                identity=Identity(database, clock),
                ingest=Ingest(
                    database,
                    blobs=blobs,
                    fetcher=GuardedFetcher(settings.fetch_allow, ca_file=settings.fetch_ca_file),
                    clock=clock,
                ),
                render_work=RenderWork(database, jobs=jobs, clock=clock),
                renders=Renders(
                    database, jobs=jobs, blobs=blobs, notifications=notifications, clock=clock
                ),
            )
