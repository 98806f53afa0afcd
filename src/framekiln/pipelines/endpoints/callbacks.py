"""Callbacks of endpoints for work that they accepted: heartbeats, outputs and failures (spec 4.7).

The secret URL is the authentication. A callback may arrive before the response to the request, or
while the request of a dead worker is about to be sent again. Then it is stored, and counts as soon
as the request has ended.
"""

import asyncio
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final, Literal, NoReturn

from pydantic import Field, Strict

from framekiln.db.pool import Database
from framekiln.files.lookup import find_file
from framekiln.jobs.failures import Failure
from framekiln.kit.errors import InvalidInput, TooLarge
from framekiln.pipelines.endpoints import attempt_transitions
from framekiln.pipelines.endpoints.attempt_result import (
    AttemptFailed,
    FinalResult,
    early_callback,
    early_result,
    invalid_output,
    result_of_output,
)
from framekiln.pipelines.errors import (
    CallbackNotFound,
    EndpointFailed,
    InvalidOutput,
    StepNotWaiting,
    invalid_request,
)
from framekiln.pipelines.execution.coordinator import RunCoordinator
from framekiln.pipelines.execution.locked_run import LockedRun
from framekiln.pipelines.execution.track_description import describe_tracks
from framekiln.pipelines.model.endpoint import (
    AttemptState,
    Endpoint,
    EndpointAttempt,
    hash_callback_id,
)
from framekiln.pipelines.outputs.validation import OutputForm, OutputRules
from framekiln.pipelines.schema.field_types import DescribedJson, Text
from framekiln.pipelines.schema.issues import IssueCode, Location, ValidationIssue, sorted_issues
from framekiln.pipelines.schema.records import Record, read
from framekiln.pipelines.stores import attempt as attempt_store
from framekiln.pipelines.stores import endpoint as endpoint_store
from framekiln.pipelines.stores import run as run_store

MAX_MESSAGE_CHARS: Final = 1000
MAX_CODE_CHARS: Final = 64
CODE: Final = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True, kw_only=True)
class CallbackError(Record):
    """`error` of a callback that failed."""

    message: Annotated[str, Text(maximum=MAX_MESSAGE_CHARS)]
    code: Annotated[str | None, Text(maximum=MAX_CODE_CHARS, pattern=CODE)] = None
    retryable: Annotated[bool | None, Strict()] = None


@dataclass(frozen=True, kw_only=True)
class HeartbeatBody(Record):
    """Says that the endpoint is still at it."""

    status: Literal["heartbeat"]


@dataclass(frozen=True, kw_only=True)
class SucceededBody(Record):
    """Brings an output."""

    status: Literal["succeeded"]
    output: Annotated[Any, DescribedJson(OutputForm | None)] = None


@dataclass(frozen=True, kw_only=True)
class FailedBody(Record):
    """Says why there is no output."""

    status: Literal["failed"]
    error: CallbackError


Callback = HeartbeatBody | SucceededBody | FailedBody
CallbackBody = Annotated[Callback, Field(discriminator="status")]
_BODIES: Final[dict[Any, type[Callback]]] = {
    "heartbeat": HeartbeatBody,
    "succeeded": SucceededBody,
    "failed": FailedBody,
}


def read_callback(value: Any) -> Callback:
    """Return the callback, or raise with all issues of its body."""
    if not isinstance(value, dict):
        raise invalid_request([ValidationIssue("", IssueCode.TYPE)])
    issues: list[ValidationIssue] = []
    place, status, callback = Location(issues), value.get("status"), None
    kind = _BODIES.get(status) if isinstance(status, str) else None
    if kind is not None:
        callback = read(kind, value, place)
    else:
        absent = IssueCode.REQUIRED if "status" not in value else IssueCode.UNKNOWN_VALUE
        (place / "status").report(absent)
    if callback is None:
        raise invalid_request(sorted_issues(issues))
    return callback


