"""The job that does one unit: calls the runner of its type and records the result.

The job queue retries nothing: the run decides about another attempt. Only when a worker dies, its
job runs again on another one, in the same attempt.
"""

import asyncio
from dataclasses import dataclass, replace

import structlog

from framekiln.jobs.failures import Failure, failure_of, retry_while_database_down
from framekiln.jobs.model import JobContext
from framekiln.jobs.progress import ProgressReporter
from framekiln.kit.errors import FramekilnError, Outage
from framekiln.media.errors import UnreadableMedia
from framekiln.pipelines.errors import (
    DecodeFailed,
    InvalidOutput,
    StepTimedOut,
    StepTypeUnavailable,
    UnitLost,
)
from framekiln.pipelines.execution.step_type import RetryLater, Runners, StepRunner, StepWork
from framekiln.pipelines.execution.worker import ATTEMPT_TIMEOUT, RunWorker
from framekiln.pipelines.jobs import unit_key_of
from framekiln.pipelines.model.run import TakenUnit
from framekiln.pipelines.outputs.model import MAX_OUTPUT_BYTES, StepOutput

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class RunStep:
    """Handles `pipeline.step` jobs."""

    worker: RunWorker
    runners: Runners
    report_interval_s: float = 2.0
    """Longer than in other jobs, because each report locks the run."""

    async def __call__(self, job: JobContext) -> None:
        """Do a unit, unless it has ended or another job has it."""
        unit_key = unit_key_of(job.args)
        work = await retry_while_database_down(
            lambda: self.worker.take(unit_key, job_id=job.job_id)
        )
        if work is None:
            return
        with structlog.contextvars.bound_contextvars(
            run_id=str(unit_key.run_id), step=unit_key.step_key
        ):
            try:
                result = await self._run(work)
            except UnitLost:
                log.info("pipelines.step_lost")
                return
            except Outage as error:
                # It costs no attempt: the step continues later, with its note.
                log.warning("pipelines.step_waiting", reason=error.message)
                result = RetryLater()
            except Exception as error:
                await self._record_failure(work.taken, error)
                return
            await self._record(work.taken, result)

    async def _run(self, work: StepWork) -> StepOutput | RetryLater:
        runner = self._runner(work.step.type)

        async def report(done_ms: int) -> None:
            await self.worker.report_progress(work.taken, done_ms=done_ms)

        interval_s = self.report_interval_s
        async with ProgressReporter[int](report, interval_s=interval_s) as progress:
            try:
                async with asyncio.timeout(ATTEMPT_TIMEOUT.total_seconds()) as limit:
                    return await runner.run(replace(work, progress=progress.report))
            except TimeoutError as error:
                if not limit.expired():
                    raise
                raise StepTimedOut(f"the attempt took longer than {ATTEMPT_TIMEOUT}") from error

    def _runner(self, kind: str) -> StepRunner:
        runner = self.runners.get(kind)
        if runner is None:
            raise StepTypeUnavailable(
                f"this worker has no runner for steps of type {kind}; update it"
            )
        return runner

    async def _record(self, taken: TakenUnit, result: StepOutput | RetryLater) -> None:
        if isinstance(result, RetryLater):
            after_s, done_ms = result.after_s, result.done_ms
            await retry_while_database_down(
                lambda: self.worker.postpone(taken, after_s=after_s, done_ms=done_ms)
            )
            return
        size_bytes = await asyncio.to_thread(lambda: result.size_bytes)
        if size_bytes > MAX_OUTPUT_BYTES:
            message = f"the output has {size_bytes} bytes; the limit is {MAX_OUTPUT_BYTES}"
            await self._record_failure(taken, InvalidOutput(message))
            return
        if not await retry_while_database_down(lambda: self.worker.succeed(taken, result)):
            log.info("pipelines.step_lost")

    async def _record_failure(self, taken: TakenUnit, error: Exception) -> None:
        failure, is_retryable = _classify_error(error)
        log.warning("pipelines.step_failed", code=failure.code, reason=failure.message)
        await retry_while_database_down(
            lambda: self.worker.fail(taken, failure, is_retryable=is_retryable)
        )


def _classify_error(error: Exception) -> tuple[Failure, bool]:
    """Return the failure that the owner sees, and whether the attempt is retried."""
    if isinstance(error, UnreadableMedia):
        return Failure(DecodeFailed.code, error.message), False
    if isinstance(error, FramekilnError):
        return failure_of(error), error.retryable
    return failure_of(error), True
