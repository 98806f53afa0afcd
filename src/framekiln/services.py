"""The assembled application: every domain over one database, one queue, one blob store."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from framekiln.db.notify import Notifications
from framekiln.db.pool import Database
from framekiln.files.ingest import Ingest
from framekiln.files.news import FileNews
from framekiln.files.service import Files
from framekiln.files.streams.service import Streams
from framekiln.files.uploads import Uploads
from framekiln.files.work import FileWork
from framekiln.identity.people.passwords import Passwords
from framekiln.identity.people.sessions import Sessions
from framekiln.identity.people.users import Users
from framekiln.identity.service import Identity
from framekiln.identity.signing.keys import FixedKeys
from framekiln.identity.signing.stored_keys import StoredKeys
from framekiln.identity.signing.tokens import Tokens
from framekiln.jobs.queue import JobQueue
from framekiln.kit.clock import Clock, SystemClock
from framekiln.kit.fetch import GuardedFetcher
from framekiln.pipelines.assembled import Around, PipelineServices
from framekiln.playback.service import Playback
from framekiln.renders.news import RenderNews
from framekiln.renders.reuse.kept_parts import KeptParts
from framekiln.renders.service import Renders
from framekiln.renders.work import RenderWork
from framekiln.settings import Settings
from framekiln.speech.configuration import SpeechSettings
from framekiln.storage.blob_store import BlobStore, open_blob_store
from framekiln.transcripts.service import Transcripts
from framekiln.transcripts.work import TranscriptWork
from framekiln.videos.news import VideoNews
from framekiln.videos.parts import VideoParts
from framekiln.webhooks.callbacks.service import Callbacks
from framekiln.webhooks.log import DeliveryLog
from framekiln.webhooks.outbox import Outbox
from framekiln.webhooks.service import Webhooks
from framekiln.webhooks.work import WebhookWork


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
    users: Users
    sessions: Sessions
    tokens: Tokens
    ingest: Ingest
    files: Files
    uploads: Uploads
    file_work: FileWork
    renders: Renders
    render_work: RenderWork
    kept_parts: KeptParts
    transcripts: Transcripts
    transcript_work: TranscriptWork
    v2: VideoParts
    streams: Streams
    playback: Playback
    fetcher: GuardedFetcher
    outbox: Outbox
    webhooks: Webhooks
    webhook_log: DeliveryLog
    webhook_work: WebhookWork
    callbacks: Callbacks
    pipelines: PipelineServices

    @classmethod
    @asynccontextmanager
    async def open(cls, settings: Settings, conninfo: str) -> AsyncIterator["Services"]:
        """Connect everything; the database at `conninfo` must be migrated."""
        clock = SystemClock()
        database = Database(conninfo)
        notifications = Notifications(conninfo)
        jobs = JobQueue(conninfo)
        passwords = Passwords()
        secrets = settings.secret_keys
        fetcher = GuardedFetcher(settings.fetch_allow, ca_file=settings.fetch_ca_file)
        outbox = Outbox(jobs, clock=clock)
        blobs = open_blob_store(settings.storage_url, folder=settings.data / "blobs")
        file_news = FileNews(outbox)
        files = Files(
            database, blobs=blobs, notifications=notifications, clock=clock, news=file_news
        )
        ingest = Ingest(database, blobs=blobs, fetcher=fetcher, clock=clock)
        news = RenderNews(outbox, base_url=settings.public_url)
        callbacks = Callbacks(database, outbox=outbox, fetcher=fetcher, clock=clock)
        video_news = VideoNews(outbox, settings.public_url, callbacks)
        news.add(video_news.heard)
        renders = Renders(
            database,
            jobs=jobs,
            blobs=blobs,
            notifications=notifications,
            clock=clock,
            news=news,
        )
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
                users=Users(database, passwords=passwords, clock=clock),
                sessions=Sessions(database, passwords=passwords, clock=clock),
                tokens=Tokens(
                    FixedKeys(secrets) if secrets else StoredKeys(database, clock), clock
                ),
                ingest=ingest,
                files=files,
                uploads=Uploads(database, jobs=jobs, blobs=blobs, clock=clock, news=file_news),
                file_work=FileWork(database, clock=clock, news=file_news),
                streams=Streams(database, jobs=jobs, blobs=blobs, clock=clock, news=file_news),
                playback=Playback(
                    database,
                    files=files,
                    renders=renders,
                    jobs=jobs,
                    blobs=blobs,
                    notifications=notifications,
                    clock=clock,
                ),
                fetcher=fetcher,
                outbox=outbox,
                webhooks=Webhooks(database, jobs=jobs, outbox=outbox, fetcher=fetcher, clock=clock),
                webhook_log=DeliveryLog(database, jobs=jobs, clock=clock),
                webhook_work=WebhookWork(database, jobs=jobs, clock=clock),
                callbacks=callbacks,
                render_work=RenderWork(database, jobs=jobs, clock=clock, news=news),
                kept_parts=KeptParts(database, blobs, clock),
                transcripts=Transcripts(
                    database,
                    files=files,
                    jobs=jobs,
                    blobs=blobs,
                    notifications=notifications,
                    outbox=outbox,
                    clock=clock,
                    languages=SpeechSettings.of(settings).languages,
                ),
                transcript_work=TranscriptWork(database, jobs=jobs, outbox=outbox, clock=clock),
                pipelines=PipelineServices.over(
                    Around(
                        database=database,
                        jobs=jobs,
                        blobs=blobs,
                        files=files,
                        notifications=notifications,
                        outbox=outbox,
                        fetcher=fetcher,
                        clock=clock,
                    )
                ),
                renders=renders,
                v2=VideoParts.over(
                    database,
                    renders=renders,
                    ingest=ingest,
                    blobs=blobs,
                    news=video_news,
                    clock=clock,
                ),
            )
