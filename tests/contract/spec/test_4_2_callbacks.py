"""The `callback` of a config: one address, told once its video has ended, signed like webhooks."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from framekiln.jobs.ending import Failure
from framekiln.webhooks.signing import body_signature
from framekiln.webhooks.topics import TOPICS
from framekiln.worker.loop import run_worker
from tests.contract.conftest import TEMPLATE
from tests.support.app import Kiln, open_kiln
from tests.support.patience import PATIENCE_S
from tests.support.postgres import PostgresServer
from tests.support.receiver import Answer, Receiver
from tests.support.videos import NEW, complete, made, plain_config, video_of
from tests.support.webhooks import arrivals

pytestmark = pytest.mark.spec("4.2")

SECRET = "/api/v1/webhooks/callback-secret"


@pytest.fixture
async def kiln(postgres: PostgresServer, tmp_path: Path) -> AsyncIterator[Kiln]:
    allow = frozenset({"127.0.0.1"})
    async with open_kiln(postgres, tmp_path, template=TEMPLATE, fetch_allow=allow) as kiln:
        telling = asyncio.create_task(run_worker(kiln.services, queues=["io"], concurrency=4))
        try:
            yield kiln
        finally:
            telling.cancel()
            with suppress(asyncio.CancelledError):
                await telling


async def new_secret(kiln: Kiln) -> str:
    answer = await kiln.client.post(SECRET)
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    return str(answer.json()["secret"])


async def settled(kiln: Kiln, status: str) -> None:
    """Wait until it is written down how the last attempt of each delivery went."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            async with kiln.services.database.connection() as connection:
                cursor = await connection.execute(
                    "SELECT FROM webhook_delivery WHERE status <> %s OR tries = 0", (status,)
                )
                if await cursor.fetchone() is None:
                    return
            await asyncio.sleep(0.05)


async def test_a_finished_video_tells_its_callback_and_signs(
    kiln: Kiln, receiver: Receiver
) -> None:
    secret = await new_secret(kiln)
    url = receiver.url("/done?order=42")
    video_id = await made(kiln, plain_config(callback=url), metadata={"order": 42})
    await complete(kiln, video_id, b"film")
    [request] = await arrivals(receiver, 1)
    assert request.path == "/done?order=42"
    assert Webhook(secret).verify(request.body, dict(request.headers))
    assert request.headers["x-webhook-signature"] == body_signature(request.body.decode(), secret)
    told = json.loads(request.body)
    assert told["topic"] == "video.encoded"
    assert told["data"].keys() == TOPICS["video.encoded"].sample.keys()
    assert (told["data"]["id"], told["data"]["metadata"]) == (video_id, {"order": 42})
    assert told["data"]["download_url"].endswith(f"/v2/videos/{video_id}/download")
    # It is no webhook of the owner's.
    assert (await kiln.client.get("/api/v1/webhooks")).json()["webhooks"] == []


async def test_a_failed_video_says_why_and_the_callback_is_tried_again(
    kiln: Kiln, receiver: Receiver
) -> None:
    receiver.answer_next(Answer(status=500))
    config = plain_config(callback=receiver.url())
    video_id = await made(kiln, config)
    render = (await video_of(kiln, video_id)).render
    failure = TOPICS["video.failed"].sample["error"]
    await kiln.services.render_work.fail(render.id, Failure(failure["code"], "layers.0.file: gone"))
    [first] = await arrivals(receiver, 1)
    told = json.loads(first.body)
    assert told["topic"] == "video.failed"
    assert told["data"]["error"]["message"] == "layers.0.file: gone"
    assert told["data"]["error"].keys() == failure.keys()
    await settled(kiln, "pending")
    async with kiln.services.database.transaction() as connection:
        await connection.execute("UPDATE webhook_delivery SET due_at = now()")
    await kiln.services.webhook_work.send_due()
    _, second = await arrivals(receiver, 2)
    assert second.body == first.body
    assert second.headers["webhook-id"] == first.headers["webhook-id"]


async def test_every_video_of_a_shared_film_tells_its_own(kiln: Kiln, receiver: Receiver) -> None:
    first = await made(kiln, plain_config(callback=receiver.url("/1")))
    await complete(kiln, first, b"film")
    await arrivals(receiver, 1)
    # The film is there already, and so is the news.
    second = await made(kiln, plain_config(callback=receiver.url("/2")))
    requests = await arrivals(receiver, 2)
    told = {request.path: json.loads(request.body)["data"]["id"] for request in requests}
    assert told == {"/1": first, "/2": second}


async def test_a_new_secret_signs_beside_the_old_one(kiln: Kiln, receiver: Receiver) -> None:
    old = await new_secret(kiln)
    video_id = await made(kiln, plain_config(callback=receiver.url()))
    await complete(kiln, video_id, b"film")
    new = await new_secret(kiln)
    again = await made(kiln, plain_config(callback=receiver.url(), duration=2))
    await complete(kiln, again, b"film")
    _, request = await arrivals(receiver, 2)
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
async def test_addresses_that_nothing_may_be_sent_to(
    kiln: Kiln, callback: object, code: str
) -> None:
    answer = await kiln.client.post(NEW, json={"config": plain_config(callback=callback)})
    assert answer.status_code == 422
    [issue] = answer.json()["issues"]
    assert (issue["path"], issue["code"]) == ("callback", code)


async def test_addresses_are_forgotten_once_nothing_is_left_of_them(
    kiln: Kiln, receiver: Receiver
) -> None:
    video_id = await made(kiln, plain_config(callback=receiver.url()))
    await complete(kiln, video_id, b"film")
    await arrivals(receiver, 1)
    await settled(kiln, "delivered")
    callbacks = kiln.services.callbacks
    assert await callbacks.remove_idle() == 0
    async with kiln.services.database.transaction() as connection:
        old = timedelta(days=31)
        await connection.execute("DELETE FROM webhook_delivery")
        await connection.execute(
            "UPDATE webhook_subscription SET created_at = created_at - %s", (old,)
        )
    assert await callbacks.remove_idle() == 1
