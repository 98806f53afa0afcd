"""Webhooks on the service, and their deliveries."""

from collections.abc import Iterable, Iterator
from typing import Any, Final, Literal

from framekiln.client.connection import Json, ServiceConnection, iter_items, json_object
from framekiln.client.model import RemoteDelivery, RemoteWebhook

_WEBHOOKS: Final = "/api/v1/webhooks"
_DELIVERIES: Final = "/api/v1/webhook-deliveries"

WebhookScope = Literal["api_key", "organization"]


class RemoteWebhooks:
    """The webhooks of an organization."""

    def __init__(self, connection: ServiceConnection) -> None:
        self._connection = connection

    def create(
        self, url: str, events: Iterable[str], *, scope: WebhookScope = "api_key"
    ) -> RemoteWebhook:
        """Register a URL for events, by default of resources made with this client's key.

        Only this response has the secret that signs the events.
        """
        # Without retries: a second attempt could add it twice.
        body = {"url": url, "events": [*events], "scope": scope}
        return RemoteWebhook.of(
            json_object(self._connection.request_once("POST", _WEBHOOKS, json=body))
        )

    def get(self, webhook_id: str) -> RemoteWebhook:
        """Return the URL, the topics and the state of a webhook."""
        return RemoteWebhook.of(self._connection.request_json("GET", f"{_WEBHOOKS}/{webhook_id}"))

    def list(self) -> Iterator[RemoteWebhook]:
        """Yield all webhooks of the organization, oldest first."""
        return map(RemoteWebhook.of, iter_items(self._connection, _WEBHOOKS, "webhooks"))

    def update(
        self, webhook_id: str, *, url: str | None = None, events: Iterable[str] | None = None
    ) -> RemoteWebhook:
        """Change the URL, the topics, or both."""
        asked: dict[str, Any] = {"url": url, "events": None if events is None else [*events]}
        body = {key: value for key, value in asked.items() if value is not None}
        path = f"{_WEBHOOKS}/{webhook_id}"
        return RemoteWebhook.of(self._connection.request_json("PATCH", path, json=body))

    def delete(self, webhook_id: str) -> None:
        """Delete a webhook, its log, and its pending deliveries."""
        # Without retries: after a deletion, a second attempt gets an error.
        self._connection.request_once("DELETE", f"{_WEBHOOKS}/{webhook_id}")

    def rotate_secret(self, webhook_id: str) -> RemoteWebhook:
        """Return it with a new secret, shown only once; the old one also signs for a day."""
        # Without retries: the secret of the first attempt would be lost.
        answer = self._connection.request_once("POST", f"{_WEBHOOKS}/{webhook_id}/rotate-secret")
        return RemoteWebhook.of(json_object(answer))

    def rotate_callback_secret(self) -> str:
        """Return a new secret for the callbacks of videos, shown only once."""
        answer = self._connection.request_once("POST", f"{_WEBHOOKS}/callback-secret")
        return str(json_object(answer)["secret"])

    def resume(self, webhook_id: str) -> RemoteWebhook:
        """Resume a paused webhook and send pending events; no effect if it was not paused."""
        path = f"{_WEBHOOKS}/{webhook_id}/resume"
        return RemoteWebhook.of(self._connection.request_json("POST", path))

    def test(self, topic: str = "webhook.test") -> str:
        """Send a sample event to all matching webhooks of the key; return the response."""
        # Without retries: a second attempt would be a second event.
        answer = self._connection.request_once(
            "POST", "/api/v1/test_webhook", json={"topic": topic}
        )
        return str(json_object(answer)["message"])

    def topics(self) -> Iterator[Json]:
        """Yield all topics, with `meaning` and a `sample` of each."""
        yield from self._connection.request_json("GET", "/api/v1/webhook-topics")["topics"]

    def deliveries(self, webhook_id: str) -> Iterator[RemoteDelivery]:
        """Yield the deliveries to a webhook, newest first."""
        found = iter_items(self._connection, f"{_WEBHOOKS}/{webhook_id}/deliveries", "deliveries")
        return map(RemoteDelivery.of, found)

    def delivery(self, delivery_id: str) -> RemoteDelivery:
        """Return a delivery; `raw` has its body and all attempts."""
        return RemoteDelivery.of(
            self._connection.request_json("GET", f"{_DELIVERIES}/{delivery_id}")
        )

    def redeliver(self, delivery_id: str) -> RemoteDelivery:
        """Send the same event again; return the new delivery."""
        answer = self._connection.request_once("POST", f"{_DELIVERIES}/{delivery_id}/redeliver")
        return RemoteDelivery.of(json_object(answer))
