"""How a unit starts that has become ready, by its type.

A filter decides at once, a review opens a task, an endpoint's attempt waits for its turn at the
gate, and everything else is a job. A run that names an archived endpoint does not start at all.
"""

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from framekiln.jobs.ending import Failure
from framekiln.jobs.queue import JobQueue
from framekiln.kit.ids import new_uuid
from framekiln.pipelines.definitions.predicate import holds
from framekiln.pipelines.definitions.steps import endpoint, filter, review
from framekiln.pipelines.errors import EndpointNotFound
from framekiln.pipelines.model.endpoint import EndpointAttempt
from framekiln.pipelines.model.ids import AttemptId, EndpointId, ReviewId
from framekiln.pipelines.model.review import Review, ReviewStatus
from framekiln.pipelines.model.run import UnitName
from framekiln.pipelines.outputs.inputs import view_of
from framekiln.pipelines.running.held import HeldRun
from framekiln.pipelines.running.jobs import queue_of, step_job
from framekiln.pipelines.running.reading import read_inputs
from framekiln.pipelines.states.run_state import Work
from framekiln.pipelines.states.statuses import RunStatus, StepStatus
from framekiln.pipelines.tables.attempt import store as attempt_store
from framekiln.pipelines.tables.endpoint import store as endpoint_store
from framekiln.pipelines.tables.review import store as review_store

_NOTHING: Final = -1


async def fail_archived(held: HeldRun) -> None:
    """Fail the steps of a run that has not begun whose endpoints were archived (spec 3.3)."""
    run = held.run
    if run.status is not RunStatus.PENDING or not run.is_admitted or run.cancel_requested_at:
        return
    named = {
        step.key: EndpointId(step.settings.endpoint_id)
        for step in held.frame.definition.steps.values()
        if isinstance(step.settings, endpoint.Settings)
        and held.steps[step.key].status is StepStatus.PENDING
    }
    if not named:
        return
    found = await endpoint_store.find_all(held.connection, run.organization_id, set(named.values()))
    for key, endpoint_id in named.items():
        if endpoint_id not in found or found[endpoint_id].archived_at is not None:
            held.end(UnitName(run.id, key), StepStatus.FAILED, _archived(endpoint_id))


class Starting:
    """Starts what scheduling says may start, in the transaction that holds the run."""

    def __init__(self, jobs: JobQueue) -> None:
        self._jobs = jobs

    async def start(self, held: HeldRun, work: Work) -> set[EndpointId]:
        """Start a unit; return the endpoints at which something new waits."""
        kind = held.frame.definition.steps[work.step_key].type
        if kind == filter.STEP.name:
            await _decide(held, work.step_key)
        elif kind == review.STEP.name:
            await _open_review(held, work.step_key)
        elif kind == endpoint.STEP.name:
            return await _line_up(held, work, due_at=held.frame.now)
        else:
            queue = queue_of(kind, held.frame.media)
            job = step_job(held.name_of(work), held.run.organization_id, queue)
            await self._jobs.defer(held.connection, job)
        return set()

    async def start_again(self, held: HeldRun, work: Work) -> set[EndpointId]:
        """Arrange the next attempt at a unit; jobs are queued when they are due."""
        unit = held.find(held.name_of(work))
        kind = held.frame.definition.steps[work.step_key].type
        if kind != endpoint.STEP.name or unit is None or unit.due_at is None:
            return set()
        # From now on the attempt knows when it is due.
        held.put(held.name_of(work), replace(unit, due_at=None))
        return await _line_up(held, work, due_at=unit.due_at)


async def _decide(held: HeldRun, key: str) -> None:
    predicate = held.frame.definition.steps[key].when
    assert predicate is not None, "a filter has a predicate"
    inputs = await read_inputs(held.connection, held.run.id, held.frame.definition, key=key)
    is_so = await asyncio.to_thread(lambda: holds(predicate, view_of(inputs)))
    _begin(held, key, StepStatus.SUCCEEDED if is_so else StepStatus.SKIPPED)


async def _open_review(held: HeldRun, key: str) -> None:
    settings, now = held.frame.definition.steps[key].settings, held.frame.now
    assert isinstance(settings, review.Settings)
    expires_at = now + timedelta(milliseconds=settings.expires_after_ms)
    attempt = _begin(held, key, StepStatus.WAITING_REVIEW, deadline_at=expires_at)
    task = Review(
        id=ReviewId(new_uuid()),
        position=_NOTHING,
        organization_id=held.run.organization_id,
        run_id=held.run.id,
        step_run_id=held.steps[key].id,
        step_key=key,
        attempt=attempt,
        status=ReviewStatus.PENDING,
        instructions=settings.instructions,
        input_namespaces=tuple(each.namespace for each in held.frame.definition.upstream(key)),
        on_expiry=settings.on_expiry,
        decided_by=None,
        reason=None,
        correction=None,
        created_at=now,
        expires_at=expires_at,
        decided_at=None,
    )
    await review_store.insert(held.connection, task)
    held.reviews[key] = task.id


async def _line_up(held: HeldRun, work: Work, *, due_at: datetime) -> set[EndpointId]:
    settings = held.frame.definition.steps[work.step_key].settings
    assert isinstance(settings, endpoint.Settings)
    endpoint_id, name, run = EndpointId(settings.endpoint_id), held.name_of(work), held.run
    found = await endpoint_store.find(held.connection, run.organization_id, endpoint_id)
    if found is None or found.archived_at is not None:
        held.end(name, StepStatus.FAILED, _archived(endpoint_id))
        return set()
    unit, step = held.find(name), held.steps[work.step_key]
    assert unit is not None
    number = unit.attempts.made + 1
    await attempt_store.end_of_unit(
        held.connection, step.id, name.window_number, now=held.frame.now
    )
    await attempt_store.insert(
        held.connection,
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
            idempotency_key=_idempotency_key(held, name, number),
            due_at=due_at,
            created_at=held.frame.now,
        ),
    )
    return {endpoint_id}


def _archived(endpoint_id: EndpointId) -> Failure:
    return Failure(EndpointNotFound.code, f"endpoint {endpoint_id} was archived")


def _idempotency_key(held: HeldRun, name: UnitName, number: int) -> str:
    """The same for every delivery of an attempt, and for no other attempt."""
    # Without dots: it is the id of a signed message, and those are joined with dots.
    window = "" if name.window_number is None else f"_{name.window_number}"
    return f"{held.steps[name.step_key].id}{window}_{number}"


def _begin(
    held: HeldRun, key: str, status: StepStatus, *, deadline_at: datetime | None = None
) -> int:
    """Count one more attempt of a step that no worker takes; return its number."""
    step = held.steps[key]
    unit = replace(step.unit, status=status, attempts=step.unit.attempts.begun())
    held.put(UnitName(held.run.id, key), unit)
    held.steps[key] = replace(held.steps[key], deadline_at=deadline_at)
    return unit.attempts.made
