"""What the service says of webhooks and what was sent to them, as values."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from framekiln.client.answer import Answer, told_as


@dataclass(frozen=True, kw_only=True)
class RemoteWebhook(Answer):
    """A receiver of events; `secret` is there once, when it is new."""

    id: str
    url: str
    events: Sequence[str] = told_as(read=tuple)
    state: str
    reason: str | None
    secret: str | None = field(default=None, repr=False)


@dataclass(frozen=True, kw_only=True)
class RemoteDelivery(Answer):
    """One event on its way to one webhook, or there."""

    id: str
    webhook_id: str
    topic: str
    status: str
    attempt_count: int

    @property
    def last_error(self) -> str | None:
        """What went wrong when it was last sent, if anything did."""
        last = self.told["last_attempt"]
        return last["error"] if last else None
