"""What workers do with attempts: take one, say how it went, look for what is due.

The callback's address is committed before anything is sent. When a worker dies, its job comes back
and the same attempt is delivered again, with the same key and the same address.
"""

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final

import structlog

from framekiln.db.pool import Connection, Database
from framekiln.files.model import File, FileStatus
from framekiln.files.streams import store as stream_store
from framekiln.files.tracks import store as track_store
from framekiln.jobs.ending import Failure
from framekiln.kit.clock import Clock
from framekiln.pipelines.definitions.definition import Definition
from framekiln.pipelines.definitions.steps import sample_frames
from framekiln.pipelines.definitions.windows import Window
from framekiln.pipelines.errors import EndpointNotFound
from framekiln.pipelines.model.endpoint import Endpoint
from framekiln.pipelines.model.ids import AttemptId, EndpointId, RunId
from framekiln.pipelines.model.run import Run, TakenUnit
from framekiln.pipelines.runners.probe import describe_track
from framekiln.pipelines.runners.sample_frames import frame_times
from framekiln.pipelines.running import units
from framekiln.pipelines.running.advance import Advance
from framekiln.pipelines.running.gate import Gate
from framekiln.pipelines.running.held import HeldRun
from framekiln.pipelines.running.reading import read_inputs
from framekiln.pipelines.sending import settling, store
from framekiln.pipelines.sending.errors import CallbackTimedOut
from framekiln.pipelines.sending.model import (
    AttemptState,
    StoredAttempt,
    TakenAttempt,
    callback_id,
    hash_of,
)
from framekiln.pipelines.sending.store import Taking
from framekiln.pipelines.sending.verdict import Accepted, Failed, Verdict
from framekiln.pipelines.states.statuses import StepStatus
from framekiln.pipelines.tables.endpoint import store as endpoint_store

_OVERDUE_AT_A_TIME: Final = 500
# Beyond the endpoint's own time: to write the body, and to wait for a database that is away.
_SPARE: Final = timedelta(minutes=5)
_UNHEARD: Final = Failed(
    Failure(CallbackTimedOut.code, "the endpoint accepted the work and did not call back in time"),
    is_retryable=True,
)

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class _Begun:
    """An attempt that was taken, before its inputs are read."""

    attempt: StoredAttempt
    unit: TakenUnit
    endpoint: Endpoint
    run: Run
    file: File
    definition: Definition


class AttemptWork:
    """The attempts of all organizations, as their workers see them."""

    def __init__(self, database: Database, *, advance: Advance, gate: Gate, clock: Clock) -> None:
        self._database = database
        self._advance = advance
        self._gate = gate
        self._clock = clock

    async def take(
        self, attempt_id: AttemptId, run_id: RunId, *, job_id: int
    ) -> TakenAttempt | None:
        """Become the one who sends an attempt; None when there is nothing to send."""
        async with self._advance.hold(run_id) as held:
            begun = await _begin(held, attempt_id, job_id=job_id) if held else None
        if begun is None:
            return None
        async with self._database.connection() as connection:
            return await _with_inputs(connection, begun)

    async def finish(self, taken: TakenAttempt, verdict: Verdict) -> bool:
        """Record how sending went; False when nobody waits for it any more."""
        async with self._advance.hold(taken.run.id) as held:
            if held is None:
                return False
            attempt = await store.lock(held.connection, taken.attempt.id)
            if attempt is None or attempt.state is not AttemptState.SENDING:
                return False
            if attempt.fence != taken.unit.fence:
                return False
            # What was called back while we waited for the answer says more than the answer.
            verdict = attempt.early_verdict or verdict
            if isinstance(verdict, Accepted):
                return await settling.accept(held, attempt, taken.endpoint, gate=self._gate)
            return await settling.end_attempt(held, attempt, verdict)

    async def tick(self) -> None:
        """Give up what was not heard of in time, and let through what has become due."""
        now = self._clock.now()
        async with self._database.connection() as connection:
            overdue = await store.list_overdue(connection, now=now, limit=_OVERDUE_AT_A_TIME)
        for attempt_id, run_id in overdue:
            await self._give_up(attempt_id, run_id)
        async with self._database.connection() as connection:
            wanted = await store.list_wanted(connection, now=now)
        for endpoint_id in wanted:
            await self._open(endpoint_id)

    async def _give_up(self, attempt_id: AttemptId, run_id: RunId) -> None:
        async with self._advance.hold(run_id) as held:
            attempt = await store.lock(held.connection, attempt_id) if held else None
            # It may have been heard of since.
            if held is None or attempt is None or attempt.due_at > held.frame.now:
                return
            if attempt.state is AttemptState.AWAITING_CALLBACK:
                if not await settling.end_attempt(held, attempt, _UNHEARD):
                    await store.end(held.connection, attempt_id, now=held.frame.now)
            elif attempt.state is AttemptState.SENDING:
                log.warning("an endpoint's request was lost", attempt_id=str(attempt_id))
                await _give_back(held, attempt)
                await self._gate.open(held.connection, {attempt.endpoint_id})

    async def _open(self, endpoint_id: EndpointId) -> None:
        async with self._database.transaction() as connection:
            await self._gate.open(connection, {endpoint_id})


