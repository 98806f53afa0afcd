"""What endpoints say of the work that they accepted. The address alone proves who it is.

A callback may be quicker than the answer to the request, or come while a dead worker's request is
about to be sent again: then it is kept, and counts as soon as the request has ended.
"""

import asyncio
from datetime import datetime
from typing import NoReturn

from framekiln.db.pool import Database
from framekiln.files import store as file_store
from framekiln.jobs.ending import Failure
from framekiln.kit.errors import InvalidInput
from framekiln.pipelines.errors import InvalidOutput, invalid_request
from framekiln.pipelines.forms.issues import Code, Issue
from framekiln.pipelines.model.endpoint import Endpoint
from framekiln.pipelines.running.advance import Advance
from framekiln.pipelines.running.held import HeldRun
from framekiln.pipelines.sending import settling, store
from framekiln.pipelines.sending.callback_body import Callback, Heartbeat, RawOutput
from framekiln.pipelines.sending.errors import CallbackNotFound, StepNotWaiting
from framekiln.pipelines.sending.model import AttemptState, StoredAttempt, hash_of
from framekiln.pipelines.sending.verdict import (
    MAX_ANSWER_BYTES,
    Ended,
    Failed,
    OutputRules,
    bad_output,
    judge_output,
    to_json,
)
from framekiln.pipelines.sending.work import describe_tracks
from framekiln.pipelines.tables.endpoint import store as endpoint_store
from framekiln.pipelines.tables.run import store as run_store

_TOO_LARGE = Failed(
    Failure(InvalidOutput.code, f"the callback has more than {MAX_ANSWER_BYTES} bytes")
)


class Callbacks:
    """The callbacks of all attempts."""

    def __init__(self, database: Database, *, advance: Advance) -> None:
        self._database = database
        self._advance = advance

    async def receive(self, callback_id: str, callback: Callback) -> datetime | None:
        """Record a callback; return until when the next one must come, if one must.

        An output that is wrong ends the step, and whoever sent it is told what is wrong.
        """
        attempt = await self._find(callback_id)
        if isinstance(callback, Heartbeat):
            return await self._record(attempt, None)
        verdict = await self._judge(attempt, callback)
        await self._record(attempt, verdict)
        if isinstance(verdict, Failed) and verdict.issues:
            raise _refusal(verdict)
        return None

    async def refuse_too_large(self, callback_id: str) -> None:
        """End the step of an endpoint that sent more than any output may have."""
        await self._record(await self._find(callback_id), _TOO_LARGE)

    async def refuse_too_deep(self, callback_id: str) -> NoReturn:
        """End the step of an endpoint whose output is nested so far that it cannot be read."""
        verdict = bad_output([Issue("", Code.TOO_DEEP)])
        await self._record(await self._find(callback_id), verdict)
        raise _refusal(verdict)

    async def _find(self, callback_id: str) -> StoredAttempt:
        async with self._database.connection() as connection:
            attempt = await store.find_by_callback(connection, hash_of(callback_id))
        if attempt is None:
            raise CallbackNotFound("no attempt has this callback address: was it cut short?")
        if attempt.state is AttemptState.DONE:
            raise _not_waiting(attempt)
        return attempt

    async def _judge(self, attempt: StoredAttempt, callback: RawOutput | Failed) -> Ended:
        if isinstance(callback, Failed):
            return callback
        rules = OutputRules(attempt.window, await self._track_ids(attempt))
        return await asyncio.to_thread(lambda: judge_output(callback.value, rules))

    async def _track_ids(self, attempt: StoredAttempt) -> list[int] | None:
        async with self._database.connection() as connection:
            run = await run_store.find_any(connection, attempt.run_id)
            if run is None:
                return None
            file = await file_store.find(connection, run.organization_id, run.file_id)
            if file is None:
                return None
            return [each["track_id"] for each in await describe_tracks(connection, file)]

    async def _record(self, known: StoredAttempt, verdict: Ended | None) -> datetime | None:
        """Record a verdict, or a sign of life; return the next deadline."""
        async with self._advance.hold(known.run_id) as held:
            attempt = await store.lock(held.connection, known.id) if held else None
            if held is None or attempt is None or held.run.status.is_terminal:
                raise _not_waiting(known)
            if attempt.state is AttemptState.AWAITING_CALLBACK:
                return await self._settle(held, attempt, verdict)
            # A verdict stands: the second one comes too late.
            if attempt.state is AttemptState.DONE or attempt.early_verdict is not None:
                raise _not_waiting(known)
            return await self._keep(held, attempt, verdict)

    async def _settle(
        self, held: HeldRun, attempt: StoredAttempt, verdict: Ended | None
    ) -> datetime | None:
        if verdict is not None:
            if not await settling.end_attempt(held, attempt, verdict):
                raise _not_waiting(attempt)
            return None
        deadline_at = settling.deadline(await _endpoint(held, attempt), held.frame.now)
        if not await settling.keep_waiting(held, attempt, deadline_at=deadline_at):
            raise _not_waiting(attempt)
        return deadline_at

    async def _keep(
        self, held: HeldRun, attempt: StoredAttempt, verdict: Ended | None
    ) -> datetime | None:
        now = held.frame.now
        if verdict is not None:
            await store.set_early(held.connection, attempt.id, {"verdict": to_json(verdict)})
            return None
        await store.set_early(held.connection, attempt.id, {"heartbeat_at": now.isoformat()})
        return settling.deadline(await _endpoint(held, attempt), now)


async def _endpoint(held: HeldRun, attempt: StoredAttempt) -> Endpoint:
    found = await endpoint_store.find(
        held.connection, held.run.organization_id, attempt.endpoint_id
    )
    assert found is not None, "endpoints go only with all their attempts"
    return found


def _refusal(verdict: Failed) -> InvalidInput:
    """Return what whoever sent a wrong output is told."""
    return invalid_request([_below_output(each) for each in verdict.issues])


def _below_output(issue: Issue) -> Issue:
    return Issue(f"output.{issue.path}" if issue.path else "output", issue.code)


def _not_waiting(attempt: StoredAttempt) -> StepNotWaiting:
    return StepNotWaiting(
        f"attempt {attempt.number} at step {attempt.step_key} has ended: nobody waits for it"
    )
