"""The assembled application: every domain over one database, one queue, one blob store."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

from framekiln.audit.service import AuditLog
from framekiln.db.advisory_locks import AdvisoryLocks
from framekiln.db.notify import Notifications
from framekiln.db.pool import Connection, Database
from framekiln.destinations.encryption import CredentialEncryption
from framekiln.destinations.events import DestinationEvents
from framekiln.destinations.jobs import DESTINATIONS_QUEUE
from framekiln.destinations.model import DestinationOwner
from framekiln.destinations.service import Destinations
from framekiln.destinations.worker import DestinationWorker
from framekiln.files.events import FileEvents
from framekiln.files.frames import FileFrames
from framekiln.files.ingest import Ingest
from framekiln.files.service import Files
from framekiln.files.streams.service import Streams
from framekiln.files.uploads import Uploads
from framekiln.files.worker import FileWorker
from framekiln.identity.invitations import Invitations
from framekiln.identity.members import Members
from framekiln.identity.passwords import Passwords
from framekiln.identity.service import Identity
from framekiln.identity.sessions import Sessions
from framekiln.identity.signatures.devices import DeviceTokens
from framekiln.identity.signatures.keys import ConfiguredSigningKeys, SigningKeys
from framekiln.identity.signatures.stored_keys import StoredSigningKeys
from framekiln.identity.signatures.tokens import AccessTokens
from framekiln.identity.users import Users
from framekiln.jobs.model import RunningLimit
from framekiln.jobs.queue import JobQueue
from framekiln.kit.clock import Clock, SystemClock
from framekiln.kit.confined.budget import (
    default_budget,
    default_session_budget,
    set_child_budget,
)
from framekiln.kit.fetch import GuardedFetcher
from framekiln.links.service import Links
from framekiln.pipelines.wiring import PipelineDependencies, PipelineServices
from framekiln.playback.service import Playback
from framekiln.quotas.model import Quota, default_limits
from framekiln.quotas.service import Quotas
from framekiln.renders.cache import PartCache
from framekiln.renders.events import RenderEvents
from framekiln.renders.jobs import FILM_QUEUE
from framekiln.renders.service import Renders
from framekiln.renders.uploads import RenderUploads
from framekiln.renders.worker import RenderWorker
from framekiln.settings import Settings
from framekiln.speech.configuration import SpeechSettings
from framekiln.storage.blob_store import BlobStore, open_blob_store
from framekiln.storage.deletions import BlobDeletions
from framekiln.storage.new_blobs import NewBlobs
from framekiln.transcripts.service import Transcripts
from framekiln.transcripts.worker import TranscriptWorker
from framekiln.videos.bulks.model import Bulk
from framekiln.videos.bulks.worker import OnRowStarted
from framekiln.videos.events import VideoEvents
from framekiln.videos.model import Video
from framekiln.videos.wiring import VideoServices
from framekiln.webhooks.callbacks import Callbacks
from framekiln.webhooks.delivery_log import DeliveryLog
from framekiln.webhooks.outbox import Outbox
from framekiln.webhooks.service import Webhooks
from framekiln.webhooks.worker import WebhookWorker


@dataclass(frozen=True)
class Services:
    """What the drivers (api, worker, cli) work with."""

    settings: Settings
    clock: Clock
    database: Database
    locks: AdvisoryLocks
    notifications: Notifications
    jobs: JobQueue
    blobs: BlobStore
    new_blobs: NewBlobs
    blob_deletions: BlobDeletions
    identity: Identity
    users: Users
    sessions: Sessions
    members: Members
    invitations: Invitations
    audit: AuditLog
    tokens: AccessTokens
    links: Links
    destinations: Destinations
    destination_worker: DestinationWorker
    ingest: Ingest
    files: Files
    file_frames: FileFrames
    uploads: Uploads
    file_worker: FileWorker
    renders: Renders
    render_uploads: RenderUploads
    render_worker: RenderWorker
    part_cache: PartCache
    transcripts: Transcripts
    transcript_worker: TranscriptWorker
    v2: VideoServices
    streams: Streams
    playback: Playback
    fetcher: GuardedFetcher
    outbox: Outbox
    webhooks: Webhooks
    delivery_log: DeliveryLog
    webhook_worker: WebhookWorker
    callbacks: Callbacks
    pipelines: PipelineServices
    quotas: Quotas

    @classmethod
    @asynccontextmanager
    async def open(cls, settings: Settings, conninfo: str) -> AsyncIterator["Services"]:
        """Connect everything; the database at `conninfo` must be migrated."""
        set_child_budget(
            default_budget(
                children=settings.confined_children,
                memory_bytes=settings.confined_memory_mib << 20,
            ),
            default_session_budget(
                sessions=settings.confined_children,
                memory_bytes=settings.confined_memory_mib << 20,
            ),
        )
        clock = SystemClock()
        database = Database(conninfo)
        locks = AdvisoryLocks(database)
        notifications = Notifications(conninfo)
        limits = default_limits(settings)
        jobs = JobQueue(
            conninfo,
            limits=[
                RunningLimit(queue, quota, limits[quota])
                for queue, quota in (
                    (FILM_QUEUE, Quota.CONCURRENT_RENDERS),
                    (DESTINATIONS_QUEUE, Quota.CONCURRENT_COPIES),
                )
            ],
        )
        quotas = Quotas(database, clock=clock, defaults=limits)
        signing_keys = (
            ConfiguredSigningKeys(settings.secret_keys)
            if settings.secret_keys
            else StoredSigningKeys(database, clock)
        )
        fetcher = GuardedFetcher(settings.fetch_allow, ca_file=settings.fetch_ca_file)
        outbox = Outbox(jobs, clock=clock)
        blobs = open_blob_store(settings.storage_url, folder=settings.data / "blobs")
        file_events = FileEvents(outbox)
        files = Files(
            database,
            blobs=blobs,
            notifications=notifications,
            clock=clock,
            events=file_events,
            quotas=quotas,
        )
        ingest = Ingest(
            database, locks=locks, blobs=blobs, fetcher=fetcher, clock=clock, quotas=quotas
        )
        render_events = RenderEvents(outbox, base_url=settings.public_url)
        callbacks = Callbacks(database, outbox=outbox, fetcher=fetcher, clock=clock)
        video_events = VideoEvents(outbox, settings.public_url, callbacks)
        render_events.add_listener(video_events.on_render_changed)
        destinations, destination_worker = _destinations(
            database,
            jobs=jobs,
            fetcher=fetcher,
            keys=signing_keys,
            outbox=outbox,
            quotas=quotas,
            clock=clock,
        )
        render_events.add_listener(destinations.on_render_changed)
        renders = Renders(
            database,
            jobs=jobs,
            blobs=blobs,
            notifications=notifications,
            clock=clock,
            events=render_events,
            quotas=quotas,
        )
        people = _people(database, signing_keys, clock)
        async with AsyncExitStack() as stack:
            await _open_all(stack, database, notifications, jobs)
            videos = VideoServices.build(
                database,
                renders=renders,
                ingest=ingest,
                files=files,
                blobs=blobs,
                events=video_events,
                jobs=jobs,
                identity=people.identity,
                clock=clock,
                on_row_started=_row_copies(destinations),
            )
            render_events.add_listener(videos.bulk_worker.on_render_changed)
            stack.push_async_callback(videos.threads.close)
            yield cls(
                settings=settings,
                clock=clock,
                database=database,
                locks=locks,
                notifications=notifications,
                jobs=jobs,
                blobs=blobs,
                new_blobs=NewBlobs(database, blobs, clock),
                blob_deletions=BlobDeletions(database, blobs, clock),
                identity=people.identity,
                users=people.users,
                sessions=people.sessions,
                members=people.members,
                invitations=people.invitations,
                audit=AuditLog(
                    database,
                    clock=clock,
                    kept_for=timedelta(days=settings.audit_days) or None,
                ),
                tokens=AccessTokens(signing_keys, clock),
                destinations=destinations,
                destination_worker=destination_worker,
                links=Links(database, keys=signing_keys, clock=clock, base_url=settings.public_url),
                ingest=ingest,
                files=files,
                file_frames=_frames(stack, files, blobs),
                uploads=Uploads(database, jobs=jobs, blobs=blobs, clock=clock, events=file_events),
                file_worker=FileWorker(
                    database,
                    clock=clock,
                    events=file_events,
                    deletions=BlobDeletions(database, blobs, clock),
                ),
                streams=Streams(
                    database,
                    jobs=jobs,
                    blobs=blobs,
                    clock=clock,
                    events=file_events,
                    quotas=quotas,
                ),
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
                delivery_log=DeliveryLog(database, jobs=jobs, clock=clock),
                webhook_worker=WebhookWorker(database, jobs=jobs, clock=clock),
                callbacks=callbacks,
                render_uploads=RenderUploads(
                    database, jobs, NewBlobs(database, blobs, clock), clock, render_events
                ),
                render_worker=RenderWorker(
                    database,
                    jobs=jobs,
                    clock=clock,
                    events=render_events,
                    quotas=quotas,
                    deletions=BlobDeletions(database, blobs, clock),
                ),
                part_cache=PartCache(database, blobs, clock),
                transcripts=Transcripts(
                    database,
                    files=files,
                    jobs=jobs,
                    blobs=blobs,
                    notifications=notifications,
                    outbox=outbox,
                    clock=clock,
                    languages=SpeechSettings.of(settings).languages,
                    quotas=quotas,
                ),
                transcript_worker=TranscriptWorker(
                    database,
                    jobs=jobs,
                    outbox=outbox,
                    clock=clock,
                    deletions=BlobDeletions(database, blobs, clock),
                ),
                pipelines=PipelineServices.build(
                    PipelineDependencies(
                        database=database,
                        jobs=jobs,
                        blobs=blobs,
                        files=files,
                        notifications=notifications,
                        outbox=outbox,
                        fetcher=fetcher,
                        clock=clock,
                        quotas=quotas,
                    )
                ),
                quotas=quotas,
                renders=renders,
                v2=videos,
            )


@dataclass(frozen=True)
class _People:
    identity: Identity
    users: Users
    sessions: Sessions
    members: Members
    invitations: Invitations


def _people(database: Database, keys: SigningKeys, clock: Clock) -> _People:
    """Return the services of users, over one limit for the hashing of passwords."""
    passwords = Passwords()
    sessions = Sessions(
        database, passwords=passwords, devices=DeviceTokens(keys, clock), clock=clock
    )
    return _People(
        identity=Identity(database, clock),
        users=Users(database, passwords=passwords, clock=clock),
        sessions=sessions,
        members=Members(database, sessions=sessions, clock=clock),
        invitations=Invitations(database, sessions=sessions, passwords=passwords, clock=clock),
    )


def _row_copies(destinations: Destinations) -> OnRowStarted:
    """Return what adds the destinations of a bulk to the video of a row."""

    async def add(connection: Connection, bulk: Bulk, video: Video) -> None:
        owner = DestinationOwner(bulk.organization_id, bulk_id=bulk.id)
        await destinations.add_stored(connection, video.render, owner, resource_id=video.id)

    return add


def _frames(stack: AsyncExitStack, files: Files, blobs: BlobStore) -> FileFrames:
    frames = FileFrames(files, blobs)
    stack.push_async_callback(frames.close)
    return frames


async def _open_all(stack: AsyncExitStack, *parts: Database | Notifications | JobQueue) -> None:
    for part in parts:
        await part.open()
        stack.push_async_callback(part.close)


def _destinations(  # noqa: PLR0913 - what both are made of
    database: Database,
    *,
    jobs: JobQueue,
    fetcher: GuardedFetcher,
    keys: SigningKeys,
    outbox: Outbox,
    quotas: Quotas,
    clock: Clock,
) -> tuple[Destinations, DestinationWorker]:
    encryption, events = CredentialEncryption(keys), DestinationEvents(outbox)
    return (
        Destinations(
            database, jobs=jobs, fetcher=fetcher, encryption=encryption, events=events, clock=clock
        ),
        DestinationWorker(
            database, jobs=jobs, encryption=encryption, events=events, quotas=quotas, clock=clock
        ),
    )
