"""The job that does one unit: it finds the runner for the type, and records how it went.

The queue itself retries nothing: another attempt is the run's own affair. Only a worker that dies
has its job done again, by another, in the same attempt.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

import structlog

from framekiln.db.pool import DatabaseUnavailable
from framekiln.jobs.failures import Failure, failure_of, retry_while_database_down
from framekiln.jobs.model import JobContext
from framekiln.jobs.progress import ProgressReporter
from framekiln.kit.errors import FramekilnError
from framekiln.media.errors import UnreadableMedia
from framekiln.pipelines.errors import (
    DecodeFailed,
    InvalidOutput,
    StepTimedOut,
    StepTypeUnavailable,
    UnitLost,
)
from framekiln.pipelines.execution.jobs import unit_key_of
from framekiln.pipelines.execution.step_work import Runners, StepRunner, StepWork, Waiting
from framekiln.pipelines.execution.worker import ATTEMPT_TIMEOUT, RunWorker, UnitAssignment
from framekiln.pipelines.model.run import TakenUnit
from framekiln.pipelines.outputs.model import MAX_OUTPUT_BYTES, StepOutput

_REPORT_INTERVAL_S: Final = 2.0

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class RunStep:
    """Handles `pipeline.step` jobs."""

    work: RunWorker
    runners: Runners

    async def __call__(self, job: JobContext) -> None:
        """Do a unit, unless it is done, lost or not wanted any more."""
        name = unit_key_of(job.args)
        begun = await retry_while_database_down(lambda: self.work.take(name, job_id=job.job_id))
        if begun is None:
            return
        with structlog.contextvars.bound_contextvars(run_id=str(name.run_id), step=name.step_key):
            try:
                result = await self._run(begun)
            except UnitLost:
                log.info("step was lost")
                return
            except DatabaseUnavailable as error:
                # Nobody's fault, so no attempt: it is asked again, and finds its note.
                log.warning("step waits for the database", reason=error.message)
                result = Waiting()
            except Exception as error:
                await self._record_failure(begun.taken, error)
                return
            await self._record(begun.taken, result)

    async def _run(self, begun: UnitAssignment) -> StepOutput | Waiting:
        step = begun.definition.steps[begun.taken.key.step_key]
        runner = self._runner(step.type)
        report = _RateLimited(partial(_report, self.work, begun.taken))
        async with ProgressReporter[int](report) as progress:
            work = StepWork(
                run=begun.run,
                definition=begun.definition,
                graph=begun.graph,
                step=step,
                step_run_id=begun.taken.step_run_id,
                file=begun.file,
                window=begun.taken.window,
                inputs=begun.inputs,
                attempt=begun.taken.attempt,
                fence=begun.taken.fence,
                deadline_at=begun.taken.deadline_at,
                note=begun.taken.note,
                remember=partial(self.work.save_note, begun.taken),
                progress=progress.report,
            )
            try:
                async with asyncio.timeout(ATTEMPT_TIMEOUT.total_seconds()) as limit:
                    return await runner.run(work)
            except TimeoutError as error:
                if not limit.expired():
                    raise
                raise StepTimedOut(f"not done within {ATTEMPT_TIMEOUT}") from error

    def _runner(self, kind: str) -> StepRunner:
        runner = self.runners.get(kind)
        if runner is None:
            raise StepTypeUnavailable(f"nothing here runs steps of the type {kind}")
        return runner

    async def _record(self, taken: TakenUnit, result: StepOutput | Waiting) -> None:
        if isinstance(result, Waiting):
            after_s, done_ms = result.after_s, result.done_ms
            await retry_while_database_down(
                lambda: self.work.postpone(taken, after_s=after_s, done_ms=done_ms)
            )
            return
        size_bytes = await asyncio.to_thread(lambda: result.size_bytes)
        if size_bytes > MAX_OUTPUT_BYTES:
            message = f"the output has {size_bytes} bytes, at most {MAX_OUTPUT_BYTES} are kept"
            await self._record_failure(taken, InvalidOutput(message))
            return
        if not await retry_while_database_down(lambda: self.work.succeed(taken, result)):
            log.info("step was lost")

    async def _record_failure(self, taken: TakenUnit, error: Exception) -> None:
        failure, is_retryable = _classify_error(error)
        log.warning("step failed", code=failure.code, reason=failure.message)
        await retry_while_database_down(
            lambda: self.work.fail(taken, failure, is_retryable=is_retryable)
        )


class _RateLimited:
    """Passes words on, but not more often than runs should be held for them."""

    def __init__(self, send: Callable[[int], Awaitable[None]]) -> None:
        self._send = send
        self._last_s = time.monotonic()

    async def __call__(self, done_ms: int) -> None:
        if time.monotonic() - self._last_s >= _REPORT_INTERVAL_S:
            self._last_s = time.monotonic()
            await self._send(done_ms)


async def _report(work: RunWorker, taken: TakenUnit, done_ms: int) -> None:
    await work.report_progress(taken, done_ms=done_ms)


def _classify_error(error: Exception) -> tuple[Failure, bool]:
    """Return what the owner is told, and whether there is another attempt."""
    if isinstance(error, UnreadableMedia):
        return Failure(DecodeFailed.code, error.message), False
    if isinstance(error, FramekilnError):
        return failure_of(error), error.retryable
    return failure_of(error), True
