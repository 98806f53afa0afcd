"""Clause 6, webhooks over HTTP: subscriptions, topics, samples, the log, documented receivers."""

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from standardwebhooks import Webhook

from framekiln.webhooks.model import Event
from framekiln.webhooks.topics import TOPICS
from framekiln.worker.loop import run_worker
from tests.contract.conftest import TEMPLATE
from tests.support.app import AppHarness, open_app
from tests.support.jobs import wait_until
from tests.support.ports import ReservedPort
from tests.support.postgres import PostgresServer
from tests.support.receiver import Answer, Receiver
from tests.support.timeouts import TIMEOUT_S
from tests.support.webhooks import wait_for_requests

pytestmark = pytest.mark.spec("6")

PAGE = Path(__file__).resolve().parents[3] / "docs" / "api" / "webhooks.md"
WEBHOOKS = "/api/v1/webhooks"
UNKNOWN = uuid4()


@pytest.fixture
async def app(postgres: PostgresServer, tmp_path: Path) -> AsyncIterator[AppHarness]:
    allow = frozenset({"127.0.0.1"})
    async with open_app(postgres, tmp_path, template=TEMPLATE, fetch_allow=allow) as app:
        working = asyncio.create_task(
            run_worker(app.services, queues=["control", "io"], concurrency=8)
        )
        try:
            yield app
        finally:
            assert not working.done(), working.exception()
            working.cancel()
            with suppress(asyncio.CancelledError):
                await working


async def add(app: AppHarness, url: str, *events: str, **more: Any) -> dict[str, Any]:
    body = {"url": url, "events": list(events) or ["*"], **more}
    answer = await app.client.post(WEBHOOKS, json=body)
    assert answer.status_code == 201, answer.text
    created: dict[str, Any] = answer.json()
    return created


