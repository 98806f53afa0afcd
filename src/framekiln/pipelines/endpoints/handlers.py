"""The job that sends one attempt to its endpoint and records the result.

An error fails the attempt, never the job: a job runs again only if its worker died, and then it
sends the same attempt again.
"""

import asyncio
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
from framekiln.pipelines.endpoints.media_urls import MediaUrls
from framekiln.pipelines.endpoints.request_body import request_body
from framekiln.pipelines.endpoints.worker import AttemptWorker, TakenAttempt
from framekiln.pipelines.jobs import attempt_of
from framekiln.webhooks.signatures import standard_headers

USER_AGENT: Final = "Service-Pipelines/1"

log = structlog.get_logger(__name__)


class SendAttempt:
    """Handles `pipeline.send` jobs."""

    def __init__(
        self,
        work: AttemptWorker,
        fetcher: GuardedFetcher,
        *,
        media: MediaUrls,
        public_url: str,
        clock: Clock,
    ) -> None:
        self._work = work
        self._fetcher = fetcher
        self._media = media
        self._public_url = public_url
        self._clock = clock

    async def __call__(self, job: JobContext) -> None:
        """Send an attempt, unless it has ended or another job sends it."""
        attempt_id, run_id = attempt_of(job.args)
        taken = await retry_while_database_down(
            lambda: self._work.take(attempt_id, run_id, job_id=job.job_id)
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
            if not await retry_while_database_down(lambda: self._work.finish(taken, result)):
                log.info("pipelines.response_ignored")

    async def _send(self, taken: TakenAttempt) -> AttemptResult:
        try:
            # Before anything is sent, a database outage costs no attempt.
            body = await retry_while_database_down(lambda: self._body(taken))
            response = await self._post(taken, body)
            now = self._clock.now()
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

    async def _body(self, taken: TakenAttempt) -> str:
        media = await self._media.sign(
            taken.file,
            tracks=taken.tracks,
            frames_ms=taken.frames_ms,
            window=taken.unit.window,
            now=taken.sent_at,
        )
        return await asyncio.to_thread(
            lambda: request_body(taken, media=media, public_url=self._public_url)
        )

    async def _post(self, taken: TakenAttempt, body: str) -> FetchedResponse:
        return await self._fetcher.post(
            taken.endpoint.url,
            headers=request_headers(taken, body, now=self._clock.now()),
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
