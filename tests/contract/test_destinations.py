"""Destinations: outputs are copied to buckets and URLs, and each copy says what became of it."""

import asyncio
import hashlib
import hmac
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit
from uuid import UUID

import pytest

from framekiln.destinations.jobs import COPY_OUTPUT
from framekiln.destinations.model import MAX_ATTEMPTS
from framekiln.jobs.failures import Failure
from framekiln.jobs.model import JobContext
from framekiln.kit.ids import RenderId
from framekiln.videos.public_ids import BulkId
from framekiln.webhooks.topics import TOPICS
from framekiln.worker.http_handlers import webhook_handlers
from framekiln.worker.loop import run_worker
from tests.contract.conftest import TEMPLATE
from tests.support.app import AppHarness, open_app
from tests.support.destinations import CONTENT, complete, copies, create
from tests.support.postgres import PostgresServer
from tests.support.receiver import Answer, ReceivedRequest, Receiver
from tests.support.videos import VIDEOS, create_video, plain_config, video_of
from tests.support.webhooks import wait_for_requests

RENDERS = "/api/v1/renders"
SECRET = "do-not-show-this-key"
DENIED = Answer(403, b"<Error><Code>AccessDenied</Code></Error>")


@pytest.fixture(scope="module")
async def app(
    postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[AppHarness]:
    folder = tmp_path_factory.mktemp("destinations")
    allow = frozenset({"127.0.0.1"})
    async with open_app(postgres, folder, template=TEMPLATE, fetch_allow=allow) as app:
        yield app


def s3(receiver: Receiver, **changes: Any) -> dict[str, Any]:
    return {
        "type": "s3",
        "bucket": "films",
        "key": "made/{id}.mp4",
        "region": "eu-west-1",
        "endpoint": receiver.url("").rstrip("/"),
        "access_key_id": "AKEXAMPLE",
        "secret_access_key": SECRET,
        **changes,
    }


async def copy_all(app: AppHarness, render_id: str) -> list[dict[str, Any]]:
    """Run the job of each destination once, and return what became of them."""
    handler = webhook_handlers(app.services)[COPY_OUTPUT]
    for each in await copies(app, render_id):
        await handler(JobContext(1, COPY_OUTPUT, {"destination_id": each["id"]}, 1))
    return await copies(app, render_id)


async def copied(app: AppHarness, *destinations: dict[str, Any]) -> list[dict[str, Any]]:
    render_id = await create(app, *destinations)
    await complete(app, RenderId(UUID(render_id)))
    return await copy_all(app, render_id)


def has_valid_signature(request: ReceivedRequest, secret: str) -> bool:
    """Verify a request as S3 does (Signature Version 4 in the query)."""
    parts = urlsplit(request.path)
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    signature, date = query.pop("X-Amz-Signature"), query["X-Amz-Date"]
    assert query["X-Amz-SignedHeaders"] == "host"
    _, *scope = query["X-Amz-Credential"].split("/")
    canonical = "\n".join(
        [
            request.method,
            parts.path,
            urlencode(sorted(query.items()), quote_via=quote, safe=""),
            f"host:{request.headers['host']}",
            "",
            "host",
            "UNSIGNED-PAYLOAD",
        ]
    )
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    text = "\n".join(["AWS4-HMAC-SHA256", date, "/".join(scope), digest])
    key = f"AWS4{secret}".encode()
    for part in (*scope, text):
        key = hmac.digest(key, part.encode(), "sha256")
    return key.hex() == signature


async def test_an_output_is_copied_to_a_bucket_with_a_signature_that_s3_accepts(
    app: AppHarness, receiver: Receiver
) -> None:
    render_id = await create(app, s3(receiver), s3(receiver, key="b.mp4", session_token="T0"))
    assert [each["status"] for each in await copies(app, render_id)] == ["pending"] * 2
    await complete(app, RenderId(UUID(render_id)))
    first, second = await copy_all(app, render_id)
    assert first == {
        "id": first["id"],
        "type": "s3",
        "address": f"s3://films/made/{render_id}.mp4",
        "status": "complete",
        "attempts": 1,
        "byte_size": len(CONTENT),
        "completed_at": first["completed_at"],
        "error": None,
    }
    assert second["status"] == "complete"
    requests = receiver.requests
    assert [urlsplit(each.path).path for each in requests] == [
        f"/films/made/{render_id}.mp4",
        "/films/b.mp4",
    ]
    for request in requests:
        assert (request.method, request.body) == ("PUT", CONTENT)
        assert request.headers["content-type"] == "video/mp4"
        assert request.headers["content-length"] == str(len(CONTENT))
        assert has_valid_signature(request, SECRET)
        assert not has_valid_signature(request, "another key")
    assert "X-Amz-Security-Token=T0" in requests[1].path


async def test_credentials_of_the_operator_are_never_used(
    app: AppHarness, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SESSION_TOKEN", "operator")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://operator.example")
    [copy] = await copied(app, s3(receiver))
    assert copy["status"] == "complete"
    [request] = receiver.requests
    assert "operator" not in request.path
    assert has_valid_signature(request, SECRET)


async def test_an_output_is_copied_to_a_presigned_url_with_its_headers(
    app: AppHarness, receiver: Receiver
) -> None:
    url = receiver.url("/inbox/{id}.mp4?signature=s3cret")
    destination = {"type": "url", "url": url, "headers": {"x-amz-acl": "private"}}
    [copy] = await copied(app, destination)
    assert copy["status"] == "complete"
    [request] = receiver.requests
    assert (request.method, request.body) == ("PUT", CONTENT)
    assert request.headers["x-amz-acl"] == "private"
    assert request.path.endswith("?signature=s3cret")
    assert copy["address"] == receiver.url(request.path.partition("?")[0])


async def test_a_broken_destination_is_named_and_the_others_go_on(
    app: AppHarness, receiver: Receiver
) -> None:
    missing = Answer(404, b"<Error><Code>NoSuchBucket</Code></Error>")
    receiver.answer_next(missing, DENIED, Answer())
    render_id = await create(app, s3(receiver, bucket="none"), s3(receiver), s3(receiver, key="c"))
    await complete(app, RenderId(UUID(render_id)))
    broken, expired, fine = await copy_all(app, render_id)
    assert [broken["status"], expired["status"], fine["status"]] == ["failed", "failed", "complete"]
    assert broken["error"]["code"] == expired["error"]["code"] == "destination_refused"
    assert "NoSuchBucket" in broken["error"]["message"]
    assert "create it, or correct the name" in broken["error"]["message"]
    assert "AccessDenied" in expired["error"]["message"]
    assert "have expired" in expired["error"]["message"]
    assert (await app.info(render_id))["status"] == "complete"
    # What has ended is not tried again.
    await copy_all(app, render_id)
    assert len(receiver.requests) == 3


async def test_a_server_that_fails_is_tried_again_until_it_works(
    app: AppHarness, receiver: Receiver
) -> None:
    receiver.answer_next(Answer(503), Answer(drop=True))
    render_id = await create(app, s3(receiver))
    await complete(app, RenderId(UUID(render_id)))
    seen = [(await copy_all(app, render_id))[0] for _ in range(3)]
    assert [each["status"] for each in seen] == ["pending", "pending", "complete"]
    assert [each["attempts"] for each in seen] == [1, 2, 3]
    assert [each["error"] and each["error"]["code"] for each in seen] == [
        "destination_unavailable",
        "fetch_failed",
        None,
    ]


async def test_a_server_that_never_works_is_given_up(app: AppHarness, receiver: Receiver) -> None:
    receiver.answer(Answer(500))
    render_id = await create(app, s3(receiver))
    await complete(app, RenderId(UUID(render_id)))
    seen = [(await copy_all(app, render_id))[0]["status"] for _ in range(MAX_ATTEMPTS)]
    assert seen == ["pending"] * (MAX_ATTEMPTS - 1) + ["failed"]


async def test_workers_copy_and_webhooks_tell(app: AppHarness, receiver: Receiver) -> None:
    owner = await app.other_organization()
    hook = {"url": receiver.url("/hook"), "events": ["destination.*"]}
    await owner.client.post("/api/v1/webhooks", json=hook)

    def respond(request: ReceivedRequest) -> Answer:
        return DENIED if request.path.startswith("/films/denied") else Answer()

    receiver.answer_by(respond)
    render_id = await create(owner, s3(receiver), s3(receiver, key="denied"))
    await complete(owner, RenderId(UUID(render_id)))
    worker = asyncio.create_task(run_worker(app.services, queues=["io"], concurrency=4))
    try:
        # Two copies, a test event, two events.
        requests = await wait_for_requests(receiver, 5)
    finally:
        worker.cancel()
        with suppress(asyncio.CancelledError):
            await worker
    said = [json.loads(each.body) for each in requests if each.path == "/hook"]
    events = {each["topic"]: each["data"] for each in said if each["topic"] != "webhook.test"}
    assert events.keys() == {"destination.complete", "destination.failed"}
    for topic, data in events.items():
        assert data.keys() == TOPICS[topic].sample.keys()
        assert (data["render_id"], data["resource_id"]) == (render_id, render_id)
    assert SECRET not in json.dumps(said)


async def test_without_an_output_there_is_nothing_to_copy(
    app: AppHarness, receiver: Receiver
) -> None:
    deleted, failed = await create(app, s3(receiver)), await create(app, s3(receiver))
    await complete(app, RenderId(UUID(deleted)))
    [copy] = await copies(app, deleted)
    await app.client.delete(f"{RENDERS}/{deleted}")
    handler = webhook_handlers(app.services)[COPY_OUTPUT]
    await handler(JobContext(1, COPY_OUTPUT, {"destination_id": copy["id"]}, 1))
    work = app.services.render_worker
    await work.start(RenderId(UUID(failed)), job_id=1, attempt=1)
    await work.fail(RenderId(UUID(failed)), Failure("page_threw", "a script threw"))
    [copy] = await copy_all(app, failed)
    assert (copy["status"], copy["error"]["code"]) == ("failed", "output_missing")
    assert receiver.requests == []


async def test_credentials_are_encrypted_and_deleted_after_the_copy(
    app: AppHarness, receiver: Receiver
) -> None:
    render_id = await create(app, s3(receiver))

    async def stored() -> bytes:
        async with app.services.database.connection() as connection:
            cursor = await connection.execute(
                "SELECT encrypted FROM destination WHERE resource_id = %s", [render_id]
            )
            row = await cursor.fetchone()
        assert row is not None
        return bytes(row["encrypted"])

    before = await stored()
    assert len(before) > 100
    assert SECRET.encode() not in before
    await complete(app, RenderId(UUID(render_id)))
    await copy_all(app, render_id)
    assert await stored() == b""
    assert SECRET not in json.dumps(await app.info(render_id))


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"bucket": None}, "destinations.0.bucket"),
        ({"key": "../x"}, "destinations.0.key"),
        ({"secret": "x"}, "destinations.0.secret"),
        ({"type": "ftp"}, "destinations.0"),
        ({"endpoint": "https://10.0.0.1"}, "destinations.0"),
        ({"endpoint": "http://bucket.example"}, "destinations.0"),
        ({"endpoint": "not a url"}, "destinations.0.endpoint"),
        ({"key": "made/{name}.mp4"}, "destinations.0.key"),
        ({"key": "made/{{id}}.mp4"}, "destinations.0.key"),
    ],
)
async def test_a_wrong_destination_is_refused_before_anything_is_made(
    app: AppHarness, receiver: Receiver, changes: dict[str, Any], field: str
) -> None:
    body = {"html": "<p>x", "duration_ms": 100, "destinations": [s3(receiver, **changes)]}
    answer = await app.client.post(RENDERS, json=body)
    assert answer.status_code == 400, answer.text
    assert (answer.json()["error"], answer.json()["field"]) == ("invalid_destination", field)
    assert SECRET not in answer.text


