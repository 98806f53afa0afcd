"""The handlers that send: webhooks, and steps to endpoints."""

from framekiln.jobs.model import Handler
from framekiln.pipelines.endpoints.handlers import SendAttempt
from framekiln.pipelines.endpoints.jobs import SEND_ATTEMPT
from framekiln.pipelines.endpoints.media_urls import MediaUrls
from framekiln.services import Services
from framekiln.webhooks.handlers import SendWebhook
from framekiln.webhooks.jobs import SEND_WEBHOOK


def webhook_handlers(services: Services) -> dict[str, Handler]:
    """Return them by kind of job."""
    sending = SendWebhook(services.webhook_worker, services.fetcher, clock=services.clock)
    return {SEND_WEBHOOK: sending}


def endpoint_handlers(services: Services) -> dict[str, Handler]:
    """Return them by kind of job."""
    public_url = services.settings.public_url
    return {
        SEND_ATTEMPT: SendAttempt(
            services.pipelines.attempt_worker,
            services.fetcher,
            media=MediaUrls(services.tokens, public_url=public_url),
            public_url=public_url,
            clock=services.clock,
        )
    }
