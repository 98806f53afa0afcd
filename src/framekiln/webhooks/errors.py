"""Errors of webhook requests."""

from framekiln.kit.errors import Conflict, InvalidInput, NotFound


class WebhookNotFound(NotFound):
    """The organization has no such webhook."""

    code = "webhook_not_found"


class DeliveryNotFound(NotFound):
    """The organization has no such delivery, or it was deleted."""

    code = "webhook_delivery_not_found"


class UnknownTopic(InvalidInput):
    """There is no such topic."""

    code = "unknown_topic"


class InvalidWebhookUrl(InvalidInput):
    """Requests to this URL are not allowed."""

    code = "invalid_webhook_url"


class WebhookPaused(Conflict):
    """The webhook is paused; nothing is sent until it is resumed."""

    code = "webhook_paused"


class TooManyWebhooks(Conflict):
    """The organization has the maximum number of webhooks."""

    code = "too_many_webhooks"


class NoSubscriberForTopic(Conflict):
    """No active webhook of this key subscribes to the topic to be tested."""

    code = "no_webhook_for_topic"