async def log_of(app: AppHarness, webhook: dict[str, Any], **query: Any) -> dict[str, Any]:
    answer = await app.client.get(f"{WEBHOOKS}/{webhook['id']}/deliveries", params=query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def delivered(app: AppHarness, webhook: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """Return the log, newest first, once that many deliveries have been taken."""
    found: list[dict[str, Any]] = []

    async def are_there() -> bool:
        found[:] = (await log_of(app, webhook))["deliveries"]
        return [each["status"] for each in found] == ["delivered"] * count

    await wait_until(are_there)
    return found


async def test_webhooks_are_created_changed_and_deleted(
    app: AppHarness, receiver: Receiver
) -> None:
    created = await add(app, receiver.url("/a"), "render.*", "render.*", "file.ready")
    secret = created.pop("secret")
    assert secret.startswith("whsec_")
    assert created["events"] == ["render.*", "file.ready"]
    assert (created["state"], created["reason"]) == ("active", None)
    address = f"{WEBHOOKS}/{created['id']}"
    await delivered(app, created, 1)
    shown = (await app.client.get(address)).json()
    assert shown["last_delivered_at"] is not None
    assert shown.keys() == created.keys()
    assert (await app.client.get(WEBHOOKS)).json() == {"webhooks": [shown], "next_cursor": None}

    changed = await app.client.patch(address, json={"url": receiver.url("/b"), "events": ["*"]})
    assert (changed.json()["url"], changed.json()["events"]) == (receiver.url("/b"), ["*"])
    rotated = await app.client.post(f"{address}/rotate-secret")
    assert rotated.headers["cache-control"] == "no-store"
    assert rotated.json()["secret"] != secret
    assert (await app.client.post(f"{address}/resume")).json()["state"] == "active"
    await delivered(app, created, 2)
    assert [request.path for request in receiver.requests] == ["/a", "/b"]
    Webhook(secret).verify(receiver.requests[0].body, dict(receiver.requests[0].headers))

    assert (await app.client.delete(address)).json() == {"success": True}
    for answer in (
        await app.client.get(address),
        await app.client.delete(address),
        await app.client.patch(address, json={}),
        await app.client.post(f"{address}/resume"),
        await app.client.get(f"{address}/deliveries"),
    ):
        assert (answer.status_code, answer.json()["error"]) == (404, "webhook_not_found")


async def test_deliveries_are_logged_and_can_be_repeated(
    app: AppHarness, receiver: Receiver
) -> None:
    webhook = await add(app, receiver.url())
    await delivered(app, webhook, 1)
    receiver.answer(Answer(200, body=b"thanks"))
    assert (await send_sample(app, "render.completed")).json() == {
        "message": "render.completed is on its way to 1 webhook"
    }
    [newest, _] = await delivered(app, webhook, 2)
    assert newest["topic"] == "render.completed"
    assert newest["attempt_count"] == 1
    assert newest["next_attempt_at"] is None
    detail = (await app.client.get(f"/api/v1/webhook-deliveries/{newest['id']}")).json()
    assert detail["request_body"].encode() == receiver.requests[1].body
    [attempt] = detail["attempts"]
    assert (attempt["status"], attempt["error"], attempt["response"]) == (200, None, "thanks")
    assert detail["last_attempt"] == attempt

    address = f"/api/v1/webhook-deliveries/{newest['id']}/redeliver"
    again = await app.client.post(address)
    assert again.status_code == 202
    assert again.json()["redelivery_of"] == newest["id"]
    await delivered(app, webhook, 3)
    first, second = receiver.requests[1:]
    assert first.body == second.body
    assert first.headers["webhook-id"] == second.headers["webhook-id"] == newest["event_id"]

    pages: list[dict[str, Any]] = []
    cursor: str | None = None
    while cursor is not None or not pages:
        query = {"limit": 2, **({"cursor": cursor} if cursor else {})}
        pages.append(await log_of(app, webhook, **query))
        cursor = pages[-1]["next_cursor"]
    assert [len(page["deliveries"]) for page in pages] == [2, 1]
    assert len({each["id"] for page in pages for each in page["deliveries"]}) == 3

    log = f"{WEBHOOKS}/{webhook['id']}/deliveries"
    refused = await app.client.get(log, params={"page": 2})
    assert (refused.status_code, refused.json()["error"]) == (400, "invalid_request")
    assert [each["code"] for each in refused.json()["issues"]] == ["unknown_field"]


async def send_sample(app: AppHarness, topic: Any) -> httpx.Response:
    return await app.client.post("/api/v1/test_webhook", json={"topic": topic})


async def test_samples_are_sent_to_matching_webhooks(app: AppHarness, receiver: Receiver) -> None:
    refused = await send_sample(app, "webhook.test")
    assert (refused.status_code, refused.json()["error"]) == (409, "no_webhook_for_topic")
    renders = await add(app, receiver.url("/renders"), "render.*")
    files = await add(app, receiver.url("/files"), "file.failed")
    for topic in ("render.created", "render.rendering", "render.pending", "file.failed"):
        assert (await send_sample(app, topic)).status_code == 200
    assert (await send_sample(app, "video.encoded")).status_code == 409
    assert "2 webhooks" in (await send_sample(app, "webhook.test")).json()["message"]
    topics = {each["topic"] for each in await delivered(app, renders, 5)}
    assert topics == {"webhook.test", "render.created", "render.rendering", "render.pending"}
    assert {each["topic"] for each in await delivered(app, files, 3)} == {
        "webhook.test",
        "file.failed",
    }
    one = await app.client.post(f"/api/v1/webhooks/{files['id']}/test")
    assert one.json() == {"message": "webhook.test is on its way"}
    sent = await delivered(app, files, 4)
    assert sum(each["topic"] == "webhook.test" for each in sent) == 3
    assert len(await delivered(app, renders, 5)) == 5
    unknown = await send_sample(app, "render.finished")
    assert (unknown.status_code, unknown.json()["error"]) == (400, "unknown_topic")
    assert unknown.json()["field"] == "topic"


async def test_topics_are_listed_with_samples(app: AppHarness) -> None:
    listed = (await app.client.get("/api/v1/webhook-topics")).json()["topics"]
    assert [each["topic"] for each in listed] == list(TOPICS)
    for each in listed:
        assert each["sample"] == {"topic": each["topic"], "data": TOPICS[each["topic"]].sample}


async def test_other_organizations_see_and_change_nothing(
    app: AppHarness, receiver: Receiver
) -> None:
    webhook = await add(app, receiver.url())
    [delivery] = await delivered(app, webhook, 1)
    stranger = await app.other_organization()
    address, logged = f"{WEBHOOKS}/{webhook['id']}", f"/api/v1/webhook-deliveries/{delivery['id']}"
    assert (await stranger.client.get(WEBHOOKS)).json()["webhooks"] == []
    for method, path in (
        ("GET", address),
        ("PATCH", address),
        ("DELETE", address),
        ("POST", f"{address}/rotate-secret"),
        ("POST", f"{address}/resume"),
        ("GET", f"{address}/deliveries"),
        ("GET", logged),
        ("POST", f"{logged}/redeliver"),
        ("GET", f"{WEBHOOKS}/{UNKNOWN}"),
        ("GET", f"{WEBHOOKS}/nonsense"),
        ("GET", "/api/v1/webhook-deliveries/nonsense"),
    ):
        answer = await stranger.client.request(method, path, json={})
        assert answer.status_code == 404, path
        assert answer.json()["error"].endswith("_not_found")
    await stranger.client.aclose()
    assert len(receiver.requests) == 1


@pytest.mark.spec("7")
@pytest.mark.parametrize(
    ("body", "code", "field"),
    [
        ({"events": ["*"]}, "invalid_request", "url"),
        ({"url": "https://x.test/"}, "invalid_request", "events"),
        ({"url": "https://x.test/", "events": []}, "invalid_request", "events"),
        ({"url": "https://x.test/", "events": ["nope"]}, "unknown_topic", "events.0"),
        ({"url": "https://x.test/", "events": ["*"], "scope": "x"}, "invalid_request", "scope"),
        ({"url": "x", "events": ["*"]}, "invalid_webhook_url", "url"),
        ({"url": "http://x.test/", "events": ["*"]}, "invalid_webhook_url", "url"),
        ({"url": "https://u:p@x.test/", "events": ["*"]}, "invalid_webhook_url", "url"),
        ({"url": "https://x.test:22/", "events": ["*"]}, "invalid_webhook_url", "url"),
        ({"url": "https://10.0.0.1/", "events": ["*"]}, "invalid_webhook_url", "url"),
        ({"url": "https://localhost/", "events": ["*"]}, "invalid_webhook_url", "url"),
        ({"url": "https://[::1]/", "events": ["*"]}, "invalid_webhook_url", "url"),
    ],
)
async def test_invalid_webhooks_are_refused(
    postgres: PostgresServer, tmp_path: Path, body: dict[str, Any], code: str, field: str
) -> None:
    async with open_app(postgres, tmp_path, template=TEMPLATE) as app:
        answer = await app.client.post(WEBHOOKS, json=body)
        assert (answer.status_code, answer.json()["error"]) == (400, code)
        assert answer.json()["field"] == field
        assert (await app.client.get(WEBHOOKS)).json()["webhooks"] == []


async def test_an_organization_has_at_most_a_hundred_webhooks(
    app: AppHarness, receiver: Receiver
) -> None:
    async with app.services.database.transaction() as connection:
        await connection.execute(
            """
            INSERT INTO webhook_subscription (id, organization_id, url, events, secret, created_at)
            SELECT gen_random_uuid(), organization.id, 'https://x.test/', '{*}', 'x', now()
            FROM organization, generate_series(1, 99)
            """
        )
    await add(app, receiver.url(), scope="organization")
    body = {"url": receiver.url(), "events": ["*"]}
    refused = await app.client.post(WEBHOOKS, json=body)
    assert (refused.status_code, refused.json()["error"]) == (409, "too_many_webhooks")


async def test_the_schedule_sends_what_was_postponed(app: AppHarness, receiver: Receiver) -> None:
    receiver.answer_next(Answer(500))
    webhook = await add(app, receiver.url())
    await wait_for_requests(receiver, 1)
    async with app.services.database.connection() as connection:

        async def is_postponed() -> bool:
            cursor = await connection.execute(
                "UPDATE webhook_delivery SET due_at = now() WHERE status = 'pending' RETURNING id"
            )
            return await cursor.fetchone() is not None

        await wait_until(is_postponed)
    await delivered(app, webhook, 1)


@pytest.mark.parametrize(("language", "ending"), [("python", "py"), ("js", "js")])
async def test_the_example_receivers_in_the_docs_work(
    app: AppHarness, tmp_path: Path, language: str, ending: str
) -> None:
    [source] = re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text("utf-8"), re.M | re.S)
    program = tmp_path / f"receiver.{ending}"
    program.write_text(source)
    reserved = ReservedPort()
    port = reserved.number
    webhook = await add(app, f"http://127.0.0.1:{port}/", "render.completed")
    interpreter = sys.executable if ending == "py" else str(Path(sys.executable).with_name("node"))
    process = await asyncio.create_subprocess_exec(
        interpreter,
        str(program),
        env={"WEBHOOK_SECRET": webhook["secret"], "PORT": str(port)},
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        await listening(port)
        forged = {"webhook-id": "1", "webhook-timestamp": "1", "webhook-signature": "v1,AAAA"}
        async with httpx.AsyncClient(timeout=TIMEOUT_S) as client:
            for headers in ({}, forged):
                answer = await client.post(
                    f"http://127.0.0.1:{port}/", headers=headers, content="{}"
                )
                assert answer.status_code == 401
        await send_sample(app, "render.completed")
        sample = TOPICS["render.completed"].sample
        assert process.stdout is not None
        async with asyncio.timeout(TIMEOUT_S):
            line = b""
            while not line.startswith(b"render.completed"):
                line = await process.stdout.readline()
                assert line, "the receiver has ended"
        assert line.decode().split() == ["render.completed", sample["id"]]
    finally:
        # Node may be started by a program that starts it.
        os.killpg(process.pid, signal.SIGKILL)
        await process.communicate()


async def listening(port: int) -> None:
    async def is_listening() -> bool:
        with suppress(OSError):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.close()
            return True
        return False

    await wait_until(is_listening)


async def test_events_recorded_by_other_services_are_delivered(
    app: AppHarness, receiver: Receiver
) -> None:
    webhook = await add(app, receiver.url(), "render.completed", scope="organization")
    assert webhook["api_key_id"] is None
    [mine] = await app.services.webhooks.list_all(await organization_of(app))
    event = Event(mine.organization_id, None, "render.completed", uuid4(), {"id": "r"})
    async with app.services.database.transaction() as connection:
        await app.services.outbox.record(connection, event)
    await delivered(app, webhook, 2)


async def organization_of(app: AppHarness) -> Any:
    return (await app.services.identity.authenticate(app.key)).organization.id
