"""Dispatches units that have become ready, each as its type starts.

A run that names an archived endpoint does not start at all.
"""

from collections.abc import Collection

from framekiln.jobs.failures import Failure
from framekiln.jobs.queue import JobQueue
from framekiln.pipelines.errors import EndpointNotFound
from framekiln.pipelines.execution.locked_run import LockedRun
from framekiln.pipelines.execution.step_type import StepType, StepTypes
from framekiln.pipelines.model.pipeline import EndpointId
from framekiln.pipelines.model.run import StepRun, UnitKey
from framekiln.pipelines.scheduling.run_state import WorkItem
from framekiln.pipelines.scheduling.status import RunStatus, StepStatus
from framekiln.pipelines.stores import endpoint as endpoint_store


class UnitDispatcher:
    """Starts the work that the scheduler returned, in the transaction that locks the run."""

    def __init__(self, jobs: JobQueue, *, step_types: StepTypes) -> None:
        self._jobs = jobs
        self.step_types = step_types

    async def dispatch(self, locked: LockedRun, work: WorkItem) -> None:
        """Start a unit."""
        await self._type_of(locked, work.step_key).start(locked, work, self._jobs)

    async def dispatch_retry(self, locked: LockedRun, work: WorkItem) -> None:
        """Arrange the next attempt at a unit."""
        await self._type_of(locked, work.step_key).retry(locked, work)

    async def cancel_obsolete(self, locked: LockedRun, changed: Collection[StepRun]) -> None:
        """Cancel the active work of changed steps that is no longer needed."""
        for step in changed:
            await self._type_of(locked, step.key).cancel_obsolete(locked, step)
        for step in (each for each in changed if each.status is StepStatus.CANCELLED):
            for job_id in _jobs_of(locked.steps_before[step.key]):
                await self._jobs.cancel(job_id, connection=locked.connection)

    async def fail_archived_endpoints(self, locked: LockedRun) -> None:
        """Fail steps whose endpoints were archived before the run started (spec 3.3)."""
        run = locked.run
        if run.status is not RunStatus.PENDING or not run.is_admitted or run.cancel_requested_at:
            return
        named = self._pending_endpoints(locked)
        if not named:
            return
        found = await endpoint_store.find_all(
            locked.connection, run.organization_id, set(named.values())
        )
        for key, endpoint_id in named.items():
            if endpoint_id not in found or found[endpoint_id].archived_at is not None:
                failure = archived_failure(endpoint_id)
                locked.end_unit(UnitKey(run.id, key), StepStatus.FAILED, failure)

    def _pending_endpoints(self, locked: LockedRun) -> dict[str, EndpointId]:
        """Return the endpoints that steps wait for, by step."""
        named = {
            step.key: self.step_types[step.type].endpoint_id(step)
            for step in locked.context.definition.steps.values()
            if locked.steps[step.key].status is StepStatus.PENDING
        }
        return {key: each for key, each in named.items() if each is not None}

    def _type_of(self, locked: LockedRun, key: str) -> StepType:
        return self.step_types[locked.context.definition.steps[key].type]


def archived_failure(endpoint_id: EndpointId) -> Failure:
    """Return the failure of a step whose endpoint was archived."""
    return Failure(EndpointNotFound.code, f"endpoint {endpoint_id} was archived")


def _jobs_of(step: StepRun) -> list[int]:
    return [unit.taken_by for unit in (step, *step.windows) if unit.taken_by is not None]
