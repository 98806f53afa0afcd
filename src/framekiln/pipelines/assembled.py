"""All parts of pipelines put together, for the drivers."""

from dataclasses import dataclass

from framekiln.db.notify import Notifications
from framekiln.db.pool import Database
from framekiln.files.service import Files
from framekiln.jobs.queue import JobQueue
from framekiln.kit.clock import Clock
from framekiln.kit.fetch import GuardedFetcher
from framekiln.pipelines.changes import RunChanges
from framekiln.pipelines.owners.batches import Batches
from framekiln.pipelines.owners.catalogue import Pipelines
from framekiln.pipelines.owners.endpoints import Endpoints
from framekiln.pipelines.owners.outputs import Outputs
from framekiln.pipelines.owners.reviews import Reviews
from framekiln.pipelines.owners.runs import Runs
from framekiln.pipelines.running.advance import Advance
from framekiln.pipelines.running.arrivals import Arrivals
from framekiln.pipelines.running.gate import Gate
from framekiln.pipelines.running.work import RunWork
from framekiln.pipelines.sending.callbacks import Callbacks
from framekiln.pipelines.sending.gate import EndpointGate
from framekiln.pipelines.sending.work import AttemptWork
from framekiln.storage.blob_store import BlobStore
from framekiln.webhooks.outbox import Outbox


@dataclass(frozen=True)
class Around:
    """What pipelines stand on."""

    database: Database
    jobs: JobQueue
    blobs: BlobStore
    files: Files
    notifications: Notifications
    outbox: Outbox
    fetcher: GuardedFetcher
    clock: Clock


@dataclass(frozen=True)
class PipelineServices:
    """What the drivers work with."""

    catalogue: Pipelines
    endpoints: Endpoints
    advance: Advance
    runs: Runs
    batches: Batches
    reviews: Reviews
    outputs: Outputs
    work: RunWork
    attempts: AttemptWork
    callbacks: Callbacks
    changes: RunChanges

    @classmethod
    def over(cls, around: Around, *, gate: Gate | None = None) -> "PipelineServices":
        """Put everything together."""
        database, clock = around.database, around.clock
        gate = gate or EndpointGate(around.jobs, clock=clock)
        advance = Advance(
            database,
            jobs=around.jobs,
            arrivals=Arrivals(database, blobs=around.blobs),
            gate=gate,
            outbox=around.outbox,
            clock=clock,
        )
        versions = advance.versions
        batches = Batches(database, versions=versions, outbox=around.outbox, clock=clock)
        return cls(
            catalogue=Pipelines(database, clock=clock),
            endpoints=Endpoints(database, fetcher=around.fetcher, clock=clock),
            advance=advance,
            runs=Runs(database, advance=advance, clock=clock),
            batches=batches,
            reviews=Reviews(database, advance=advance, clock=clock),
            outputs=Outputs(database, files=around.files, versions=versions),
            work=RunWork(database, advance=advance, jobs=around.jobs, clock=clock),
            attempts=AttemptWork(database, advance=advance, gate=gate, clock=clock),
            callbacks=Callbacks(database, advance=advance),
            changes=RunChanges(
                database,
                advance=advance,
                batches=batches,
                notifications=around.notifications,
            ),
        )

    async def tick(self) -> None:
        """Do what has become due."""
        await self.work.queue_due()
        await self.attempts.tick()
        await self.reviews.expire_due()
        await self.changes.drain()