async def _begin(held: HeldRun, attempt_id: AttemptId, *, job_id: int) -> _Begun | None:
    attempt = await store.lock(held.connection, attempt_id)
    file, now = held.frame.file, held.frame.now
    if attempt is None or file is None or not _may_take(attempt, job_id):
        return None
    endpoint = await endpoint_store.find(
        held.connection, held.run.organization_id, attempt.endpoint_id
    )
    assert endpoint is not None, "endpoints go only with all their attempts"
    deadline_at = settling.deadline(endpoint, now)
    unit = units.take(held, attempt.name, job_id=job_id, deadline_at=deadline_at)
    if unit is None:
        return None
    taking = Taking(
        job_id=job_id,
        fence=unit.fence,
        callback_hash=hash_of(callback_id(endpoint, attempt.id)),
        sent_at=now,
        overdue_at=now + timedelta(milliseconds=endpoint.timeout_ms) + _SPARE,
    )
    await store.take(held.connection, attempt.id, taking)
    attempt = replace(attempt, fence=unit.fence, taken_by=job_id, sent_at=now)
    settled = attempt.early_verdict or _refusal(endpoint)
    if settled is not None:
        await settling.end_attempt(held, attempt, settled)
        return None
    return _Begun(attempt, unit, endpoint, held.run, file, held.frame.definition)


def _may_take(attempt: StoredAttempt, job_id: int) -> bool:
    # Its own job may come back because the worker died; any other one is late.
    return attempt.state is AttemptState.SENDING and attempt.taken_by in (None, job_id)


def _refusal(endpoint: Endpoint) -> Failed | None:
    if endpoint.archived_at is None:
        return None
    return Failed(Failure(EndpointNotFound.code, f"endpoint {endpoint.id} was archived"))


async def _give_back(held: HeldRun, attempt: StoredAttempt) -> None:
    await store.give_back(held.connection, attempt.id, now=held.frame.now)
    unit = held.find(attempt.name)
    if unit is not None and unit.status is StepStatus.RUNNING and unit.fence == attempt.fence:
        # The next job has another number.
        held.put(attempt.name, replace(unit, taken_by=None))


async def _with_inputs(connection: Connection, begun: _Begun) -> TakenAttempt:
    key, window = begun.attempt.step_key, begun.unit.window
    inputs = await read_inputs(connection, begun.run.id, begun.definition, key=key, window=window)
    assert begun.attempt.sent_at is not None
    return TakenAttempt(
        **vars(begun),
        inputs=inputs,
        tracks=await describe_tracks(connection, begun.file),
        frames_ms=await _frames_ms(connection, begun, window),
        sent_at=begun.attempt.sent_at,
    )


async def describe_tracks(connection: Connection, file: File) -> list[dict[str, Any]]:
    """Return the tracks of a file as spec 4.7 describes them, also of one that still arrives."""
    if file.status is FileStatus.READY:
        tracks = await track_store.list_all(connection, file.id)
        return [describe_track(each) for each in tracks if each.track_id > 0 and each.is_complete]
    return [
        {
            "track_id": each.track_id,
            "type": each.type,
            "codec": each.codec_name,
            "duration_ms": None,
        }
        for each in await stream_store.list_tracks(connection, file.id)
    ]


async def _frames_ms(connection: Connection, begun: _Begun, window: Window | None) -> list[int]:
    """Return when pictures were taken by the steps that this one needs, each instant once."""
    upstream = begun.definition.upstream(begun.attempt.step_key)
    keys = [step.key for step in upstream if step.type == sample_frames.STEP.name]
    if not keys:
        return []
    found = await store.list_samplings(connection, begun.run.id, keys=keys, window=window)
    times_ms = {at_ms for metadata in found for at_ms in frame_times(metadata)}
    if window is None:
        return sorted(times_ms)
    return sorted(each for each in times_ms if window.media_start_ms <= each < window.end_ms)
