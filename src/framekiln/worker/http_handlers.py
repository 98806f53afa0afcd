"""Handlers of jobs that send HTTP requests: webhooks, copies of outputs and endpoint steps."""

from framekiln.destinations.handlers import CopyOutput
from framekiln.destinations.jobs import COPY_OUTPUT
from framekiln.jobs.model import Handler
from framekiln.pipelines.endpoints.handlers import SendAttempt
from framekiln.pipelines.endpoints.request_body import RequestBodies
from framekiln.pipelines.jobs import SEND_ATTEMPT
from framekiln.services import Services
from framekiln.webhooks.handlers import SendWebhook
from framekiln.webhooks.jobs import SEND_WEBHOOK


def webhook_handlers(services: Services) -> dict[str, Handler]:
    """Return the handlers by job kind."""
    handler = SendWebhook(services.webhook_worker, services.fetcher, clock=services.clock)
    copy = CopyOutput(services.destination_worker, blobs=services.blobs, fetcher=services.fetcher)
    return {SEND_WEBHOOK: handler, COPY_OUTPUT: copy}


def endpoint_handlers(services: Services) -> dict[str, Handler]:
    """Return the handlers by job kind."""
    bodies = RequestBodies(services.tokens, public_url=services.settings.public_url)
    worker = services.pipelines.attempt_worker
    return {SEND_ATTEMPT: SendAttempt(worker, services.fetcher, bodies, services.clock)}
