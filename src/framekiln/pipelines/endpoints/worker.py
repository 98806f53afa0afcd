"""What workers do with attempts: take one, say how it went, look for what is due.

The callback's address is committed before anything is sent. When a worker dies, its job comes back
and the same attempt is delivered again, with the same key and the same address.
"""

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

import structlog

from framekiln.db.pool import Connection, Database
from framekiln.files.model import File
from framekiln.jobs.failures import Failure
from framekiln.kit.clock import Clock
from framekiln.pipelines.definition.model import Definition
from framekiln.pipelines.endpoints import attempt_transitions, store
from framekiln.pipelines.endpoints.attempt_result import (
    AttemptAccepted,
    AttemptFailed,
    AttemptResult,
)
from framekiln.pipelines.endpoints.errors import CallbackTimedOut
from framekiln.pipelines.endpoints.model import (
    AttemptState,
    StoredAttempt,
    TakenAttempt,
    callback_id,
    hash_callback_id,
)
from framekiln.pipelines.endpoints.store import AttemptLease
from framekiln.pipelines.errors import EndpointNotFound
from framekiln.pipelines.execution import unit_transitions
from framekiln.pipelines.execution.coordinator import ConcurrencyLimiter, RunCoordinator
from framekiln.pipelines.execution.locked_run import LockedRun
from framekiln.pipelines.execution.step_inputs import read_inputs
from framekiln.pipelines.execution.step_type import StepTypes
from framekiln.pipelines.execution.track_description import describe_tracks
from framekiln.pipelines.model.endpoint import Endpoint
from framekiln.pipelines.model.ids import AttemptId, EndpointId, RunId
from framekiln.pipelines.model.run import Run, TakenUnit
from framekiln.pipelines.scheduling.status import StepStatus
from framekiln.pipelines.stores import endpoint as endpoint_store

_MAX_OVERDUE: Final = 500
# Beyond the endpoint's own time: to write the body, and to wait for a database that is away.
_GRACE: Final = timedelta(minutes=5)
_CALLBACK_TIMED_OUT: Final = AttemptFailed(
    Failure(CallbackTimedOut.code, "the endpoint accepted the work and did not call back in time"),
    is_retryable=True,
)

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class _StartedAttempt:
    """An attempt that was taken, before its inputs are read."""

    attempt: StoredAttempt
    unit: TakenUnit
    endpoint: Endpoint
    run: Run
    file: File
    definition: Definition


class AttemptWorker:
    """The attempts of all organizations, as their workers see them."""

    def __init__(
        self, database: Database, *, advance: RunCoordinator, gate: ConcurrencyLimiter, clock: Clock
    ) -> None:
        self._database = database
        self._coordinator = advance
        self._limiter = gate
        self._clock = clock

    async def take(
        self, attempt_id: AttemptId, run_id: RunId, *, job_id: int
    ) -> TakenAttempt | None:
        """Become the one who sends an attempt; None when there is nothing to send."""
        async with self._coordinator.lock_run(run_id) as locked:
            begun = await _start_attempt(locked, attempt_id, job_id=job_id) if locked else None
        if begun is None:
            return None
        async with self._database.connection() as connection:
            return await _with_inputs(connection, begun, self._coordinator.step_types)

    async def finish(self, taken: TakenAttempt, verdict: AttemptResult) -> bool:
        """Record how sending went; False when nobody waits for it any more."""
        async with self._coordinator.lock_run(taken.run.id) as locked:
            if locked is None:
                return False
            attempt = await store.lock(locked.connection, taken.attempt.id)
            if attempt is None or attempt.state is not AttemptState.SENDING:
                return False
            if attempt.fence != taken.unit.fence:
                return False
            # What was called back while we waited for the answer says more than the answer.
            verdict = attempt.early_result or verdict
            if isinstance(verdict, AttemptAccepted):
                return await attempt_transitions.accept_attempt(
                    locked, attempt, taken.endpoint, gate=self._limiter
                )
            return await attempt_transitions.end_attempt(locked, attempt, verdict)

    async def tick(self) -> None:
        """Give up what was not heard of in time, and let through what has become due."""
        now = self._clock.now()
        async with self._database.connection() as connection:
            overdue = await store.list_overdue(connection, now=now, limit=_MAX_OVERDUE)
        for attempt_id, run_id in overdue:
            await self._expire_attempt(attempt_id, run_id)
        async with self._database.connection() as connection:
            wanted = await store.list_endpoints_with_due(connection, now=now)
        for endpoint_id in wanted:
            await self._admit(endpoint_id)

    async def _expire_attempt(self, attempt_id: AttemptId, run_id: RunId) -> None:
        async with self._coordinator.lock_run(run_id) as locked:
            attempt = await store.lock(locked.connection, attempt_id) if locked else None
            # It may have been heard of since.
            if locked is None or attempt is None or attempt.due_at > locked.context.now:
                return
            if attempt.state is AttemptState.AWAITING_CALLBACK:
                if not await attempt_transitions.end_attempt(locked, attempt, _CALLBACK_TIMED_OUT):
                    await store.end(locked.connection, attempt_id, now=locked.context.now)
            elif attempt.state is AttemptState.SENDING:
                log.warning("an endpoint's request was lost", attempt_id=str(attempt_id))
                await _release(locked, attempt)
                await self._limiter.admit(locked.connection, {attempt.endpoint_id})

    async def _admit(self, endpoint_id: EndpointId) -> None:
        async with self._database.transaction() as connection:
            await self._limiter.admit(connection, {endpoint_id})


