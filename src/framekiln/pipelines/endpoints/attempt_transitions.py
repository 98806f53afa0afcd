"""Transitions of an endpoint attempt and its unit, under the run's lock."""

from datetime import datetime, timedelta

from framekiln.pipelines.endpoints import store
from framekiln.pipelines.endpoints.attempt_result import AttemptSucceeded, FinalResult
from framekiln.pipelines.endpoints.model import StoredAttempt
from framekiln.pipelines.execution import unit_transitions
from framekiln.pipelines.execution.coordinator import ConcurrencyLimiter
from framekiln.pipelines.execution.locked_run import LockedRun
from framekiln.pipelines.model.pipeline import Endpoint


async def end_attempt(locked: LockedRun, attempt: StoredAttempt, result: FinalResult) -> bool:
    """End an attempt at a unit; False if it is not current any more.

    When the run is written, its slot is freed and the next attempt is added.
    """
    taken = attempt.taken_unit()
    if isinstance(result, AttemptSucceeded):
        return await unit_transitions.succeed(locked, taken, result.output)
    return unit_transitions.fail(
        locked,
        taken,
        result.failure,
        is_retryable=result.is_retryable,
        retry_after_s=result.retry_after_s,
    )


async def accept_attempt(
    locked: LockedRun, attempt: StoredAttempt, endpoint: Endpoint, *, limiter: ConcurrencyLimiter
) -> bool:
    """Wait for the callback, without a slot; False if the attempt is not current any more."""
    since = attempt.last_heartbeat_at or locked.context.now
    if not await extend_deadline(locked, attempt, deadline_at=callback_deadline(endpoint, since)):
        return False
    await limiter.admit(locked.connection, {attempt.endpoint_id})
    return True


async def extend_deadline(
    locked: LockedRun, attempt: StoredAttempt, *, deadline_at: datetime
) -> bool:
    """Set the deadline of the callback; False if the attempt is not current any more."""
    if not unit_transitions.await_callback(locked, attempt.taken_unit(), deadline_at=deadline_at):
        return False
    await store.set_awaiting_callback(locked.connection, attempt.id, deadline_at=deadline_at)
    return True


def callback_deadline(endpoint: Endpoint, since: datetime) -> datetime:
    """Return the deadline for the next callback after one at `since`."""
    return since + timedelta(milliseconds=endpoint.callback_timeout_ms)
