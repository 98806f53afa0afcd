"""Endpoint attempts for workers: take one, record its result, expire what is overdue.

The callback URL is committed before anything is sent. When a worker dies, its job runs again and
sends the same attempt, with the same idempotency key and callback URL.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

import structlog

from framekiln.db.pool import Connection, Database
from framekiln.files.model import File
from framekiln.jobs.failures import Failure
from framekiln.jobs.queue import JobQueue
from framekiln.kit.clock import Clock
from framekiln.pipelines.definition.model import Definition
from framekiln.pipelines.endpoints import attempt_transitions
from framekiln.pipelines.endpoints.attempt_result import (
    AttemptAccepted,
    AttemptFailed,
    AttemptResult,
    early_result,
)
from framekiln.pipelines.errors import CallbackTimedOut
from framekiln.pipelines.execution import unit_transitions
from framekiln.pipelines.execution.coordinator import RunCoordinator
from framekiln.pipelines.execution.endpoint_slots import admit_attempts
from framekiln.pipelines.execution.locked_run import LockedRun
from framekiln.pipelines.execution.step_inputs import read_inputs
from framekiln.pipelines.execution.track_description import describe_tracks
from framekiln.pipelines.model.endpoint import (
    AttemptState,
    Endpoint,
    EndpointAttempt,
    archived_failure,
    hash_callback_id,
)
from framekiln.pipelines.model.pipeline import AttemptId, EndpointId, RunId
from framekiln.pipelines.model.run import Run, TakenUnit
from framekiln.pipelines.outputs.model import StepOutput
from framekiln.pipelines.outputs.validation import OutputRules
from framekiln.pipelines.stores import attempt as attempt_store
from framekiln.pipelines.stores import endpoint as endpoint_store
from framekiln.pipelines.stores import output as output_store
from framekiln.pipelines.stores.attempt import AttemptLease

_MAX_OVERDUE: Final = 500
# On top of the endpoint's timeout: to build the body, and to wait for the database.
_GRACE: Final = timedelta(minutes=5)
_CALLBACK_TIMED_OUT: Final = AttemptFailed(
    Failure(CallbackTimedOut.code, "the endpoint accepted the work but did not call back in time"),
    is_retryable=True,
)

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class StartedAttempt:
    """An attempt that was taken, before its inputs are read."""

    attempt: EndpointAttempt
    unit: TakenUnit
    endpoint: Endpoint
    run: Run
    file: File
    definition: Definition
    sent_at: datetime


@dataclass(frozen=True, kw_only=True)
class TakenAttempt(StartedAttempt):
    """An attempt taken by the job that sends it, with all that goes into the request."""

    inputs: Mapping[str, StepOutput]
    tracks: Sequence[Mapping[str, Any]]
    """As spec 4.7 describes them."""
    frames_ms: Sequence[int]
    """The times of the sampled frames that this step may fetch."""

    @property
    def rules(self) -> OutputRules:
        """The rules for its output."""
        return OutputRules(self.unit.window, [track["track_id"] for track in self.tracks])


class AttemptWorker:
    """The attempts of all organizations, for workers."""

    def __init__(
        self, database: Database, *, coordinator: RunCoordinator, jobs: JobQueue, clock: Clock
    ) -> None:
        self._database = database
        self._coordinator = coordinator
        self._jobs = jobs
        self._clock = clock

    async def take(
        self, attempt_id: AttemptId, run_id: RunId, *, job_id: int
    ) -> TakenAttempt | None:
        """Take an attempt to send it; None if there is nothing to send."""
        async with self._coordinator.lock_run(run_id) as locked:
            started = await _start_attempt(locked, attempt_id, job_id=job_id) if locked else None
        return await self._with_inputs(started) if started is not None else None

    async def finish(self, taken: TakenAttempt, result: AttemptResult) -> bool:
        """Record the result of a request; False if the attempt is not current any more."""
        async with self._coordinator.lock_run(taken.run.id) as locked:
            if locked is None:
                return False
            attempt = await attempt_store.lock(locked.connection, taken.attempt.id)
            if attempt is None or attempt.state is not AttemptState.SENDING:
                return False
            if attempt.fence != taken.unit.fence:
                return False
            # A callback that came before the response takes precedence over it.
            result = early_result(attempt) or result
            if isinstance(result, AttemptAccepted):
                return await attempt_transitions.accept_attempt(locked, attempt, taken.endpoint)
            return await attempt_transitions.end_attempt(locked, attempt, result)

    async def tick(self) -> None:
        """End overdue attempts, and give slots to those that have become due."""
        now = self._clock.now()
        async with self._database.connection() as connection:
            overdue = await attempt_store.list_overdue(connection, now=now, limit=_MAX_OVERDUE)
        for attempt_id, run_id in overdue:
            await self._expire_attempt(attempt_id, run_id)
        async with self._database.connection() as connection:
            endpoint_ids = await attempt_store.list_endpoints_with_due(connection, now=now)
        for endpoint_id in endpoint_ids:
            await self._admit(endpoint_id)

    async def _expire_attempt(self, attempt_id: AttemptId, run_id: RunId) -> None:
        async with self._coordinator.lock_run(run_id) as locked:
            attempt = await attempt_store.lock(locked.connection, attempt_id) if locked else None
            # A callback may have come since.
            if locked is None or attempt is None or attempt.due_at > locked.context.now:
                return
            if attempt.state is AttemptState.AWAITING_CALLBACK:
                if not await attempt_transitions.end_attempt(locked, attempt, _CALLBACK_TIMED_OUT):
                    await attempt_store.end(locked.connection, attempt_id, now=locked.context.now)
            elif attempt.state is AttemptState.SENDING:
                log.warning("pipelines.endpoint_request_lost", attempt_id=str(attempt_id))
                await attempt_transitions.release_attempt(locked, attempt)

    async def _with_inputs(self, started: StartedAttempt) -> TakenAttempt:
        run, key, window = started.run, started.attempt.step_key, started.unit.window
        async with self._database.connection() as connection:
            return TakenAttempt(
                **vars(started),
                inputs=await read_inputs(
                    connection, run.id, started.definition, key=key, window=window
                ),
                tracks=await describe_tracks(connection, started.file),
                frames_ms=await self._frames_ms(connection, started),
            )

    async def _frames_ms(self, connection: Connection, started: StartedAttempt) -> list[int]:
        """Return when pictures were taken by the steps that this one needs, each instant once."""
        window, types = started.unit.window, self._coordinator.step_types
        upstream = {
            step.key: types[step.type]
            for step in started.definition.upstream(started.attempt.step_key)
            if types[step.type].samples_frames
        }
        if not upstream:
            return []
        found = await output_store.list_metadata(
            connection, started.run.id, keys=upstream, window=window
        )
        times_ms = {at_ms for key, each in found for at_ms in upstream[key].frame_times(each)}
        if window is None:
            return sorted(times_ms)
        return sorted(each for each in times_ms if window.media_start_ms <= each < window.end_ms)

    async def _admit(self, endpoint_id: EndpointId) -> None:
        async with self._database.transaction() as connection:
            now = self._clock.now()
            await admit_attempts(connection, {endpoint_id}, jobs=self._jobs, now=now)


async def _start_attempt(
    locked: LockedRun, attempt_id: AttemptId, *, job_id: int
) -> StartedAttempt | None:
    attempt = await attempt_store.lock(locked.connection, attempt_id)
    file, now = locked.context.file, locked.context.now
    if attempt is None or not _may_take(attempt, job_id):
        return None
    endpoint = await endpoint_store.find(
        locked.connection, locked.run.organization_id, attempt.endpoint_id
    )
    assert endpoint is not None, "an endpoint is deleted only with all its attempts"
    unit = unit_transitions.take(
        locked, attempt.unit_key, job_id=job_id, deadline_at=endpoint.callback_deadline(now)
    )
    if unit is None:
        return None
    lease = AttemptLease(
        job_id=job_id,
        fence=unit.fence,
        callback_hash=hash_callback_id(endpoint.callback_id(attempt.id)),
        sent_at=now,
        overdue_at=now + timedelta(milliseconds=endpoint.timeout_ms) + _GRACE,
    )
    await attempt_store.take(locked.connection, attempt.id, lease)
    attempt = replace(attempt, fence=unit.fence, taken_by=job_id, sent_at=now)
    result = early_result(attempt) or _failure_before_request(locked, endpoint)
    if result is not None:
        await attempt_transitions.end_attempt(locked, attempt, result)
        return None
    assert file is not None, "without a file there is nothing to send"
    return StartedAttempt(attempt, unit, endpoint, locked.run, file, locked.context.definition, now)


def _may_take(attempt: EndpointAttempt, job_id: int) -> bool:
    # Its own job may run again because the worker died; any other job is late.
    return attempt.state is AttemptState.SENDING and attempt.taken_by in (None, job_id)


def _failure_before_request(locked: LockedRun, endpoint: Endpoint) -> AttemptFailed | None:
    if endpoint.archived_at is not None:
        return AttemptFailed(archived_failure(endpoint.id))
    return AttemptFailed(locked.file_failure()) if locked.context.file is None else None
