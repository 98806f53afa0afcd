"""What the service says of webhooks and what was sent to them, as values; `told` has all of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self


@dataclass(frozen=True)
class RemoteWebhook:
    """A receiver of events; `secret` is there once, when it is new."""

    id: str
    url: str
    events: Sequence[str]
    state: str
    reason: str | None
    secret: str | None = field(repr=False)
    told: Mapping[str, Any] = field(repr=False, compare=False)

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Self:
        """Read an answer."""
        return cls(
            id=told["id"],
            url=told["url"],
            events=tuple(told["events"]),
            state=told["state"],
            reason=told["reason"],
            secret=told.get("secret"),
            told=told,
        )


@dataclass(frozen=True)
class RemoteDelivery:
    """One event on its way to one webhook, or there."""

    id: str
    webhook_id: str
    topic: str
    status: str
    attempt_count: int
    told: Mapping[str, Any] = field(repr=False, compare=False)

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Self:
        """Read an answer."""
        return cls(
            id=told["id"],
            webhook_id=told["webhook_id"],
            topic=told["topic"],
            status=told["status"],
            attempt_count=told["attempt_count"],
            told=told,
        )

    @property
    def last_error(self) -> str | None:
        """What went wrong when it was last sent, if anything did."""
        last = self.told["last_attempt"]
        return last["error"] if last else None
