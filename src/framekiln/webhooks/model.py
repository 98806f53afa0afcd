"""Subscriptions, events, deliveries and attempts, with their states."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, NewType
from uuid import UUID

from framekiln.kit.ids import ApiKeyId, OrganizationId

SubscriptionId = NewType("SubscriptionId", UUID)
EventId = NewType("EventId", UUID)
DeliveryId = NewType("DeliveryId", UUID)


class SubscriptionState(StrEnum):
    """Whether deliveries are sent; while paused, they are stored."""

    ACTIVE = "active"
    PAUSED = "paused"


class DeliveryStatus(StrEnum):
    """The status of a delivery."""

    PENDING = "pending"
    SENDING = "sending"
    DELIVERED = "delivered"
    FAILED = "failed"
    """Given up after the last retry; the owner can redeliver it."""


@dataclass(frozen=True)
class Event:
    """An event. `data` is plain JSON; `api_key_id` is the key that created the resource."""

    organization_id: OrganizationId
    api_key_id: ApiKeyId | None
    topic: str
    resource_id: UUID | str
    """Events of one resource are delivered in order."""
    data: Mapping[str, Any]


@dataclass(frozen=True)
class NewSubscription:
    """A subscription to be created; without a key it covers the whole organization."""

    organization_id: OrganizationId
    api_key_id: ApiKeyId | None
    url: str
    events: tuple[str, ...]


@dataclass(frozen=True)
class Subscription:
    """One receiver, and the events that it gets."""

    id: SubscriptionId
    organization_id: OrganizationId
    api_key_id: ApiKeyId | None
    url: str
    events: tuple[str, ...]
    secret: str = field(repr=False)
    previous_secret: str | None = field(repr=False)
    previous_secret_until: datetime | None
    state: SubscriptionState
    reason: str | None
    """Why it is paused."""
    failing_since: datetime | None
    is_proven: bool
    last_delivered_at: datetime | None
    last_attempt_at: datetime | None
    created_at: datetime
    is_callback: bool = False
    """Whether it receives callbacks of single resources, and is no webhook of its owner."""

    @property
    def is_active(self) -> bool:
        """Whether deliveries are sent."""
        return self.state is SubscriptionState.ACTIVE

    @property
    def is_doubtful(self) -> bool:
        """Whether its last attempt failed, or none has succeeded yet: the next one may hang."""
        return self.failing_since is not None or not self.is_proven

    def secrets_at(self, now: datetime) -> tuple[str, ...]:
        """Return the signing secrets, newest first; for a while the previous one signs too."""
        until = self.previous_secret_until
        if self.previous_secret is None or until is None or until <= now:
            return (self.secret,)
        return (self.secret, self.previous_secret)


@dataclass(frozen=True)
class DeliveryAttempt:
    """One request and its result; `status` is None if there was no response."""

    number: int
    url: str
    started_at: datetime
    duration_ms: int
    status: int | None
    error: str | None
    answer: str | None
    """The beginning of the response body."""

    @property
    def is_success(self) -> bool:
        """Whether the receiver accepted the event."""
        return self.error is None


@dataclass(frozen=True)
class Delivery:
    """One event for one subscription."""

    id: DeliveryId
    position: int
    subscription_id: SubscriptionId
    event_id: EventId
    topic: str
    resource_id: str
    status: DeliveryStatus
    due_at: datetime | None
    tries: int
    fence: int
    redelivery_of: DeliveryId | None
    created_at: datetime
    ended_at: datetime | None
    last_attempt: DeliveryAttempt | None


@dataclass(frozen=True)
class TakenDelivery:
    """A delivery that a worker sends now; `fence` proves that it is still theirs."""

    delivery: Delivery
    subscription: Subscription
    body: str

    @property
    def fence(self) -> int:
        """Also the number of this attempt."""
        return self.delivery.fence
