"""The handlers that send: webhooks, and steps to endpoints."""

from framekiln.jobs.model import Handler
from framekiln.pipelines.sending.delivery import SendAttempt
from framekiln.pipelines.sending.jobs import SEND_ATTEMPT
from framekiln.pipelines.sending.media_urls import MediaUrls
from framekiln.services import Services
from framekiln.webhooks.jobs import SEND_WEBHOOK
from framekiln.webhooks.sending import SendWebhook


def webhook_handlers(services: Services) -> dict[str, Handler]:
    """Return them by kind of job."""
    sending = SendWebhook(services.webhook_work, services.fetcher, clock=services.clock)
    return {SEND_WEBHOOK: sending}


def endpoint_handlers(services: Services) -> dict[str, Handler]:
    """Return them by kind of job."""
    public_url = services.settings.public_url
    return {
        SEND_ATTEMPT: SendAttempt(
            services.pipelines.attempts,
            services.fetcher,
            media=MediaUrls(services.tokens, public_url=public_url),
            public_url=public_url,
            clock=services.clock,
        )
    }
