"""/api/v1/webhooks: subscriptions to events, and the log of their deliveries (spec 6)."""

from typing import Annotated, Final

from fastapi import APIRouter, Query, Request, Response

from framekiln.api.auth import AuthenticatedCaller, services_of
from framekiln.api.bodies import SuccessAnswer, json_body, read_json
from framekiln.api.unknown_fields import WarningRoute
from framekiln.api.v1.webhook_bodies import (
    CallbackSecret,
    ChangeWebhook,
    CreateWebhook,
    DeliveryInfo,
    DeliveryInfoWithBody,
    DeliveryList,
    DeliveryQuery,
    Message,
    TestWebhook,
    TopicInfo,
    TopicList,
    WebhookInfo,
    WebhookList,
    WebhookWithSecret,
)
from framekiln.identity.model import Caller
from framekiln.kit.errors import InvalidInput
from framekiln.kit.ids import ApiKeyId, parse_uuid
from framekiln.webhooks.errors import DeliveryNotFound, WebhookNotFound
from framekiln.webhooks.model import DeliveryId, NewSubscription, SubscriptionId
from framekiln.webhooks.topics import TOPICS, WEBHOOK_TEST, check_patterns

router = APIRouter(prefix="/api/v1", tags=["webhooks"], route_class=WarningRoute)

MAX_BODY_BYTES: Final = 64 << 10


@router.get("/webhooks", summary="List webhooks")
async def list_webhooks(request: Request, caller: AuthenticatedCaller) -> WebhookList:
    """Return all webhooks of the organization, oldest first."""
    found = await services_of(request).webhooks.list_all(caller.organization.id)
    return WebhookList(webhooks=[WebhookInfo.of(each) for each in found])


@router.post(
    "/webhooks", status_code=201, openapi_extra=json_body(CreateWebhook), summary="Add a webhook"
)
async def create_webhook(
    request: Request, response: Response, caller: AuthenticatedCaller
) -> WebhookWithSecret:
    """Create a webhook; it is sent `webhook.test` immediately. The secret is shown once."""
    body = await read_json(request, CreateWebhook, max_bytes=MAX_BODY_BYTES)
    created = await services_of(request).webhooks.create(
        NewSubscription(
            organization_id=caller.organization.id,
            api_key_id=_scope(body, caller),
            url=body.url,
            events=check_patterns(body.events),
        )
    )
    response.headers["Cache-Control"] = "no-store"
    return WebhookWithSecret.of(created)


@router.get("/webhooks/{webhook_id}", summary="Show a webhook")
async def show_webhook(
    request: Request, caller: AuthenticatedCaller, webhook_id: str
) -> WebhookInfo:
    """Return its address, its topics and its status."""
    webhooks = services_of(request).webhooks
    return WebhookInfo.of(await webhooks.get(caller.organization.id, _webhook_id(webhook_id)))


@router.patch(
    "/webhooks/{webhook_id}", openapi_extra=json_body(ChangeWebhook), summary="Change a webhook"
)
async def change_webhook(
    request: Request, caller: AuthenticatedCaller, webhook_id: str
) -> WebhookInfo:
    """Change its address or events; a new address gets `webhook.test` and pending deliveries."""
    webhooks = services_of(request).webhooks
    body = await read_json(request, ChangeWebhook, max_bytes=MAX_BODY_BYTES)
    changed = await webhooks.change(
        caller.organization.id, _webhook_id(webhook_id), url=body.url, events=body.events
    )
    return WebhookInfo.of(changed)


@router.delete("/webhooks/{webhook_id}", summary="Delete a webhook")
async def delete_webhook(
    request: Request, caller: AuthenticatedCaller, webhook_id: str
) -> SuccessAnswer:
    """Delete it, its log and its pending deliveries."""
    await services_of(request).webhooks.delete(caller.organization.id, _webhook_id(webhook_id))
    return SuccessAnswer(success=True)


@router.post("/webhooks/{webhook_id}/rotate-secret", summary="Rotate the secret of a webhook")
async def rotate_webhook_secret(
    request: Request, response: Response, caller: AuthenticatedCaller, webhook_id: str
) -> WebhookWithSecret:
    """Return a new secret, shown only here; for a day the old one also signs."""
    webhooks = services_of(request).webhooks
    rotated = await webhooks.rotate_secret(caller.organization.id, _webhook_id(webhook_id))
    response.headers["Cache-Control"] = "no-store"
    return WebhookWithSecret.of(rotated)


@router.post("/webhooks/callback-secret", summary="Rotate the secret of callbacks")
async def rotate_callback_secret(
    request: Request, response: Response, caller: AuthenticatedCaller
) -> CallbackSecret:
    """Return the new signing secret of callbacks, shown only here; for a day the old one works."""
    secret = await services_of(request).callbacks.rotate_secret(caller.organization.id)
    response.headers["Cache-Control"] = "no-store"
    return CallbackSecret(secret=secret)