async def _start_attempt(
    locked: LockedRun, attempt_id: AttemptId, *, job_id: int
) -> _StartedAttempt | None:
    attempt = await store.lock(locked.connection, attempt_id)
    file, now = locked.context.file, locked.context.now
    if attempt is None or file is None or not _may_take(attempt, job_id):
        return None
    endpoint = await endpoint_store.find(
        locked.connection, locked.run.organization_id, attempt.endpoint_id
    )
    assert endpoint is not None, "endpoints go only with all their attempts"
    deadline_at = attempt_transitions.callback_deadline(endpoint, now)
    unit = unit_transitions.take(locked, attempt.unit_key, job_id=job_id, deadline_at=deadline_at)
    if unit is None:
        return None
    taking = AttemptLease(
        job_id=job_id,
        fence=unit.fence,
        callback_hash=hash_callback_id(callback_id(endpoint, attempt.id)),
        sent_at=now,
        overdue_at=now + timedelta(milliseconds=endpoint.timeout_ms) + _GRACE,
    )
    await store.take(locked.connection, attempt.id, taking)
    attempt = replace(attempt, fence=unit.fence, taken_by=job_id, sent_at=now)
    settled = attempt.early_result or _archived_failure(endpoint)
    if settled is not None:
        await attempt_transitions.end_attempt(locked, attempt, settled)
        return None
    return _StartedAttempt(attempt, unit, endpoint, locked.run, file, locked.context.definition)


def _may_take(attempt: StoredAttempt, job_id: int) -> bool:
    # Its own job may come back because the worker died; any other one is late.
    return attempt.state is AttemptState.SENDING and attempt.taken_by in (None, job_id)


def _archived_failure(endpoint: Endpoint) -> AttemptFailed | None:
    if endpoint.archived_at is None:
        return None
    return AttemptFailed(Failure(EndpointNotFound.code, f"endpoint {endpoint.id} was archived"))


async def _release(locked: LockedRun, attempt: StoredAttempt) -> None:
    await store.release(locked.connection, attempt.id, now=locked.context.now)
    unit = locked.find_unit(attempt.unit_key)
    if unit is not None and unit.status is StepStatus.RUNNING and unit.fence == attempt.fence:
        # The next job has another number.
        locked.set_unit(attempt.unit_key, replace(unit, taken_by=None))


async def _with_inputs(
    connection: Connection, begun: _StartedAttempt, types: StepTypes
) -> TakenAttempt:
    key, window = begun.attempt.step_key, begun.unit.window
    inputs = await read_inputs(connection, begun.run.id, begun.definition, key=key, window=window)
    assert begun.attempt.sent_at is not None
    return TakenAttempt(
        **vars(begun),
        inputs=inputs,
        tracks=await describe_tracks(connection, begun.file),
        frames_ms=await _frames_ms(connection, begun, types),
        sent_at=begun.attempt.sent_at,
    )


async def _frames_ms(connection: Connection, begun: _StartedAttempt, types: StepTypes) -> list[int]:
    """Return when pictures were taken by the steps that this one needs, each instant once."""
    window = begun.unit.window
    upstream = {
        step.key: types[step.type]
        for step in begun.definition.upstream(begun.attempt.step_key)
        if types[step.type].samples_frames
    }
    if not upstream:
        return []
    found = await store.list_metadata(connection, begun.run.id, keys=upstream, window=window)
    times_ms = {at_ms for key, each in found for at_ms in upstream[key].frame_times(each)}
    if window is None:
        return sorted(times_ms)
    return sorted(each for each in times_ms if window.media_start_ms <= each < window.end_ms)
