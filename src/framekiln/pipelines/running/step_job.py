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
from framekiln.jobs.ending import Failure, failure_of, patiently
from framekiln.jobs.model import JobContext
from framekiln.jobs.reports import Reports
from framekiln.kit.errors import FramekilnError
from framekiln.media.errors import UnreadableMedia
from framekiln.pipelines.errors import (
    DecodeFailed,
    InvalidOutput,
    StepTimedOut,
    StepTypeUnavailable,
    UnitLost,
)
from framekiln.pipelines.model.run import TakenUnit
from framekiln.pipelines.outputs.output import MAX_OUTPUT_BYTES, Output
from framekiln.pipelines.runners.step import Runners, StepRunner, StepWork, Waiting
from framekiln.pipelines.running.jobs import unit_of
from framekiln.pipelines.running.work import WITHIN, BegunUnit, RunWork

_REPORT_EVERY_S: Final = 2.0

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class RunStep:
    """Handles `pipeline.step` jobs."""

    work: RunWork
    runners: Runners

    async def __call__(self, job: JobContext) -> None:
        """Do a unit, unless it is done, lost or not wanted any more."""
        name = unit_of(job.args)
        begun = await patiently(lambda: self.work.take(name, job_id=job.job_id))
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

    async def _run(self, begun: BegunUnit) -> Output | Waiting:
        step = begun.definition.steps[begun.taken.name.step_key]
        runner = self._runner(step.type)
        report = _Paced(partial(_report, self.work, begun.taken))
        async with Reports[int](report) as progress:
            work = StepWork(
                run=begun.run,
                definition=begun.definition,
                step=step,
                step_run_id=begun.taken.step_run_id,
                file=begun.file,
                window=begun.taken.window,
                inputs=begun.inputs,
                attempt=begun.taken.attempt,
                fence=begun.taken.fence,
                deadline_at=begun.taken.deadline_at,
                note=begun.taken.note,
                remember=partial(self.work.remember, begun.taken),
                progress=progress.note,
            )
            try:
                async with asyncio.timeout(WITHIN.total_seconds()) as limit:
                    return await runner.run(work)
            except TimeoutError as error:
                if not limit.expired():
                    raise
                raise StepTimedOut(f"not done within {WITHIN}") from error

    def _runner(self, kind: str) -> StepRunner:
        runner = self.runners.get(kind)
        if runner is None:
            raise StepTypeUnavailable(f"nothing here runs steps of the type {kind}")
        return runner

    async def _record(self, taken: TakenUnit, result: Output | Waiting) -> None:
        if isinstance(result, Waiting):
            after_s, done_ms = result.after_s, result.done_ms
            await patiently(lambda: self.work.wait(taken, after_s=after_s, done_ms=done_ms))
            return
        size_bytes = await asyncio.to_thread(lambda: result.size_bytes)
        if size_bytes > MAX_OUTPUT_BYTES:
            message = f"the output has {size_bytes} bytes, at most {MAX_OUTPUT_BYTES} are kept"
            await self._record_failure(taken, InvalidOutput(message))
            return
        if not await patiently(lambda: self.work.succeed(taken, result)):
            log.info("step was lost")

    async def _record_failure(self, taken: TakenUnit, error: Exception) -> None:
        failure, is_retryable = _judge(error)
        log.warning("step failed", code=failure.code, reason=failure.message)
        await patiently(lambda: self.work.fail(taken, failure, is_retryable=is_retryable))


class _Paced:
    """Passes words on, but not more often than runs should be held for them."""

    def __init__(self, send: Callable[[int], Awaitable[None]]) -> None:
        self._send = send
        self._last_s = time.monotonic()

    async def __call__(self, done_ms: int) -> None:
        if time.monotonic() - self._last_s >= _REPORT_EVERY_S:
            self._last_s = time.monotonic()
            await self._send(done_ms)


async def _report(work: RunWork, taken: TakenUnit, done_ms: int) -> None:
    await work.report(taken, done_ms=done_ms)


def _judge(error: Exception) -> tuple[Failure, bool]:
    """Return what the owner is told, and whether there is another attempt."""
    if isinstance(error, UnreadableMedia):
        return Failure(DecodeFailed.code, error.message), False
    if isinstance(error, FramekilnError):
        return failure_of(error), error.retryable
    return failure_of(error), True