@router.post("/webhooks/{webhook_id}/resume", summary="Resume a paused webhook")
async def resume_webhook(
    request: Request, caller: AuthenticatedCaller, webhook_id: str
) -> WebhookInfo:
    """Resume the webhook, with all pending deliveries first."""
    webhooks = services_of(request).webhooks
    return WebhookInfo.of(await webhooks.resume(caller.organization.id, _webhook_id(webhook_id)))


@router.get("/webhooks/{webhook_id}/deliveries", summary="List the deliveries of a webhook")
async def list_deliveries(
    request: Request,
    caller: AuthenticatedCaller,
    query: Annotated[DeliveryQuery, Query()],
    *,
    webhook_id: str,
) -> DeliveryList:
    """Return a page of the webhook's deliveries, newest first."""
    services, organization_id = services_of(request), caller.organization.id
    webhook = await services.webhooks.get(organization_id, _webhook_id(webhook_id))
    page = await services.delivery_log.page(
        organization_id,
        webhook.id,
        before_position=int(query.cursor) if query.cursor else None,
        limit=query.limit + 1,
    )
    deliveries = page[: query.limit]
    is_last = len(page) <= query.limit
    return DeliveryList(
        deliveries=[DeliveryInfo.of(each) for each in deliveries],
        next_cursor=None if is_last else str(deliveries[-1].position),
    )


@router.get("/webhook-deliveries/{delivery_id}", summary="Show a delivery")
async def show_delivery(
    request: Request, caller: AuthenticatedCaller, delivery_id: str
) -> DeliveryInfoWithBody:
    """Return the body and every attempt with the receiver's response."""
    log = services_of(request).delivery_log
    detail = await log.get(caller.organization.id, _delivery_id(delivery_id))
    return DeliveryInfoWithBody.describe(detail)


@router.post(
    "/webhook-deliveries/{delivery_id}/redeliver", status_code=202, summary="Send a delivery again"
)
async def redeliver(
    request: Request, caller: AuthenticatedCaller, delivery_id: str
) -> DeliveryInfoWithBody:
    """Send it again as a new delivery; a pending one is sent immediately instead."""
    log = services_of(request).delivery_log
    detail = await log.redeliver(caller.organization.id, _delivery_id(delivery_id))
    return DeliveryInfoWithBody.describe(detail)


@router.get("/webhook-topics", summary="List topics")
async def list_topics(caller: AuthenticatedCaller) -> TopicList:
    """Return all topics, with a sample of each."""
    return TopicList(topics=[TopicInfo.of(topic) for topic in TOPICS.values()])


@router.post("/webhooks/{webhook_id}/test", summary="Send a test to one webhook")
async def test_one_webhook(
    request: Request, caller: AuthenticatedCaller, webhook_id: str
) -> Message:
    """Send `webhook.test` to this webhook; its log of deliveries has the answer."""
    found = _webhook_id(webhook_id)
    await services_of(request).webhooks.test_one(caller.organization.id, found)
    return Message(message=f"{WEBHOOK_TEST} is on its way")


@router.post("/test_webhook", openapi_extra=json_body(TestWebhook), summary="Send a sample event")
async def test_webhook(request: Request, caller: AuthenticatedCaller) -> Message:
    """Send a sample event to the key's webhooks that subscribe to its topic."""
    body = await read_json(request, TestWebhook, max_bytes=MAX_BODY_BYTES)
    webhooks = services_of(request).webhooks
    count = await webhooks.test(caller.organization.id, caller.api_key_id, body.topic)
    receivers = "1 webhook" if count == 1 else f"{count} webhooks"
    return Message(message=f"{body.topic} is on its way to {receivers}")


def _scope(body: CreateWebhook, caller: Caller) -> ApiKeyId | None:
    """Return the key that limits the events; None means the whole organization."""
    if body.scope == "api_key" and caller.api_key_id is None:
        raise InvalidInput(
            "scope: a session has no API key; use the scope organization, or a key", field="scope"
        )
    return None if body.scope == "organization" else caller.api_key_id


def _webhook_id(text: str) -> SubscriptionId:
    found = parse_uuid(text)
    if found is None:
        raise WebhookNotFound(f"there is no webhook {text[:100]!r}: ids are UUIDs")
    return SubscriptionId(found)


def _delivery_id(text: str) -> DeliveryId:
    found = parse_uuid(text)
    if found is None:
        raise DeliveryNotFound(f"there is no delivery {text[:100]!r}: ids are UUIDs")
    return DeliveryId(found)
