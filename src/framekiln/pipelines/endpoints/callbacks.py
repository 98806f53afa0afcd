"""What endpoints say of the work that they accepted. The address alone proves who it is.

A callback may be quicker than the answer to the request, or come while a dead worker's request is
about to be sent again: then it is kept, and counts as soon as the request has ended.
"""

import asyncio
from datetime import datetime
from typing import NoReturn

from framekiln.db.pool import Database
from framekiln.files.lookup import find_file
from framekiln.jobs.failures import Failure
from framekiln.kit.errors import InvalidInput
from framekiln.pipelines.endpoints import attempt_transitions, store
from framekiln.pipelines.endpoints.attempt_result import (
    MAX_RESPONSE_BYTES,
    AttemptFailed,
    FinalResult,
    OutputRules,
    invalid_output,
    result_of_output,
    result_to_json,
)
from framekiln.pipelines.endpoints.callback_body import Callback, Heartbeat, UncheckedOutput
from framekiln.pipelines.endpoints.errors import CallbackNotFound, StepNotWaiting
from framekiln.pipelines.endpoints.model import AttemptState, StoredAttempt, hash_callback_id
from framekiln.pipelines.errors import InvalidOutput, invalid_request
from framekiln.pipelines.execution.coordinator import RunCoordinator
from framekiln.pipelines.execution.locked_run import LockedRun
from framekiln.pipelines.execution.track_description import describe_tracks
from framekiln.pipelines.model.endpoint import Endpoint
from framekiln.pipelines.schema.issues import IssueCode, ValidationIssue
from framekiln.pipelines.stores import endpoint as endpoint_store
from framekiln.pipelines.stores import run as run_store

_TOO_LARGE = AttemptFailed(
    Failure(InvalidOutput.code, f"the callback has more than {MAX_RESPONSE_BYTES} bytes")
)


class EndpointCallbacks:
    """The callbacks of all attempts."""

    def __init__(self, database: Database, *, advance: RunCoordinator) -> None:
        self._database = database
        self._coordinator = advance

    async def receive(self, callback_id: str, callback: Callback) -> datetime | None:
        """Record a callback; return until when the next one must come, if one must.

        An output that is wrong ends the step, and whoever sent it is told what is wrong.
        """
        attempt = await self._find(callback_id)
        if isinstance(callback, Heartbeat):
            return await self._record(attempt, None)
        verdict = await self._result_of(attempt, callback)
        await self._record(attempt, verdict)
        if isinstance(verdict, AttemptFailed) and verdict.issues:
            raise _refusal(verdict)
        return None

    async def refuse_too_large(self, callback_id: str) -> None:
        """End the step of an endpoint that sent more than any output may have."""
        await self._record(await self._find(callback_id), _TOO_LARGE)

    async def refuse_too_deep(self, callback_id: str) -> NoReturn:
        """End the step of an endpoint whose output is nested so far that it cannot be read."""
        verdict = invalid_output([ValidationIssue("", IssueCode.TOO_DEEP)])
        await self._record(await self._find(callback_id), verdict)
        raise _refusal(verdict)

    async def _find(self, callback_id: str) -> StoredAttempt:
        async with self._database.connection() as connection:
            attempt = await store.find_by_callback(connection, hash_callback_id(callback_id))
        if attempt is None:
            raise CallbackNotFound("no attempt has this callback address: was it cut short?")
        if attempt.state is AttemptState.DONE:
            raise _not_waiting(attempt)
        return attempt

    async def _result_of(
        self, attempt: StoredAttempt, callback: UncheckedOutput | AttemptFailed
    ) -> FinalResult:
        if isinstance(callback, AttemptFailed):
            return callback
        rules = OutputRules(attempt.window, await self._track_ids(attempt))
        return await asyncio.to_thread(lambda: result_of_output(callback.value, rules))

    async def _track_ids(self, attempt: StoredAttempt) -> list[int] | None:
        async with self._database.connection() as connection:
            run = await run_store.find_by_id(connection, attempt.run_id)
            if run is None:
                return None
            file = await find_file(connection, run.organization_id, run.file_id)
            if file is None:
                return None
            return [each["track_id"] for each in await describe_tracks(connection, file)]

    async def _record(self, known: StoredAttempt, verdict: FinalResult | None) -> datetime | None:
        """Record a verdict, or a sign of life; return the next deadline."""
        async with self._coordinator.lock_run(known.run_id) as locked:
            attempt = await store.lock(locked.connection, known.id) if locked else None
            if locked is None or attempt is None or locked.run.status.is_terminal:
                raise _not_waiting(known)
            if attempt.state is AttemptState.AWAITING_CALLBACK:
                return await self._finish(locked, attempt, verdict)
            # A verdict stands: the second one comes too late.
            if attempt.state is AttemptState.DONE or attempt.early_result is not None:
                raise _not_waiting(known)
            return await self._save_early(locked, attempt, verdict)

    async def _finish(
        self, locked: LockedRun, attempt: StoredAttempt, verdict: FinalResult | None
    ) -> datetime | None:
        if verdict is not None:
            if not await attempt_transitions.end_attempt(locked, attempt, verdict):
                raise _not_waiting(attempt)
            return None
        deadline_at = attempt_transitions.callback_deadline(
            await _endpoint(locked, attempt), locked.context.now
        )
        if not await attempt_transitions.extend_deadline(locked, attempt, deadline_at=deadline_at):
            raise _not_waiting(attempt)
        return deadline_at

    async def _save_early(
        self, locked: LockedRun, attempt: StoredAttempt, verdict: FinalResult | None
    ) -> datetime | None:
        now = locked.context.now
        if verdict is not None:
            await store.save_early_callback(
                locked.connection, attempt.id, {"verdict": result_to_json(verdict)}
            )
            return None
        await store.save_early_callback(
            locked.connection, attempt.id, {"heartbeat_at": now.isoformat()}
        )
        return attempt_transitions.callback_deadline(await _endpoint(locked, attempt), now)


async def _endpoint(locked: LockedRun, attempt: StoredAttempt) -> Endpoint:
    found = await endpoint_store.find(
        locked.connection, locked.run.organization_id, attempt.endpoint_id
    )
    assert found is not None, "endpoints go only with all their attempts"
    return found


def _refusal(verdict: AttemptFailed) -> InvalidInput:
    """Return what whoever sent a wrong output is told."""
    return invalid_request([_issue_in_output(each) for each in verdict.issues])


def _issue_in_output(issue: ValidationIssue) -> ValidationIssue:
    return ValidationIssue(f"output.{issue.path}" if issue.path else "output", issue.code)


def _not_waiting(attempt: StoredAttempt) -> StepNotWaiting:
    return StepNotWaiting(
        f"attempt {attempt.number} at step {attempt.step_key} has ended and accepts no callback"
    )
