"""Webhooks on the service, and their deliveries."""

from collections.abc import Iterable
from typing import Any, Final, Literal

from framekiln.client.model import RemoteDelivery, RemoteWebhook
from framekiln.client.operations import (
    Connection_co,
    Items,
    RemotePart,
    Send,
    Steps,
    listing,
    operation,
)
from framekiln.client.responses import Json

_WEBHOOKS: Final = "/api/v1/webhooks"
_DELIVERIES: Final = "/api/v1/webhook-deliveries"

WebhookScope = Literal["api_key", "organization"]


class RemoteWebhooks(RemotePart[Connection_co]):
    """The webhooks of an organization."""

    @operation
    def create(
        self, url: str, events: Iterable[str], *, scope: WebhookScope = "api_key"
    ) -> Steps[RemoteWebhook]:
        """Register a URL for events, by default of resources made with this client's key.

        Only this response has the secret that signs the events.
        """
        # Without retries: a second attempt could add it twice.
        body = {"url": url, "events": [*events], "scope": scope}
        return RemoteWebhook.of((yield from self._read_once("POST", _WEBHOOKS, json=body)))

    @operation
    def get(self, webhook_id: str) -> Steps[RemoteWebhook]:
        """Return the URL, the topics and the state of a webhook."""
        return RemoteWebhook.of((yield from self._read("GET", f"{_WEBHOOKS}/{webhook_id}")))

    @listing
    def list(self) -> Items[RemoteWebhook]:
        """Yield all webhooks of the organization, oldest first."""
        return self._items(_WEBHOOKS, "webhooks", RemoteWebhook.of)

    @operation
    def update(
        self, webhook_id: str, *, url: str | None = None, events: Iterable[str] | None = None
    ) -> Steps[RemoteWebhook]:
        """Change the URL, the topics, or both."""
        asked: dict[str, Any] = {"url": url, "events": None if events is None else [*events]}
        body = {key: value for key, value in asked.items() if value is not None}
        path = f"{_WEBHOOKS}/{webhook_id}"
        return RemoteWebhook.of((yield from self._read("PATCH", path, json=body)))

    @operation
    def delete(self, webhook_id: str) -> Steps[None]:
        """Delete a webhook, its log, and its pending deliveries."""
        # Without retries: after a deletion, a second attempt gets an error.
        yield Send("DELETE", f"{_WEBHOOKS}/{webhook_id}")

    @operation
    def rotate_secret(self, webhook_id: str) -> Steps[RemoteWebhook]:
        """Return it with a new secret, shown only once; the old one also signs for a day."""
        # Without retries: the secret of the first attempt would be lost.
        raw = yield from self._read_once("POST", f"{_WEBHOOKS}/{webhook_id}/rotate-secret")
        return RemoteWebhook.of(raw)

    @operation
    def rotate_callback_secret(self) -> Steps[str]:
        """Return a new secret for the callbacks of videos, shown only once."""
        raw = yield from self._read_once("POST", f"{_WEBHOOKS}/callback-secret")
        return str(raw["secret"])

    @operation
    def resume(self, webhook_id: str) -> Steps[RemoteWebhook]:
        """Resume a paused webhook and send pending events; no effect if it was not paused."""
        path = f"{_WEBHOOKS}/{webhook_id}/resume"
        return RemoteWebhook.of((yield from self._read("POST", path)))

    @operation
    def test(self, topic: str = "webhook.test") -> Steps[str]:
        """Send a sample event to all matching webhooks of the key; return the response."""
        # Without retries: a second attempt would be a second event.
        raw = yield from self._read_once("POST", "/api/v1/test_webhook", json={"topic": topic})
        return str(raw["message"])

    @operation
    def test_one(self, webhook_id: str) -> Steps[str]:
        """Send `webhook.test` to one webhook, whatever it subscribes to; return the response."""
        # Without retries: a second attempt would be a second event.
        raw = yield from self._read_once("POST", f"/api/v1/webhooks/{webhook_id}/test")
        return str(raw["message"])

    @listing
    def topics(self) -> Items[Json]:
        """Yield all topics, with `meaning` and a `sample` of each."""

        def page(_: Any) -> Steps[tuple[list[Json], None]]:
            raw = yield from self._read("GET", "/api/v1/webhook-topics")
            return raw["topics"], None

        return Items(page)

    @listing
    def deliveries(self, webhook_id: str) -> Items[RemoteDelivery]:
        """Yield the deliveries to a webhook, newest first."""
        return self._items(f"{_WEBHOOKS}/{webhook_id}/deliveries", "deliveries", RemoteDelivery.of)

    @operation
    def delivery(self, delivery_id: str) -> Steps[RemoteDelivery]:
        """Return a delivery; `raw` has its body and all attempts."""
        return RemoteDelivery.of((yield from self._read("GET", f"{_DELIVERIES}/{delivery_id}")))

    @operation
    def redeliver(self, delivery_id: str) -> Steps[RemoteDelivery]:
        """Send the same event again; return the new delivery."""
        raw = yield from self._read_once("POST", f"{_DELIVERIES}/{delivery_id}/redeliver")
        return RemoteDelivery.of(raw)
