"""Builds the services of pipelines, for the drivers."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from framekiln.db.notify import Notifications
from framekiln.db.pool import Database
from framekiln.files.service import Files
from framekiln.jobs.queue import JobQueue
from framekiln.kit.clock import Clock
from framekiln.kit.fetch import GuardedFetcher
from framekiln.pipelines.change_queue import ChangeQueue
from framekiln.pipelines.definition.validation import definition_form
from framekiln.pipelines.endpoints.callbacks import EndpointCallbacks
from framekiln.pipelines.endpoints.worker import AttemptWorker
from framekiln.pipelines.execution.coordinator import RunCoordinator
from framekiln.pipelines.execution.step_type import StepTypes
from framekiln.pipelines.execution.worker import RunWorker
from framekiln.pipelines.schema.records import adapter_of
from framekiln.pipelines.services.batches import Batches
from framekiln.pipelines.services.endpoints import Endpoints
from framekiln.pipelines.services.outputs import Outputs
from framekiln.pipelines.services.pipelines import Pipelines
from framekiln.pipelines.services.reviews import Reviews
from framekiln.pipelines.services.runs import Runs
from framekiln.pipelines.steps import STEP_TYPES
from framekiln.quotas.service import Quotas
from framekiln.storage.blob_store import BlobStore
from framekiln.webhooks.outbox import Outbox


def definition_schema(ref_template: str) -> dict[str, Any]:
    """Return the JSON schema of definitions with all step types; other schemas are in `$defs`."""
    return adapter_of(definition_form(STEP_TYPES)).json_schema(ref_template=ref_template)


@dataclass(frozen=True)
class PipelineDependencies:
    """What the services of pipelines are built from."""

    database: Database
    jobs: JobQueue
    blobs: BlobStore
    files: Files
    notifications: Notifications
    outbox: Outbox
    fetcher: GuardedFetcher
    clock: Clock
    quotas: Quotas


@dataclass(frozen=True)
class PipelineServices:
    """What the drivers work with."""

    pipelines: Pipelines
    endpoints: Endpoints
    coordinator: RunCoordinator
    runs: Runs
    batches: Batches
    reviews: Reviews
    outputs: Outputs
    worker: RunWorker
    attempt_worker: AttemptWorker
    callbacks: EndpointCallbacks
    changes: ChangeQueue
    step_types: StepTypes

    @classmethod
    def build(
        cls, dependencies: PipelineDependencies, *, step_types: StepTypes = STEP_TYPES
    ) -> "PipelineServices":
        """Build all services."""
        database, clock = dependencies.database, dependencies.clock
        coordinator = RunCoordinator(
            database,
            step_types=step_types,
            jobs=dependencies.jobs,
            blobs=dependencies.blobs,
            outbox=dependencies.outbox,
            clock=clock,
        )
        versions = coordinator.versions
        batches = Batches(database, versions=versions, outbox=dependencies.outbox, clock=clock)
        return cls(
            pipelines=Pipelines(database, clock=clock, step_types=step_types),
            endpoints=Endpoints(database, fetcher=dependencies.fetcher, clock=clock),
            coordinator=coordinator,
            runs=Runs(database, coordinator=coordinator, clock=clock, quotas=dependencies.quotas),
            batches=batches,
            reviews=Reviews(database, coordinator=coordinator, clock=clock),
            outputs=Outputs(database, files=dependencies.files, versions=versions),
            worker=RunWorker(database, coordinator=coordinator, clock=clock),
            attempt_worker=AttemptWorker(
                database, coordinator=coordinator, jobs=dependencies.jobs, clock=clock
            ),
            callbacks=EndpointCallbacks(database, coordinator=coordinator),
            changes=ChangeQueue(
                database,
                coordinator=coordinator,
                batches=batches,
                notifications=dependencies.notifications,
            ),
            step_types=step_types,
        )

    def periodic_work(self) -> dict[str, Callable[[], Awaitable[object]]]:
        """Return the parts that do all that is due, by name."""
        return {
            "runs": self.worker.queue_due,
            "attempts": self.attempt_worker.tick,
            "reviews": self.reviews.expire_due,
            "changes": self.changes.process,
        }