@pytest.mark.parametrize(
    "headers", [{"Content-Length": "1"}, {"X Y": "1"}, {"X": "a\nb"}, {"X": "\u00fc"}, {"": "1"}]
)
async def test_headers_that_cannot_be_sent_are_refused(
    app: AppHarness, headers: dict[str, str]
) -> None:
    destination = {"type": "url", "url": "https://93.184.215.14/x", "headers": headers}
    body = {"html": "<p>x", "duration_ms": 100, "destinations": [destination]}
    answer = await app.client.post(RENDERS, json=body)
    assert answer.json()["field"] == "destinations.0.headers", answer.text


async def test_a_wrong_destination_of_a_video_has_one_issue_with_its_path(app: AppHarness) -> None:
    destination = {"type": "url", "url": "https://10.0.0.1/x"}
    body = {"config": plain_config(), "destinations": [destination]}
    answer = await app.client.post("/v2/videos/new", json=body)
    [issue] = answer.json()["issues"]
    assert (answer.status_code, issue["path"], issue["code"]) == (422, "destinations.0", "invalid")
    assert issue["hint"].startswith("10.0.0.1 is not a public host")


async def test_credentials_of_a_wrong_form_are_refused(app: AppHarness) -> None:
    for destination in (
        {"type": "gcs", "bucket": "films", "key": "a", "service_account_key": {"a": SECRET}},
        {"type": "azure", "account": "a", "container": "c", "key": "a", "account_key": "%"},
    ):
        body = {"html": "<p>x", "duration_ms": 100, "destinations": [destination]}
        answer = await app.client.post(RENDERS, json=body)
        assert (answer.status_code, answer.json()["error"]) == (400, "invalid_destination")
        assert SECRET not in answer.text


