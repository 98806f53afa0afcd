"""Request and response bodies of webhooks."""

from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from framekiln.api.unknown_fields import RequestBody
from framekiln.kit.clock import iso
from framekiln.webhooks.delivery_log import DeliveryDetail
from framekiln.webhooks.model import (
    Delivery,
    DeliveryAttempt,
    DeliveryStatus,
    Subscription,
    SubscriptionState,
)
from framekiln.webhooks.topics import Topic

Instant = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
Address = Annotated[str, Field(min_length=1, max_length=2048, strict=True)]
Patterns = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=100, strict=True)]],
    Field(min_length=1, max_length=100),
]


class CreateWebhook(RequestBody):
    """The body of POST /api/v1/webhooks."""

    url: Address
    events: Patterns
    scope: Literal["api_key", "organization"] | None = None


class ChangeWebhook(RequestBody):
    """The body of PATCH /api/v1/webhooks/:id; absent fields stay unchanged."""

    url: Address | None = None
    events: Patterns | None = None


class TestWebhook(RequestBody):
    """The body of POST /api/v1/test_webhook."""

    topic: Annotated[str, Field(min_length=1, max_length=100, strict=True)]


class Message(BaseModel):
    """A message for people."""

    message: str


class WebhookInfo(BaseModel):
    """A subscription, without its secret."""

    id: UUID
    url: str
    events: list[str]
    api_key_id: UUID | None
    state: SubscriptionState
    reason: str | None
    failing_since: Instant | None
    last_attempt_at: Instant | None
    last_delivered_at: Instant | None
    created_at: Instant

    @classmethod
    def of(cls, subscription: Subscription) -> "WebhookInfo":
        """Return what every member of the organization may see."""
        return cls(**_subscription_fields(subscription))


class WebhookWithSecret(WebhookInfo):
    """A subscription with its secret, which is shown once."""

    secret: str

    @classmethod
    def of(cls, subscription: Subscription) -> "WebhookWithSecret":
        """Return the response to its creation."""
        return cls(**_subscription_fields(subscription), secret=subscription.secret)


class CallbackSecret(BaseModel):
    """The signing secret of an organization's callbacks, which is shown once."""

    secret: str


class WebhookList(BaseModel):
    """All subscriptions of an organization; they fit on one page."""

    webhooks: list[WebhookInfo]
    next_cursor: str | None = None


class AttemptInfo(BaseModel):
    """One request and its result."""

    number: int
    url: str
    started_at: Instant
    duration_ms: int
    status: int | None
    error: str | None
    response: str | None

    @classmethod
    def of(cls, attempt: DeliveryAttempt) -> "AttemptInfo":
        """Return the response for an attempt."""
        return cls(
            number=attempt.number,
            url=attempt.url,
            started_at=attempt.started_at.isoformat(),
            duration_ms=attempt.duration_ms,
            status=attempt.status,
            error=attempt.error,
            response=attempt.answer,
        )


class DeliveryInfo(BaseModel):
    """A delivery in the log."""

    id: UUID
    webhook_id: UUID
    event_id: UUID
    topic: str
    resource_id: str
    status: DeliveryStatus
    attempt_count: int
    next_attempt_at: Instant | None
    redelivery_of: UUID | None
    created_at: Instant
    completed_at: Instant | None
    last_attempt: AttemptInfo | None

    @classmethod
    def of(cls, delivery: Delivery) -> "DeliveryInfo":
        """Return the list item for a delivery."""
        return cls(**_delivery_fields(delivery))


class DeliveryInfoWithBody(DeliveryInfo):
    """A delivery with the body that is sent, and all attempts."""

    request_body: str
    attempts: list[AttemptInfo]

    @classmethod
    def describe(cls, detail: DeliveryDetail) -> "DeliveryInfoWithBody":
        """Return the delivery with its body and attempts."""
        return cls(
            **_delivery_fields(detail.delivery),
            request_body=detail.body,
            attempts=[AttemptInfo.of(attempt) for attempt in detail.attempts],
        )


class DeliveryQuery(BaseModel):
    """The query of the log; unknown parameters are refused."""

    model_config = ConfigDict(extra="forbid")

    limit: int = Field(default=20, ge=1, le=100, description="Deliveries on a page.")
    cursor: str | None = Field(
        default=None, pattern="^[0-9]{1,18}$", description="`next_cursor` of the previous page."
    )


class DeliveryList(BaseModel):
    """A page of the log, newest first."""

    deliveries: list[DeliveryInfo]
    next_cursor: str | None


class TopicInfo(BaseModel):
    """A topic and a sample event."""

    topic: str
    meaning: str
    sample: dict[str, Any]

    @classmethod
    def of(cls, topic: Topic) -> "TopicInfo":
        """Return the topic with the whole body of a sample event."""
        sample = {"topic": topic.name, "data": topic.sample}
        return cls(topic=topic.name, meaning=topic.meaning, sample=sample)


class TopicList(BaseModel):
    """All topics."""

    topics: list[TopicInfo]


def _subscription_fields(subscription: Subscription) -> dict[str, Any]:
    return {
        "id": subscription.id,
        "url": subscription.url,
        "events": list(subscription.events),
        "api_key_id": subscription.api_key_id,
        "state": subscription.state,
        "reason": subscription.reason,
        "failing_since": iso(subscription.failing_since),
        "last_attempt_at": iso(subscription.last_attempt_at),
        "last_delivered_at": iso(subscription.last_delivered_at),
        "created_at": iso(subscription.created_at),
    }


def _delivery_fields(delivery: Delivery) -> dict[str, Any]:
    is_pending = delivery.status is DeliveryStatus.PENDING
    last = delivery.last_attempt
    return {
        "id": delivery.id,
        "webhook_id": delivery.subscription_id,
        "event_id": delivery.event_id,
        "topic": delivery.topic,
        "resource_id": delivery.resource_id,
        "status": delivery.status,
        "attempt_count": delivery.fence,
        "next_attempt_at": iso(delivery.due_at) if is_pending else None,
        "redelivery_of": delivery.redelivery_of,
        "created_at": iso(delivery.created_at),
        "completed_at": iso(delivery.ended_at),
        "last_attempt": AttemptInfo.of(last) if last else None,
    }
