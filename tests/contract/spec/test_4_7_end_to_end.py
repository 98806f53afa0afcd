"""Clause 4.7: a run over a real clip, through a real worker: probe, filter, review, publish."""

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from framekiln.worker.loop import run_worker
from tests.contract.conftest import TEMPLATE
from tests.support.app import BASE_URL, open_app
from tests.support.jobs import wait_until
from tests.support.pipelines import API, enable_pipelines, step
from tests.support.postgres import PostgresServer
from tests.support.uploads import create, upload

DEFINITION = {
    "steps": {
        "facts": step("probe"),
        "seen": step(
            "filter",
            "facts",
            when={
                "all": [
                    {"path": "facts.metadata.has_video", "op": "eq", "value": True},
                    {"path": "facts.metadata.tracks.0.width", "op": "gte", "value": 320},
                    {"path": "facts.metadata.duration_ms", "op": "lt", "value": 10_000},
                ]
            },
        ),
        "check": step("review", "seen", with_={"instructions": "May it be shown?"}),
        "out": step("publish", "check", with_={"formats": ["dash", "hls"]}),
    }
}


@pytest.mark.spec("2.11", "3.3", "4.7")
async def test_an_uploaded_clip_is_probed_filtered_reviewed_and_published(
    postgres: PostgresServer, tmp_path: Path, flash_clip: Path
) -> None:
    async with open_app(postgres, tmp_path, template=TEMPLATE) as app:
        await enable_pipelines(app)
        client, data = app.client, await asyncio.to_thread(flash_clip.read_bytes)
        made = await client.post(f"{API}/pipelines", json={"name": "p", "definition": DEFINITION})
        file = await create(app, byte_size=len(data), filename="flash.mp4")
        body = {"pipeline_id": made.json()["id"], "file_id": file["id"]}
        run = (await client.post(f"{API}/pipeline-runs", json=body)).json()
        assert run["status"] == "pending"
        # From here on nobody asks for anything but the people who do so in life.
        queues = ["control", "files", "steps", "playback"]
        worker = asyncio.create_task(run_worker(app.services, queues=queues, concurrency=2))
        try:
            await upload(app, f"{API}/files/{file['id']}/upload", data)
            await reaches(client, run, "check", "waiting_review")
            tasks = (await client.get(f"{API}/pipeline-reviews?status=pending")).json()
            [task] = tasks["reviews"]
            assert task["instructions"] == "May it be shown?"
            await client.post(f"{API}/pipeline-reviews/{task['id']}/approve")
            await reaches(client, run, "out", "succeeded")
        finally:
            worker.cancel()
            with suppress(asyncio.CancelledError):
                await worker
        shown = (await client.get(f"{API}/pipeline-runs/{run['id']}")).json()
        assert shown["status"] == "succeeded"
        facts = await latest(client, file["id"], "facts")
        # The last sound goes a little beyond the last picture.
        assert 2000 <= facts.pop("duration_ms") < 2100
        tracks = facts.pop("tracks")
        assert facts == {
            "width": 320,
            "height": 240,
            "has_video": True,
            "has_audio": True,
            "source": {
                "filename": "flash.mp4",
                "byte_size": len(data),
                "media_type": "video/mp4",
            },
        }
        assert [(each["type"], each["codec"]) for each in tracks] == [
            ("video", "h264"),
            ("audio", "aac"),
        ]
        assert (tracks[0]["width"], tracks[0]["height"]) == (320, 240)
        assert (tracks[1]["sample_rate"], tracks[1]["channels"]) == (48_000, 2)
        published = await latest(client, file["id"], "out")
        source = await client.get(published["source_url"])
        assert source.content == data
        assert published["hls_url"].startswith(f"{BASE_URL}{API}/transcode/manifest.m3u8?url=")
        assert published["dash_url"].startswith(f"{BASE_URL}{API}/transcode/manifest.mpd?url=")
        await requires_access(client, published)


async def requires_access(client: httpx.AsyncClient, published: Any) -> None:
    """What is published needs an API key, a session or a signed token."""
    without = {"Authorization": ""}
    for name in ("source_url", "hls_url", "dash_url"):
        assert (await client.get(published[name], headers=without)).status_code == 401
    url = published["source_url"]
    token = (await client.post(f"{API}/url-token", json={"url": url})).json()["token"]
    signed = await client.get(url, headers={"Authorization": f"Bearer {token}"})
    assert signed.status_code == 200


async def reaches(client: httpx.AsyncClient, run: Any, key: str, status: str) -> None:
    """Wait until a step stands so."""

    async def is_so() -> bool:
        shown = (await client.get(f"{API}/pipeline-runs/{run['id']}")).json()
        assert shown["error"] is None, shown["error"]
        return any((each["step_key"], each["status"]) == (key, status) for each in shown["steps"])

    await wait_until(is_so)


async def latest(client: httpx.AsyncClient, file_id: str, namespace: str) -> Any:
    """Return the metadata that was last written to a namespace."""
    found = (await client.get(f"{API}/files/{file_id}/metadata/{namespace}")).json()
    return found["outputs"][0]["output"]["metadata"]
