"""Subscriptions, events, deliveries and attempts: what they are and in which states."""

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
    """Whether anything is sent; what happens meanwhile is kept."""

    ACTIVE = "active"
    PAUSED = "paused"


class DeliveryStatus(StrEnum):
    """Where a delivery stands."""

    PENDING = "pending"
    SENDING = "sending"
    DELIVERED = "delivered"
    FAILED = "failed"
    """Given up after many tries; it can be delivered again by hand."""


@dataclass(frozen=True)
class Event:
    """Something that happened. `data` is plain JSON; `api_key_id` made the resource."""

    organization_id: OrganizationId
    api_key_id: ApiKeyId | None
    topic: str
    resource_id: UUID | str
    """Events of one resource arrive in the order in which they happened."""
    data: Mapping[str, Any]


@dataclass(frozen=True)
class NewSubscription:
    """A subscription about to be made; without a key it is to all of the organization."""

    organization_id: OrganizationId
    api_key_id: ApiKeyId | None
    url: str
    events: tuple[str, ...]


@dataclass(frozen=True)
class Subscription:
    """One receiver and what it wants to hear of."""

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
    """Whether it is the receiver of single things, and no webhook of its owner's."""

    @property
    def is_active(self) -> bool:
        """Whether deliveries are sent."""
        return self.state is SubscriptionState.ACTIVE

    @property
    def is_doubtful(self) -> bool:
        """Whether its last attempt failed, or none has succeeded yet: it may be about to hang."""
        return self.failing_since is not None or not self.is_proven

    def secrets_at(self, now: datetime) -> tuple[str, ...]:
        """Return what signs, the newest first: for a while the one before it does too."""
        until = self.previous_secret_until
        if self.previous_secret is None or until is None or until <= now:
            return (self.secret,)
        return (self.secret, self.previous_secret)


@dataclass(frozen=True)
class DeliveryAttempt:
    """One request and what came of it; `status` is None when there was no answer."""

    number: int
    url: str
    started_at: datetime
    duration_ms: int
    status: int | None
    error: str | None
    answer: str | None
    """The beginning of what the receiver said."""

    @property
    def is_success(self) -> bool:
        """Whether the receiver has taken the event."""
        return self.error is None


@dataclass(frozen=True)
class Delivery:
    """One event on its way to one subscription."""

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
    """A delivery that a worker has to send now; `fence` proves that it is still theirs."""

    delivery: Delivery
    subscription: Subscription
    body: str

    @property
    def fence(self) -> int:
        """The number of this attempt, too."""
        return self.delivery.fence