async def test_videos_and_templates_have_destinations(app: AppHarness, receiver: Receiver) -> None:
    destination = s3(receiver, key="{id}.mp4")
    body = {"config": plain_config(), "destinations": [destination]}
    created = await app.client.post(f"{VIDEOS}/new", json=body)
    assert created.status_code == 201, created.text
    template = {"name": "t", "config": plain_config(duration=7), "inputs": {}, "default_values": {}}
    stored = (await app.client.post("/v2/templates", json=template)).json()["data"]["id"]
    rendered = await app.client.post(
        f"/v2/templates/{stored}/render", json={"data": {}, "destinations": [destination]}
    )
    assert rendered.status_code == 201, rendered.text
    handler = webhook_handlers(app.services)[COPY_OUTPUT]
    for video_id in (created.json()["id"], rendered.json()["data"]["video"]["id"]):
        await complete(app, (await video_of(app, video_id)).render.id)
        [copy] = (await app.client.get(f"{VIDEOS}/{video_id}")).json()["destinations"]
        await handler(JobContext(1, COPY_OUTPUT, {"destination_id": copy["id"]}, 1))
        [copy] = (await app.client.get(f"{VIDEOS}/{video_id}")).json()["destinations"]
        assert (copy["status"], copy["address"]) == ("complete", f"s3://films/{video_id}.mp4")
    plain = await create_video(app, plain_config(duration=9))
    assert "destinations" not in (await app.client.get(f"{VIDEOS}/{plain}")).json()
    refused = await app.client.post(f"{VIDEOS}/new", json={**body, "destinations": [{}]})
    assert refused.status_code == 422
    assert refused.json()["issues"][0]["path"].startswith("destinations.0")


