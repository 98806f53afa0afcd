"""The job that sends one delivery and records the response.

Only 2xx is a success. Everything else is a failed attempt, never a failed job: deliveries are
retried by their own schedule, not by the job queue.
"""

import time
from collections.abc import Mapping
from datetime import datetime
from typing import Final
from uuid import UUID

import structlog

from framekiln.jobs.failures import retry_while_database_down
from framekiln.jobs.model import JobContext
from framekiln.kit.clock import Clock
from framekiln.kit.errors import FramekilnError
from framekiln.kit.fetch import FetchedResponse, GuardedFetcher
from framekiln.webhooks.model import DeliveryAttempt, SubscriptionId, TakenDelivery
from framekiln.webhooks.signatures import body_signature, standard_headers
from framekiln.webhooks.worker import SEND_TIMEOUT_S, WebhookWorker

log = structlog.get_logger(__name__)

USER_AGENT: Final = "Framekiln-Webhooks/1"
_MAX_RESPONSE_BYTES: Final = 64 << 10
_MAX_EXCERPT_CHARS: Final = 500


class SendWebhook:
    """Handles `webhook.send` jobs."""

    def __init__(
        self,
        work: WebhookWorker,
        fetcher: GuardedFetcher,
        *,
        clock: Clock,
        within_s: float = SEND_TIMEOUT_S,
    ) -> None:
        self._work = work
        self._fetcher = fetcher
        self._clock = clock
        self._within_s = within_s

    async def __call__(self, job: JobContext) -> None:
        """Send the next delivery of the subscription, if there is one."""
        subscription_id = SubscriptionId(UUID(job.args["subscription_id"]))
        taken = await self._work.take(subscription_id, job_id=job.job_id)
        if taken is None:
            return
        attempt = await self._send(taken)
        log.info(
            "webhooks.delivery_sent" if attempt.is_success else "webhooks.delivery_failed",
            delivery_id=str(taken.delivery.id),
            topic=taken.delivery.topic,
            number=attempt.number,
            reason=attempt.error,
        )
        await retry_while_database_down(lambda: self._work.finish(taken, attempt))

    async def _send(self, taken: TakenDelivery) -> DeliveryAttempt:
        started_at, started_s = self._clock.now(), time.monotonic()
        response, error = await self._post(taken, request_headers(taken, now=started_at))
        return DeliveryAttempt(
            number=taken.fence,
            url=taken.subscription.url,
            started_at=started_at,
            duration_ms=round((time.monotonic() - started_s) * 1000),
            status=response.status if response else None,
            error=error,
            answer=_excerpt(response.content) if response else None,
        )

    async def _post(
        self, taken: TakenDelivery, headers: Mapping[str, str]
    ) -> tuple[FetchedResponse | None, str | None]:
        """Return the response and the error, if there is one."""
        try:
            response = await self._fetcher.post(
                taken.subscription.url,
                headers=headers,
                content=taken.body.encode(),
                within_s=self._within_s,
                keep_bytes=_MAX_RESPONSE_BYTES,
            )
        except FramekilnError as error:
            return None, f"could not be reached: {error.message}"
        except Exception as error:
            # An unexpected error must not stop the retries of the delivery.
            log.exception("webhooks.request_raised", delivery_id=str(taken.delivery.id))
            return None, f"sent something that is not HTTP ({type(error).__name__})"
        return response, response_error(response.status)


def request_headers(taken: TakenDelivery, *, now: datetime) -> dict[str, str]:
    """Return the headers of a request; the message id is the same in every attempt."""
    secrets = taken.subscription.secrets_at(now)
    return {
        "content-type": "application/json",
        "user-agent": USER_AGENT,
        "x-webhook-signature": body_signature(taken.body, secrets[0]),
        **standard_headers(
            taken.body, message_id=str(taken.delivery.event_id), now=now, keys=secrets
        ),
    }


def response_error(status: int) -> str | None:
    """Return the error for a response status; None for a success."""
    if 200 <= status < 300:
        return None
    if 300 <= status < 400:
        return f"answered with status {status}: redirects are not followed, change the URL instead"
    return f"answered with status {status}"


def _excerpt(content: bytes) -> str:
    text = content.decode("utf-8", "replace")[:_MAX_EXCERPT_CHARS]
    # PostgreSQL cannot store this character.
    return text.replace("\x00", "\N{REPLACEMENT CHARACTER}")
