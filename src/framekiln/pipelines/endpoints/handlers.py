"""The job that sends one attempt to its endpoint and records the result.

An error fails the attempt, never the job: a job runs again only if its worker died, and then it
sends the same attempt again.
"""

import asyncio
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import structlog

from framekiln.jobs.failures import failure_of, retry_while_database_down
from framekiln.jobs.model import JobContext
from framekiln.kit.clock import Clock
from framekiln.kit.errors import FramekilnError
from framekiln.kit.fetch import FetchedResponse, FetchFailed, GuardedFetcher
from framekiln.kit.guarded_transport import FetchRefused
from framekiln.pipelines.endpoints.attempt_result import (
    MAX_RESPONSE_BYTES,
    AttemptFailed,
    AttemptResult,
    result_of_error,
    result_of_response,
)
from framekiln.pipelines.endpoints.request_body import RequestBodies
from framekiln.pipelines.endpoints.worker import AttemptWorker, TakenAttempt
from framekiln.pipelines.jobs import attempt_of
from framekiln.webhooks.signatures import standard_headers

USER_AGENT: Final = "Service-Pipelines/1"

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class SendAttempt:
    """Handles `pipeline.send` jobs."""

    worker: AttemptWorker
    fetcher: GuardedFetcher
    bodies: RequestBodies
    clock: Clock

    async def __call__(self, job: JobContext) -> None:
        """Send an attempt, unless it has ended or another job sends it."""
        attempt_id, run_id = attempt_of(job.args)
        taken = await retry_while_database_down(
            lambda: self.worker.take(attempt_id, run_id, job_id=job.job_id)
        )
        if taken is None:
            return
        with structlog.contextvars.bound_contextvars(
            run_id=str(run_id), step=taken.attempt.step_key, attempt=taken.unit.attempt
        ):
            result = await self._send(taken)
            if isinstance(result, AttemptFailed):
                failure = result.failure
                log.warning("pipelines.endpoint_failed", code=failure.code, reason=failure.message)
            if not await retry_while_database_down(lambda: self.worker.finish(taken, result)):
                log.info("pipelines.response_ignored")

    async def _send(self, taken: TakenAttempt) -> AttemptResult:
        try:
            # Before anything is sent, a database outage costs no attempt.
            body = await retry_while_database_down(lambda: self.bodies.write(taken))
            response = await self._post(taken, body)
            now = self.clock.now()
            return await asyncio.to_thread(
                lambda: result_of_response(response, taken.rules, now=now)
            )
        except (FetchFailed, FetchRefused) as error:
            return result_of_error(error)
        except FramekilnError as error:
            return AttemptFailed(failure_of(error), error.retryable)
        except Exception as error:
            # An unexpected error must still end the attempt.
            return AttemptFailed(failure_of(error), is_retryable=True)

    async def _post(self, taken: TakenAttempt, body: str) -> FetchedResponse:
        return await self.fetcher.post(
            taken.endpoint.url,
            headers=request_headers(taken, body, now=self.clock.now()),
            content=body.encode(),
            within_s=taken.endpoint.timeout_ms / 1000,
            keep_bytes=MAX_RESPONSE_BYTES + 1,
        )


def request_headers(taken: TakenAttempt, body: str, *, now: datetime) -> dict[str, str]:
    """Return the headers of a request; its message id is the idempotency key of the attempt."""
    return {
        **taken.endpoint.headers,
        "content-type": "application/json",
        "user-agent": USER_AGENT,
        **standard_headers(
            body,
            message_id=taken.attempt.idempotency_key,
            now=now,
            keys=[taken.endpoint.signing_secret],
        ),
    }
