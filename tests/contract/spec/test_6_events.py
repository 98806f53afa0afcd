"""Clause 6: renders and files have their events subscribe, in order, with the documented fields."""

import asyncio
import hashlib
import io
import json
import tarfile
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from framekiln.webhooks.topics import TOPICS
from framekiln.worker.loop import run_worker
from tests.contract.conftest import TEMPLATE
from tests.support.app import AppHarness, open_app
from tests.support.clips import make_clip, make_still
from tests.support.postgres import PostgresServer
from tests.support.receiver import Receiver
from tests.support.uploads import upload_file, wait_processed
from tests.support.videos import create_video, plain_config, video_of
from tests.support.webhooks import wait_for_requests

pytestmark = pytest.mark.spec("6")

PAGE = '<div data-duration-ms="200" style="width:64px;height:48px">hello</div>'


@pytest.fixture
async def app(postgres: PostgresServer, tmp_path: Path) -> AsyncIterator[AppHarness]:
    allow = frozenset({"127.0.0.1"})
    async with open_app(postgres, tmp_path, template=TEMPLATE, workers=1, fetch_allow=allow) as app:
        worker = asyncio.create_task(run_worker(app.services, queues=["io"], concurrency=8))
        try:
            yield app
        finally:
            worker.cancel()
            with suppress(asyncio.CancelledError):
                await worker


async def subscribe(app: AppHarness, receiver: Receiver, events: str, count: int) -> Any:
    """Subscribe, and return how to wait for what is subscribe after the greeting."""
    body = {"url": receiver.url(), "events": [events]}
    assert (await app.client.post("/api/v1/webhooks", json=body)).status_code == 201

    async def wait() -> list[dict[str, Any]]:
        requests = await wait_for_requests(receiver, count + 1)
        said = [json.loads(request.body) for request in requests]
        return [each for each in said if each["topic"] != "webhook.test"]

    return wait


def bundle(page: str) -> bytes:
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w:gz") as archive:
        entry = tarfile.TarInfo("index.html")
        entry.size = len(page)
        archive.addfile(entry, io.BytesIO(page.encode()))
    return written.getvalue()


async def test_a_render_sends_an_event_for_each_state(app: AppHarness, receiver: Receiver) -> None:
    wait = await subscribe(app, receiver, "render.*", 4)
    render_id = await app.create(metadata={"order": "42"}, md5="that of the bundle")
    await app.client.post(f"/api/v1/renders/{render_id}/upload", content=bundle(PAGE))
    info = await app.wait_ended(render_id)
    events = await wait()
    assert [(event["topic"], event["data"]["status"]) for event in events] == [
        ("render.created", "created"),
        ("render.pending", "pending"),
        ("render.rendering", "rendering"),
        ("render.completed", "complete"),
    ]
    for event in events:
        assert event["data"].keys() == TOPICS[event["topic"]].sample.keys()
        assert event["data"]["id"] == info["id"]
        assert event["data"]["metadata"] == {"order": "42"}
    assert events[-1]["data"]["download_url"] == info["download_url"]
    assert info["md5"] == "that of the bundle"
    md5 = hashlib.md5(await app.output(info), usedforsecurity=False).hexdigest()
    assert [event["data"]["md5"] for event in events] == [None, None, None, md5]


async def test_a_video_sends_its_own_events_and_none_of_its_render(
    app: AppHarness, receiver: Receiver
) -> None:
    wait = await subscribe(app, receiver, "*", 2)
    video_id = await create_video(app, plain_config(duration=0.1))
    assert [event["topic"] for event in await wait()] == ["video.created", "video.encoded"]
    render_id = (await video_of(app, video_id)).render.id
    refused = await app.client.delete(f"/api/v1/renders/{render_id}")
    assert (refused.status_code, refused.json()["error"]) == (409, "render_of_video")
    assert (await app.client.get(f"/v2/videos/{video_id}/download")).status_code == 200


async def test_the_event_of_a_failed_render_has_the_error(
    app: AppHarness, receiver: Receiver
) -> None:
    wait = await subscribe(app, receiver, "render.failed", 1)
    info = await app.render('<ef-timegroup duration="1s"><ef-video src="x.mp4"></ef-video>')
    [event] = await wait()
    assert event["data"]["error"] == info["error"]


async def test_a_video_sends_an_event_for_each_state(
    app: AppHarness, receiver: Receiver, tmp_path: Path
) -> None:
    wait = await subscribe(app, receiver, "file.*", 4)
    clip = make_clip(tmp_path / "clip.mp4").read_bytes()
    file = await wait_processed(app, (await upload_file(app, clip, filename="clip.mp4"))["id"])
    events = await wait()
    topics = ["file.created", "file.uploading", "file.processing", "file.ready"]
    assert [event["topic"] for event in events] == topics
    for event in events:
        assert event["data"].keys() == TOPICS[event["topic"]].sample.keys()
    assert (events[-1]["data"]["width"], events[-1]["data"]["id"]) == (320, file["id"])


async def test_a_picture_is_ready_at_once(
    app: AppHarness, receiver: Receiver, tmp_path: Path
) -> None:
    wait = await subscribe(app, receiver, "file.*", 3)
    picture = make_still(tmp_path / "picture.png", 1).read_bytes()
    await upload_file(app, picture, filename="picture.png", type="image")
    topics = [event["topic"] for event in await wait()]
    assert topics == ["file.created", "file.uploading", "file.ready"]


async def test_what_older_clients_register_has_topics_of_its_own(
    app: AppHarness, receiver: Receiver
) -> None:
    wait = await subscribe(app, receiver, "*", 8)

    async def register(path: str, **body: Any) -> dict[str, Any]:
        answer = await app.client.post(f"/api/v1/{path}", json=body)
        assert answer.status_code == 201, answer.text
        found: dict[str, Any] = answer.json()
        return found

    clip = {"filename": "clip.mp4", "byte_size": 9}
    await register("files", **clip, type="video")
    await register("unprocessed_files", **clip)
    await register("image_files", filename="a.png", byte_size=9, mime_type="image/png")
    file = await register("isobmff_files", filename="clip.mp4")
    track = {"track_id": 1, "type": "video", "codec_name": "h264", "duration_ms": 40}
    for _ in range(2):
        await register("isobmff_tracks", file_id=file["id"], **track, byte_size=9, probe_info={})
    events = {event["topic"]: event["data"] for event in await wait()}
    assert events.keys() - {"file.created"} == {
        "unprocessed_file.created",
        "image_file.created",
        "isobmff_file.created",
        "isobmff_track.created",
    }
    for topic, data in events.items():
        assert data.keys() == TOPICS[topic].sample.keys(), topic
    assert events["unprocessed_file.created"].items() >= clip.items()
    assert events["image_file.created"]["mime_type"] == "image/png"
    assert events["isobmff_file.created"]["id"] == file["id"]
    assert events["isobmff_track.created"].items() >= {"file_id": file["id"], **track}.items()