class EndpointCallbacks:
    """The callbacks of all attempts."""

    def __init__(self, database: Database, *, coordinator: RunCoordinator) -> None:
        self._database = database
        self._coordinator = coordinator

    async def find(self, callback_id: str) -> EndpointAttempt:
        """Return the attempt with this secret; raise if there is none, or if it has ended."""
        async with self._database.connection() as connection:
            attempt = await attempt_store.find_by_callback(
                connection, hash_callback_id(callback_id)
            )
        if attempt is None:
            raise CallbackNotFound("no attempt has this callback URL; check that it is complete")
        if attempt.state is AttemptState.DONE:
            raise _not_waiting(attempt)
        return attempt

    async def receive(self, attempt: EndpointAttempt, callback: Callback) -> datetime | None:
        """Record a callback; return the deadline of the next one, if another must follow.

        An invalid output ends the step, and the response names its issues.
        """
        if isinstance(callback, HeartbeatBody):
            return await self._record(attempt, None)
        result = await self._result_of(attempt, callback)
        await self._record(attempt, result)
        if isinstance(result, AttemptFailed) and result.issues:
            raise _refusal(result)
        return None

    async def refuse_too_large(self, attempt: EndpointAttempt, error: TooLarge) -> NoReturn:
        """End the step of an endpoint whose callback is too large."""
        failure = Failure(InvalidOutput.code, error.message.replace("the body", "the callback"))
        await self._record(attempt, AttemptFailed(failure))
        raise error

    async def refuse_too_deep(self, attempt: EndpointAttempt) -> NoReturn:
        """End the step of an endpoint whose output is nested too deep to be read."""
        result = invalid_output([ValidationIssue("", IssueCode.TOO_DEEP)])
        await self._record(attempt, result)
        raise _refusal(result)

    async def _result_of(
        self, attempt: EndpointAttempt, callback: SucceededBody | FailedBody
    ) -> FinalResult:
        if isinstance(callback, FailedBody):
            error = callback.error
            failure = Failure(error.code or EndpointFailed.code, error.message)
            return AttemptFailed(failure, bool(error.retryable))
        output = {} if callback.output is None else callback.output
        rules = OutputRules(attempt.window, await self._track_ids(attempt))
        return await asyncio.to_thread(result_of_output, output, rules)

    async def _track_ids(self, attempt: EndpointAttempt) -> list[int] | None:
        async with self._database.connection() as connection:
            run = await run_store.find_by_id(connection, attempt.run_id)
            if run is None:
                return None
            file = await find_file(connection, run.organization_id, run.file_id)
            if file is None:
                return None
            return [each["track_id"] for each in await describe_tracks(connection, file)]

    async def _record(self, known: EndpointAttempt, result: FinalResult | None) -> datetime | None:
        """Record a result, or a heartbeat if None; return the next deadline."""
        async with self._coordinator.lock_run(known.run_id) as locked:
            attempt = await attempt_store.lock(locked.connection, known.id) if locked else None
            if locked is None or attempt is None or locked.run.status.is_terminal:
                raise _not_waiting(known)
            if attempt.state is AttemptState.AWAITING_CALLBACK:
                return await self._finish(locked, attempt, result)
            # The first result counts; a second one is refused.
            if attempt.state is AttemptState.DONE or early_result(attempt) is not None:
                raise _not_waiting(known)
            return await self._save_early(locked, attempt, result)

    async def _finish(
        self, locked: LockedRun, attempt: EndpointAttempt, result: FinalResult | None
    ) -> datetime | None:
        if result is not None:
            if not await attempt_transitions.end_attempt(locked, attempt, result):
                raise _not_waiting(attempt)
            return None
        endpoint = await _endpoint(locked, attempt)
        deadline_at = endpoint.callback_deadline(locked.context.now)
        if not await attempt_transitions.extend_deadline(locked, attempt, deadline_at=deadline_at):
            raise _not_waiting(attempt)
        return deadline_at

    async def _save_early(
        self, locked: LockedRun, attempt: EndpointAttempt, result: FinalResult | None
    ) -> datetime | None:
        now = locked.context.now
        stored = early_callback(result, now=now)
        await attempt_store.save_early_callback(locked.connection, attempt.id, stored)
        if result is not None:
            return None
        return (await _endpoint(locked, attempt)).callback_deadline(now)


async def _endpoint(locked: LockedRun, attempt: EndpointAttempt) -> Endpoint:
    found = await endpoint_store.find(
        locked.connection, locked.run.organization_id, attempt.endpoint_id
    )
    assert found is not None, "an endpoint is deleted only with all its attempts"
    return found


def _refusal(result: AttemptFailed) -> InvalidInput:
    """Return the error for the sender of an invalid output."""
    return invalid_request([_issue_in_output(each) for each in result.issues])


def _issue_in_output(issue: ValidationIssue) -> ValidationIssue:
    return ValidationIssue(f"output.{issue.path}" if issue.path else "output", issue.code)


def _not_waiting(attempt: EndpointAttempt) -> StepNotWaiting:
    return StepNotWaiting(
        f"attempt {attempt.number} at step {attempt.step_key} has ended and accepts no callback"
    )
