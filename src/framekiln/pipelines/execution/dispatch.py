"""Dispatches units that have become ready, by step type.

A filter decides at once, a review opens a task, an endpoint's attempt waits for its turn at the
gate, and everything else is a job. A run that names an archived endpoint does not start at all.
"""

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from framekiln.jobs.failures import Failure
from framekiln.jobs.queue import JobQueue
from framekiln.kit.ids import new_uuid
from framekiln.pipelines.definition.predicate import evaluate
from framekiln.pipelines.definition.steps import endpoint, filter, review
from framekiln.pipelines.errors import EndpointNotFound
from framekiln.pipelines.execution.jobs import queue_for_step, step_job
from framekiln.pipelines.execution.locked_run import LockedRun
from framekiln.pipelines.execution.step_inputs import read_inputs
from framekiln.pipelines.model.endpoint import EndpointAttempt
from framekiln.pipelines.model.ids import AttemptId, EndpointId, ReviewId
from framekiln.pipelines.model.review import Review, ReviewStatus
from framekiln.pipelines.model.run import UnitKey
from framekiln.pipelines.outputs.inputs import inputs_to_json
from framekiln.pipelines.scheduling.run_state import WorkItem
from framekiln.pipelines.scheduling.status import RunStatus, StepStatus
from framekiln.pipelines.stores import attempt as attempt_store
from framekiln.pipelines.stores import endpoint as endpoint_store
from framekiln.pipelines.stores import review as review_store

_NO_POSITION: Final = -1


async def fail_archived_endpoints(locked: LockedRun) -> None:
    """Fail the steps of a run that has not begun whose endpoints were archived (spec 3.3)."""
    run = locked.run
    if run.status is not RunStatus.PENDING or not run.is_admitted or run.cancel_requested_at:
        return
    named = {
        step.key: EndpointId(step.settings.endpoint_id)
        for step in locked.context.definition.steps.values()
        if isinstance(step.settings, endpoint.Settings)
        and locked.steps[step.key].status is StepStatus.PENDING
    }
    if not named:
        return
    found = await endpoint_store.find_all(
        locked.connection, run.organization_id, set(named.values())
    )
    for key, endpoint_id in named.items():
        if endpoint_id not in found or found[endpoint_id].archived_at is not None:
            locked.end_unit(UnitKey(run.id, key), StepStatus.FAILED, _archived_failure(endpoint_id))


class UnitDispatcher:
    """Starts what scheduling says may start, in the transaction that holds the run."""

    def __init__(self, jobs: JobQueue) -> None:
        self._jobs = jobs

    async def dispatch(self, locked: LockedRun, work: WorkItem) -> set[EndpointId]:
        """Start a unit; return the endpoints at which something new waits."""
        kind = locked.context.definition.steps[work.step_key].type
        if kind == filter.STEP.name:
            await _evaluate_filter(locked, work.step_key)
        elif kind == review.STEP.name:
            await _open_review(locked, work.step_key)
        elif kind == endpoint.STEP.name:
            return await _queue_attempt(locked, work, due_at=locked.context.now)
        else:
            queue = queue_for_step(kind, locked.context.media)
            job = step_job(locked.unit_key(work), locked.run.organization_id, queue)
            await self._jobs.defer(locked.connection, job)
        return set()

    async def dispatch_retry(self, locked: LockedRun, work: WorkItem) -> set[EndpointId]:
        """Arrange the next attempt at a unit; jobs are queued when they are due."""
        unit = locked.find_unit(locked.unit_key(work))
        kind = locked.context.definition.steps[work.step_key].type
        if kind != endpoint.STEP.name or unit is None or unit.due_at is None:
            return set()
        # From now on the attempt knows when it is due.
        locked.set_unit(locked.unit_key(work), replace(unit, due_at=None))
        return await _queue_attempt(locked, work, due_at=unit.due_at)


