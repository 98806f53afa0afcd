"""Transitions of an endpoint attempt and its unit, under the run's lock."""

from datetime import datetime

from framekiln.pipelines.endpoints.attempt_result import (
    AttemptSucceeded,
    FinalResult,
    last_heartbeat_at,
)
from framekiln.pipelines.execution import unit_transitions
from framekiln.pipelines.execution.locked_run import LockedRun
from framekiln.pipelines.model.endpoint import Endpoint, EndpointAttempt
from framekiln.pipelines.stores import attempt as attempt_store


async def end_attempt(locked: LockedRun, attempt: EndpointAttempt, result: FinalResult) -> bool:
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


async def accept_attempt(locked: LockedRun, attempt: EndpointAttempt, endpoint: Endpoint) -> bool:
    """Wait for the callback, without a slot; False if the attempt is not current any more."""
    since = last_heartbeat_at(attempt) or locked.context.now
    deadline_at = endpoint.callback_deadline(since)
    if not await extend_deadline(locked, attempt, deadline_at=deadline_at):
        return False
    locked.endpoint_ids.add(attempt.endpoint_id)
    return True


async def extend_deadline(
    locked: LockedRun, attempt: EndpointAttempt, *, deadline_at: datetime
) -> bool:
    """Set the deadline of the callback; False if the attempt is not current any more."""
    if not unit_transitions.await_callback(locked, attempt.taken_unit(), deadline_at=deadline_at):
        return False
    await attempt_store.set_awaiting_callback(
        locked.connection, attempt.id, deadline_at=deadline_at
    )
    return True


async def release_attempt(locked: LockedRun, attempt: EndpointAttempt) -> None:
    """Let an attempt whose request was lost wait for a slot again."""
    await attempt_store.release(locked.connection, attempt.id, now=locked.context.now)
    # Without a fence its job never started, and nobody has the unit.
    if attempt.fence is not None:
        unit_transitions.release(locked, attempt.taken_unit())
    locked.endpoint_ids.add(attempt.endpoint_id)