async def create_template(app: AppHarness, name: str, *destinations: dict[str, Any]) -> str:
    layer = {"id": "t", "type": "text", "text": {"text": f"{name} {{{{ who }}}}"}}
    body = {
        "name": name,
        "config": plain_config(layers=[layer]),
        "inputs": {"who": "string"},
        "default_values": {"who": "you"},
        "destinations": list(destinations),
    }
    created = await app.client.post("/v2/templates", json=body)
    assert created.status_code == 201, created.text
    assert SECRET not in created.text
    return str(created.json()["data"]["id"])


async def addresses_of(app: AppHarness, video_id: str) -> list[str]:
    video = (await app.client.get(f"{VIDEOS}/{video_id}")).json()
    return [each["address"] for each in video.get("destinations", [])]


async def test_videos_of_a_template_go_to_its_destinations_unless_they_have_their_own(
    app: AppHarness, receiver: Receiver
) -> None:
    template = await create_template(app, "stored", s3(receiver, key="t/{id}.mp4"))
    address = f"/v2/templates/{template}"
    shown = (await app.client.get(address)).json()["data"]["destinations"]
    assert shown == [{"type": "s3", "address": "s3://films/t/{id}.mp4"}]

    async def rendered(**body: Any) -> str:
        answer = await app.client.post(f"{address}/render", json={"data": {}, **body})
        assert answer.status_code == 201, answer.text
        return str(answer.json()["data"]["video"]["id"])

    plain = await rendered(data={"who": "Ada"})
    assert await addresses_of(app, plain) == [f"s3://films/t/{plain}.mp4"]
    own = await rendered(data={"who": "Bob"}, destinations=[s3(receiver, key="own.mp4")])
    assert await addresses_of(app, own) == ["s3://films/own.mp4"]
    assert await addresses_of(app, await rendered(data={"who": "C"}, destinations=[])) == []

    await complete(app, (await video_of(app, plain)).render.id)
    handler = webhook_handlers(app.services)[COPY_OUTPUT]
    [copy] = (await app.client.get(f"{VIDEOS}/{plain}")).json()["destinations"]
    await handler(JobContext(1, COPY_OUTPUT, {"destination_id": copy["id"]}, 1))
    [request] = receiver.requests
    assert request.body == CONTENT
    assert has_valid_signature(request, SECRET), "the stored credentials still work"


