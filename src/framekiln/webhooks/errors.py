"""What can be wrong with a request about webhooks."""

from framekiln.kit.errors import Conflict, InvalidInput, NotFound


class WebhookNotFound(NotFound):
    """The organization has no such webhook."""

    code = "webhook_not_found"


class DeliveryNotFound(NotFound):
    """The organization has no such delivery, or no longer."""

    code = "webhook_delivery_not_found"


class UnknownTopic(InvalidInput):
    """Nothing is ever sent under this topic."""

    code = "unknown_topic"


class InvalidWebhookUrl(InvalidInput):
    """An address that nothing may be sent to."""

    code = "invalid_webhook_url"


class WebhookPaused(Conflict):
    """Nothing is sent to this webhook until it is resumed."""

    code = "webhook_paused"


class TooManyWebhooks(Conflict):
    """The organization has as many webhooks as it may have."""

    code = "too_many_webhooks"


class NoSubscriberForTopic(Conflict):
    """No active webhook of this key wants the topic that was to be tested."""

    code = "no_webhook_for_topic"
