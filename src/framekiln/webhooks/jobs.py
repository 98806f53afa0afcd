"""Webhook jobs. Each sends the next delivery of its subscription."""

from typing import Final

from framekiln.jobs.model import NewJob
from framekiln.webhooks.model import SubscriptionId

SEND_WEBHOOK: Final = "webhook.send"
IO_QUEUE: Final = "io"


def send_job(subscription_id: SubscriptionId, *, dedupe_key: str | None = None) -> NewJob:
    """Return the job that sends one delivery; a surplus job finds nothing to do."""
    return NewJob(
        kind=SEND_WEBHOOK,
        args={"subscription_id": str(subscription_id)},
        queue=IO_QUEUE,
        dedupe_key=dedupe_key,
    )