async def test_an_update_of_a_template_keeps_replaces_or_removes_its_destinations(
    app: AppHarness, receiver: Receiver
) -> None:
    template = await create_template(app, "kept", s3(receiver, key="first"))
    body = {"name": "n", "config": plain_config(), "inputs": {}, "default_values": {}}
    sent: list[dict[str, Any]] = [{}, {"destinations": [s3(receiver, key="b")]}, {}]
    seen = []
    for more in (*sent, {"destinations": []}):
        answer = await app.client.put(f"/v2/templates/{template}", json={**body, **more})
        assert answer.status_code == 200, answer.text
        found = answer.json()["data"].get("destinations", [])
        seen.append([each["address"] for each in found])
    assert seen == [["s3://films/first"], ["s3://films/b"], ["s3://films/b"], []]


async def test_rows_of_a_bulk_go_to_its_destinations_or_to_those_of_the_template(
    app: AppHarness, receiver: Receiver
) -> None:
    template = await create_template(app, "bulk", s3(receiver, key="t/{id}"))
    address = f"/v2/templates/{template}/bulk"
    organization_id = (await app.services.identity.authenticate(app.key)).organization.id

    async def row_addresses(who: str, **body: Any) -> tuple[str, list[str]]:
        answer = await app.client.post(address, json={"rows": [{"who": who}], **body})
        assert answer.status_code == 201, answer.text
        bulk_id = answer.json()["data"]["id"]
        await app.services.v2.bulk_worker.start_rows(
            organization_id, BulkId(bulk_id), is_final=lambda _error: True
        )
        [row] = (await app.client.get(f"/v2/bulks/{bulk_id}/rows")).json()["data"]
        return row["video_id"], await addresses_of(app, row["video_id"])

    video_id, found = await row_addresses("Ada")
    assert found == [f"s3://films/t/{video_id}"]
    video_id, found = await row_addresses("Bob", destinations=[s3(receiver, key="b/{id}")])
    assert found == [f"s3://films/b/{video_id}"]
    assert (await row_addresses("C", destinations=[]))[1] == []
    unknown = [{**s3(receiver, key="{id}"), "access_key": SECRET}]
    refused = await app.client.post(address, json={"rows": [{}], "destinations": unknown})
    [issue] = refused.json()["issues"]
    assert issue["path"] == "destinations.0.access_key"
    assert "did you mean access_key_id?" in refused.text
    refused = await app.client.post(address, json={"rows": [{}], "destinations": [{}]})
    assert (refused.status_code, SECRET in refused.text) == (422, False)


@pytest.mark.parametrize("key", ["all.mp4", "{id}.mp4"])
async def test_videos_of_a_bulk_never_replace_each_other_at_a_destination(
    app: AppHarness, receiver: Receiver, key: str
) -> None:
    own = {"destinations": [s3(receiver, key=key)]}
    stored = await create_template(app, f"stored {key}", s3(receiver, key=key))
    plain = await create_template(app, f"plain {key}")
    for template, more in ((stored, {}), (plain, own)):
        for rows in ([{"who": "Ada"}], [{"who": "Ada"}, {"who": "Bob"}]):
            address = f"/v2/templates/{template}/bulk"
            answer = await app.client.post(address, json={"rows": rows, **more})
            if len(rows) == 1 or "{id}" in key:
                assert answer.status_code == 201, answer.text
            else:
                assert answer.status_code == 422, answer.text
                assert answer.json()["issues"][0]["path"] == "destinations.0.key"


async def test_a_repeated_bulk_with_other_destinations_is_refused(
    app: AppHarness, receiver: Receiver
) -> None:
    template = await create_template(app, "again")
    address, key = f"/v2/templates/{template}/bulk", {"Idempotency-Key": "again-1"}
    body = {"rows": [{"who": "Ada"}], "destinations": [s3(receiver, key="{id}")]}
    statuses = [
        (await app.client.post(address, json=each, headers=key)).status_code
        for each in (body, body, {**body, "destinations": []})
    ]
    assert statuses == [201, 200, 409]
