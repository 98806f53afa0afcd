"""Transitions of an endpoint attempt and its unit, under the run's lock."""

from datetime import datetime, timedelta

from framekiln.pipelines.endpoints import store
from framekiln.pipelines.endpoints.attempt_result import AttemptSucceeded, FinalResult
from framekiln.pipelines.endpoints.model import StoredAttempt
from framekiln.pipelines.execution import unit_transitions
from framekiln.pipelines.execution.coordinator import ConcurrencyLimiter
from framekiln.pipelines.execution.locked_run import LockedRun
from framekiln.pipelines.model.endpoint import Endpoint


async def end_attempt(locked: LockedRun, attempt: StoredAttempt, verdict: FinalResult) -> bool:
    """End an attempt at a unit well or badly; False when nobody waits for it any more.

    Its slot is free, and the next attempt lined up, when the run is let go.
    """
    taken = attempt.taken_unit()
    if isinstance(verdict, AttemptSucceeded):
        return await unit_transitions.succeed(locked, taken, verdict.output)
    return unit_transitions.fail(
        locked,
        taken,
        verdict.failure,
        is_retryable=verdict.is_retryable,
        retry_after_s=verdict.retry_after_s,
    )


async def accept_attempt(
    locked: LockedRun, attempt: StoredAttempt, endpoint: Endpoint, *, gate: ConcurrencyLimiter
) -> bool:
    """Let an attempt wait for its callback, without a slot; False when nobody waits for it."""
    since = attempt.last_heartbeat_at or locked.context.now
    if not await extend_deadline(locked, attempt, deadline_at=callback_deadline(endpoint, since)):
        return False
    await gate.admit(locked.connection, {attempt.endpoint_id})
    return True


async def extend_deadline(
    locked: LockedRun, attempt: StoredAttempt, *, deadline_at: datetime
) -> bool:
    """Give the endpoint until then to call back; False when nobody waits for it."""
    if not unit_transitions.await_callback(locked, attempt.taken_unit(), deadline_at=deadline_at):
        return False
    await store.set_awaiting_callback(locked.connection, attempt.id, deadline_at=deadline_at)
    return True


def callback_deadline(endpoint: Endpoint, since: datetime) -> datetime:
    """Return until when an endpoint must be heard of that was last heard of then."""
    return since + timedelta(milliseconds=endpoint.callback_timeout_ms)
