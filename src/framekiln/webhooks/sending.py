"""Job: send one delivery and write down what the receiver said.

Only 2xx counts. Everything else is an attempt that failed, never a job that failed: when to try
again is the delivery's business, not the queue's.
"""

import time
from collections.abc import Mapping
from datetime import datetime
from typing import Final
from uuid import UUID

import structlog

from framekiln.jobs.ending import patiently
from framekiln.jobs.model import JobContext
from framekiln.kit.clock import Clock
from framekiln.kit.errors import FramekilnError
from framekiln.kit.fetch import FetchedResponse, GuardedFetcher
from framekiln.webhooks.model import Attempt, SubscriptionId, Taken
from framekiln.webhooks.signing import body_signature, standard_headers
from framekiln.webhooks.work import SEND_WITHIN_S, WebhookWork

log = structlog.get_logger(__name__)

USER_AGENT: Final = "Framekiln-Webhooks/1"
_KEPT_BYTES: Final = 64 << 10
_KEPT_CHARS: Final = 500


class SendWebhook:
    """The handler of `webhook.send`."""

    def __init__(
        self,
        work: WebhookWork,
        fetcher: GuardedFetcher,
        *,
        clock: Clock,
        within_s: float = SEND_WITHIN_S,
    ) -> None:
        self._work = work
        self._fetcher = fetcher
        self._clock = clock
        self._within_s = within_s

    async def __call__(self, job: JobContext) -> None:
        """Send what is next for the subscription, if anything is."""
        subscription_id = SubscriptionId(UUID(job.args["subscription_id"]))
        taken = await self._work.take(subscription_id, job_id=job.job_id)
        if taken is None:
            return
        attempt = await self._send(taken)
        log.info(
            "webhook sent" if attempt.is_success else "webhook failed",
            delivery_id=str(taken.delivery.id),
            topic=taken.delivery.topic,
            number=attempt.number,
            reason=attempt.error,
        )
        await patiently(lambda: self._work.finish(taken, attempt))

    async def _send(self, taken: Taken) -> Attempt:
        started_at, begun_s = self._clock.now(), time.monotonic()
        response, error = await self._post(taken, headers_of(taken, now=started_at))
        return Attempt(
            number=taken.fence,
            url=taken.subscription.url,
            started_at=started_at,
            duration_ms=round((time.monotonic() - begun_s) * 1000),
            status=response.status if response else None,
            error=error,
            answer=_beginning(response.content) if response else None,
        )

    async def _post(
        self, taken: Taken, headers: Mapping[str, str]
    ) -> tuple[FetchedResponse | None, str | None]:
        """Return the answer and what is wrong with it."""
        try:
            response = await self._fetcher.post(
                taken.subscription.url,
                headers=headers,
                content=taken.body.encode(),
                within_s=self._within_s,
                keep_bytes=_KEPT_BYTES,
            )
        except FramekilnError as error:
            return None, f"could not be reached: {error.message}"
        except Exception as error:
            # Whatever a strange server provokes must not keep the delivery from its next try.
            log.exception("webhook broke the client", delivery_id=str(taken.delivery.id))
            return None, f"sent something that is not HTTP ({type(error).__name__})"
        return response, complaint(response.status)


def headers_of(taken: Taken, *, now: datetime) -> dict[str, str]:
    """Return the headers of a message that is sent now; its id stays the same each time."""
    secrets = taken.subscription.secrets_at(now)
    return {
        "content-type": "application/json",
        "user-agent": USER_AGENT,
        "x-webhook-signature": body_signature(taken.body, secrets[0]),
        **standard_headers(
            taken.body, message_id=str(taken.delivery.event_id), now=now, keys=secrets
        ),
    }


def complaint(status: int) -> str | None:
    """Return what is wrong with an answer of that status; None when it was taken."""
    if 200 <= status < 300:
        return None
    if 300 <= status < 400:
        return f"answered with status {status}: redirects are not followed, change the URL instead"
    return f"answered with status {status}"


def _beginning(content: bytes) -> str:
    text = content.decode("utf-8", "replace")[:_KEPT_CHARS]
    # The one character that the database cannot keep.
    return text.replace("\x00", "\N{REPLACEMENT CHARACTER}")
