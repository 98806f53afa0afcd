"""What becomes of a unit when its attempt is heard of, while the run is held."""

from datetime import datetime, timedelta

from framekiln.pipelines.model.endpoint import Endpoint
from framekiln.pipelines.running import units
from framekiln.pipelines.running.gate import Gate
from framekiln.pipelines.running.held import HeldRun
from framekiln.pipelines.sending import store
from framekiln.pipelines.sending.model import StoredAttempt
from framekiln.pipelines.sending.verdict import Ended, Succeeded


async def end_attempt(held: HeldRun, attempt: StoredAttempt, verdict: Ended) -> bool:
    """End an attempt at a unit well or badly; False when nobody waits for it any more.

    Its slot is free, and the next attempt lined up, when the run is let go.
    """
    taken = attempt.taken_unit()
    if isinstance(verdict, Succeeded):
        return await units.succeed(held, taken, verdict.output)
    return units.fail(
        held,
        taken,
        verdict.failure,
        is_retryable=verdict.is_retryable,
        retry_after_s=verdict.retry_after_s,
    )


async def accept(held: HeldRun, attempt: StoredAttempt, endpoint: Endpoint, *, gate: Gate) -> bool:
    """Let an attempt wait for its callback, without a slot; False when nobody waits for it."""
    since = attempt.last_sign_at or held.frame.now
    if not await keep_waiting(held, attempt, deadline_at=deadline(endpoint, since)):
        return False
    await gate.open(held.connection, {attempt.endpoint_id})
    return True


async def keep_waiting(held: HeldRun, attempt: StoredAttempt, *, deadline_at: datetime) -> bool:
    """Give the endpoint until then to call back; False when nobody waits for it."""
    if not units.await_callback(held, attempt.taken_unit(), deadline_at=deadline_at):
        return False
    await store.set_awaiting(held.connection, attempt.id, deadline_at=deadline_at)
    return True


def deadline(endpoint: Endpoint, since: datetime) -> datetime:
    """Return until when an endpoint must be heard of that was last heard of then."""
    return since + timedelta(milliseconds=endpoint.callback_timeout_ms)
