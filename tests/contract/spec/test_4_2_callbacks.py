"""The `callback` of a config: one signed request to its address when the video has ended."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from framekiln.jobs.failures import Failure
from framekiln.webhooks.signatures import body_signature
from framekiln.webhooks.topics import TOPICS
from framekiln.worker.loop import run_worker
from tests.contract.conftest import TEMPLATE
from tests.support.app import AppHarness, open_app
from tests.support.postgres import PostgresServer
from tests.support.receiver import Answer, Receiver
from tests.support.timeouts import TIMEOUT_S
from tests.support.videos import NEW, complete_video, create_video, plain_config, video_of
from tests.support.webhooks import wait_for_requests

pytestmark = pytest.mark.spec("4.2")

SECRET = "/api/v1/webhooks/callback-secret"


@pytest.fixture
async def app(postgres: PostgresServer, tmp_path: Path) -> AsyncIterator[AppHarness]:
    allow = frozenset({"127.0.0.1"})
    async with open_app(postgres, tmp_path, template=TEMPLATE, fetch_allow=allow) as app:
        worker = asyncio.create_task(run_worker(app.services, queues=["io"], concurrency=4))
        try:
            yield app
        finally:
            worker.cancel()
            with suppress(asyncio.CancelledError):
                await worker


async def new_secret(app: AppHarness) -> str:
    answer = await app.client.post(SECRET)
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    return str(answer.json()["secret"])


async def settled(app: AppHarness, status: str) -> None:
    """Wait until it is written down how the last attempt of each delivery went."""
    async with asyncio.timeout(TIMEOUT_S):
        while True:
            async with app.services.database.connection() as connection:
                cursor = await connection.execute(
                    "SELECT FROM webhook_delivery WHERE status <> %s OR tries = 0", (status,)
                )
                if await cursor.fetchone() is None:
                    return
            await asyncio.sleep(0.05)


async def test_a_finished_video_sends_a_signed_callback(
    app: AppHarness, receiver: Receiver
) -> None:
    secret = await new_secret(app)
    url = receiver.url("/done?order=42")
    video_id = await create_video(app, plain_config(callback=url), metadata={"order": 42})
    await complete_video(app, video_id, b"film")
    [request] = await wait_for_requests(receiver, 1)
    assert request.path == "/done?order=42"
    assert Webhook(secret).verify(request.body, dict(request.headers))
    assert request.headers["x-webhook-signature"] == body_signature(request.body.decode(), secret)
    event = json.loads(request.body)
    assert event["topic"] == "video.encoded"
    assert event["data"].keys() == TOPICS["video.encoded"].sample.keys()
    assert (event["data"]["id"], event["data"]["metadata"]) == (video_id, {"order": 42})
    assert event["data"]["download_url"].endswith(f"/v2/videos/{video_id}/download")
    # It is no webhook of the owner's.
    assert (await app.client.get("/api/v1/webhooks")).json()["webhooks"] == []


async def test_the_callback_of_a_failed_video_has_the_error_and_is_retried(
    app: AppHarness, receiver: Receiver
) -> None:
    receiver.answer_next(Answer(status=500))
    config = plain_config(callback=receiver.url())
    video_id = await create_video(app, config)
    render = (await video_of(app, video_id)).render
    failure = TOPICS["video.failed"].sample["error"]
    await app.services.render_worker.fail(
        render.id, Failure(failure["code"], "layers.0.file: gone")
    )
    [first] = await wait_for_requests(receiver, 1)
    event = json.loads(first.body)
    assert event["topic"] == "video.failed"
    assert event["data"]["error"]["message"] == "layers.0.file: gone"
    assert event["data"]["error"].keys() == failure.keys()
    await settled(app, "pending")
    async with app.services.database.transaction() as connection:
        await connection.execute("UPDATE webhook_delivery SET due_at = now()")
    await app.services.webhook_worker.queue_due()
    _, second = await wait_for_requests(receiver, 2)
    assert second.body == first.body
    assert second.headers["webhook-id"] == first.headers["webhook-id"]


async def test_every_video_of_a_shared_film_sends_its_own_callback(
    app: AppHarness, receiver: Receiver
) -> None:
    first = await create_video(app, plain_config(callback=receiver.url("/1")))
    await complete_video(app, first, b"film")
    await wait_for_requests(receiver, 1)
    # The film is there already, and so is the news.
    second = await create_video(app, plain_config(callback=receiver.url("/2")))
    requests = await wait_for_requests(receiver, 2)
    video_ids = {request.path: json.loads(request.body)["data"]["id"] for request in requests}
    assert video_ids == {"/1": first, "/2": second}


async def test_a_new_secret_signs_beside_the_old_one(app: AppHarness, receiver: Receiver) -> None:
    old = await new_secret(app)
    video_id = await create_video(app, plain_config(callback=receiver.url()))
    await complete_video(app, video_id, b"film")
    new = await new_secret(app)
    again = await create_video(app, plain_config(callback=receiver.url(), duration=2))
    await complete_video(app, again, b"film")
    _, request = await wait_for_requests(receiver, 2)
    for secret in (old, new):
        Webhook(secret).verify(request.body, dict(request.headers))
    with pytest.raises(WebhookVerificationError):
        Webhook("whsec_" + "A" * 43 + "=").verify(request.body, dict(request.headers))


@pytest.mark.parametrize(
    ("callback", "code"),
    [
        ("http://10.0.0.1/x", "not_allowed"),
        ("https://169.254.169.254/x", "not_allowed"),
        ("ftp://example.com/x", "remote_url_required"),
        (7, "type"),
    ],
)
async def test_private_and_invalid_callback_addresses_are_refused(
    app: AppHarness, callback: object, code: str
) -> None:
    answer = await app.client.post(NEW, json={"config": plain_config(callback=callback)})
    assert answer.status_code == 422
    [issue] = answer.json()["issues"]
    assert (issue["path"], issue["code"]) == ("callback", code)


async def test_unused_callback_addresses_are_removed(app: AppHarness, receiver: Receiver) -> None:
    video_id = await create_video(app, plain_config(callback=receiver.url()))
    await complete_video(app, video_id, b"film")
    await wait_for_requests(receiver, 1)
    await settled(app, "delivered")
    callbacks = app.services.callbacks
    assert await callbacks.remove_idle() == 0
    async with app.services.database.transaction() as connection:
        old = timedelta(days=31)
        await connection.execute("DELETE FROM webhook_delivery")
        await connection.execute(
            "UPDATE webhook_subscription SET created_at = created_at - %s", (old,)
        )
    assert await callbacks.remove_idle() == 1