async def _evaluate_filter(locked: LockedRun, key: str) -> None:
    predicate = locked.context.definition.steps[key].when
    assert predicate is not None, "a filter has a predicate"
    inputs = await read_inputs(locked.connection, locked.run.id, locked.context.definition, key=key)
    is_so = await asyncio.to_thread(lambda: evaluate(predicate, inputs_to_json(inputs)))
    _start_attempt(locked, key, StepStatus.SUCCEEDED if is_so else StepStatus.SKIPPED)


async def _open_review(locked: LockedRun, key: str) -> None:
    settings, now = locked.context.definition.steps[key].settings, locked.context.now
    assert isinstance(settings, review.Settings)
    expires_at = now + timedelta(milliseconds=settings.expires_after_ms)
    attempt = _start_attempt(locked, key, StepStatus.WAITING_REVIEW, deadline_at=expires_at)
    task = Review(
        id=ReviewId(new_uuid()),
        position=_NO_POSITION,
        organization_id=locked.run.organization_id,
        run_id=locked.run.id,
        step_run_id=locked.steps[key].id,
        step_key=key,
        attempt=attempt,
        status=ReviewStatus.PENDING,
        instructions=settings.instructions,
        input_namespaces=tuple(each.namespace for each in locked.context.definition.upstream(key)),
        on_expiry=settings.on_expiry,
        decided_by=None,
        reason=None,
        correction=None,
        created_at=now,
        expires_at=expires_at,
        decided_at=None,
    )
    await review_store.insert(locked.connection, task)
    locked.reviews[key] = task.id


async def _queue_attempt(locked: LockedRun, work: WorkItem, *, due_at: datetime) -> set[EndpointId]:
    settings = locked.context.definition.steps[work.step_key].settings
    assert isinstance(settings, endpoint.Settings)
    endpoint_id, name, run = EndpointId(settings.endpoint_id), locked.unit_key(work), locked.run
    found = await endpoint_store.find(locked.connection, run.organization_id, endpoint_id)
    if found is None or found.archived_at is not None:
        locked.end_unit(name, StepStatus.FAILED, _archived_failure(endpoint_id))
        return set()
    unit, step = locked.find_unit(name), locked.steps[work.step_key]
    assert unit is not None
    number = unit.attempts.made + 1
    await attempt_store.end_by_unit(
        locked.connection, step.id, name.window_number, now=locked.context.now
    )
    await attempt_store.insert(
        locked.connection,
        EndpointAttempt(
            id=AttemptId(new_uuid()),
            run_id=run.id,
            step_run_id=step.id,
            window_number=name.window_number,
            endpoint_id=endpoint_id,
            pipeline_id=run.pipeline_id,
            pipeline_version=run.pipeline_version,
            step_key=step.key,
            step_max_concurrency=settings.max_concurrency,
            number=number,
            idempotency_key=_idempotency_key(locked, name, number),
            due_at=due_at,
            created_at=locked.context.now,
        ),
    )
    return {endpoint_id}


def _archived_failure(endpoint_id: EndpointId) -> Failure:
    return Failure(EndpointNotFound.code, f"endpoint {endpoint_id} was archived")


def _idempotency_key(locked: LockedRun, name: UnitKey, number: int) -> str:
    """The same for every delivery of an attempt, and for no other attempt."""
    # Without dots: it is the id of a signed message, and those are joined with dots.
    window = "" if name.window_number is None else f"_{name.window_number}"
    return f"{locked.steps[name.step_key].id}{window}_{number}"


def _start_attempt(
    locked: LockedRun, key: str, status: StepStatus, *, deadline_at: datetime | None = None
) -> int:
    """Count one more attempt of a step that no worker takes; return its number."""
    step = locked.steps[key]
    unit = replace(step.unit, status=status, attempts=step.unit.attempts.incremented())
    locked.set_unit(UnitKey(locked.run.id, key), unit)
    locked.steps[key] = replace(locked.steps[key], deadline_at=deadline_at)
    return unit.attempts.made
