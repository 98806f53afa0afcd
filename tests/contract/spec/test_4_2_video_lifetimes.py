"""Clauses 3.3, 4.2: how videos end, who sees them, and when two of them share a film.

No worker runs here: renders are ended by hand.
"""

import json
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest

from framekiln.jobs.ending import Failure
from framekiln.kit.ids import RenderId
from tests.contract.conftest import TEMPLATE
from tests.support.app import BASE_URL, Kiln, open_kiln
from tests.support.postgres import PostgresServer
from tests.support.videos import (
    NEW,
    VIDEOS,
    MediaHost,
    complete,
    made,
    plain_config,
    start,
    video_of,
)

pytestmark = pytest.mark.spec("3.3", "4.2")


@pytest.fixture(scope="module")
def film(flash_clip: Path) -> bytes:
    return flash_clip.read_bytes()


async def test_deleting_a_ready_video(kiln: Kiln, film: bytes) -> None:
    video_id = await made(kiln, plain_config(duration=4))
    await complete(kiln, video_id, film)
    render = (await video_of(kiln, video_id)).render
    answer = await kiln.client.delete(f"{VIDEOS}/{video_id}")
    assert (answer.status_code, answer.json()) == (200, {"deleted": True})
    for method in ("GET", "DELETE"):
        gone = await kiln.client.request(method, f"{VIDEOS}/{video_id}")
        assert (gone.status_code, gone.json()["error"]) == (404, "video_not_found")
    assert (await kiln.client.get(f"/api/v1/renders/{render.id}")).status_code == 404
    assert await kiln.services.blobs.info(render.source_key) is None


async def test_deleting_a_video_that_is_being_made_stops_it(kiln: Kiln) -> None:
    video_id = await made(kiln, plain_config(duration=5))
    render = (await video_of(kiln, video_id)).render
    await start(kiln, render)
    assert (await kiln.client.delete(f"{VIDEOS}/{video_id}")).status_code == 200
    assert (await kiln.client.get(f"{VIDEOS}/{video_id}")).status_code == 404
    info = await kiln.info(str(render.id))
    assert (info["status"], info["error"]["code"]) == ("failed", "cancelled")
    assert info["expires_at"] is not None
    assert await kiln.services.render_work.take_slice(render, job_id=1, after=None) is None


async def test_ids_that_are_none(kiln: Kiln) -> None:
    for name in ("x", "a" * 300, "abcdefghi-"):
        answer = await kiln.client.get(f"{VIDEOS}/{name}")
        assert (answer.status_code, answer.json()["error"]) == (404, "video_not_found")
    assert (await kiln.client.get(f"{VIDEOS}/abcdefghi%00")).status_code == 404


async def test_other_organizations_see_nothing(kiln: Kiln, film: bytes) -> None:
    video_id = await made(kiln, plain_config(duration=7))
    await complete(kiln, video_id, film)
    stranger = await kiln.stranger()
    for path in ("", "/download", "/stream", "/thumbnail", "/frame"):
        assert (await stranger.client.get(f"{VIDEOS}/{video_id}{path}")).status_code == 404
    assert (await stranger.client.delete(f"{VIDEOS}/{video_id}")).status_code == 404
    assert (await stranger.client.get(VIDEOS)).json()["data"] == []
    assert (await kiln.client.get(f"{VIDEOS}/{video_id}")).status_code == 200


async def test_without_a_key(kiln: Kiln) -> None:
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(kiln.app), base_url=BASE_URL
    ) as nobody:
        for method, path in (
            ("GET", VIDEOS),
            ("POST", NEW),
            ("POST", VIDEOS),
            ("GET", f"{VIDEOS}/x"),
        ):
            assert (await nobody.request(method, path)).status_code == 401


async def test_the_same_words_again_are_not_made_again(kiln: Kiln, film: bytes) -> None:
    config = plain_config(duration=8)
    first = await made(kiln, config)
    assert (await video_of(kiln, await made(kiln, config))).render.id != (
        await video_of(kiln, first)
    ).render.id
    await complete(kiln, first, film)
    again = await made(kiln, {**config, "metadata": {"n": 2}, "filename": "b.mp4"})
    assert again != first
    both = [await video_of(kiln, first), await video_of(kiln, again)]
    assert both[0].render.id == both[1].render.id
    body = (await kiln.client.get(f"{VIDEOS}/{again}")).json()
    assert (body["is_ready"], body["metadata"]) == (True, {"n": 2})
    # Each goes by itself, and the film with the last of them.
    await kiln.client.delete(f"{VIDEOS}/{first}")
    assert (await kiln.client.get(body["download_url"])).content == film
    await kiln.client.delete(f"{VIDEOS}/{again}")
    assert await kiln.services.blobs.info(both[0].render.source_key) is None


async def test_another_organization_never_gets_a_film_of_ours(kiln: Kiln, film: bytes) -> None:
    config = plain_config(duration=9)
    first = await made(kiln, config)
    await complete(kiln, first, film)
    stranger = await kiln.stranger()
    theirs = await made(stranger, config)
    assert (await stranger.client.get(f"{VIDEOS}/{theirs}")).json()["is_ready"] is False


async def test_a_film_is_shared_while_its_sources_are_kept(
    postgres: PostgresServer, tmp_path: Path, film: bytes
) -> None:
    (tmp_path / "clip.mp4").write_bytes(film)
    with MediaHost(tmp_path) as host:
        allow = frozenset({f"127.0.0.1:{host.port}"})
        async with open_kiln(
            postgres, tmp_path / "d", template=TEMPLATE, fetch_allow=allow
        ) as kiln:
            layers = [{"id": "v", "type": "video", "file": host.url("/clip.mp4")}]
            config = plain_config(layers=layers)
            early = await made(kiln, config)
            organization_id = (await video_of(kiln, early)).record.organization_id
            asset = await kiln.services.ingest.get(organization_id, host.url("/clip.mp4"))
            first = await made(kiln, config)
            video = await video_of(kiln, first)
            await complete(kiln, first, film)
            shared = await video_of(kiln, await made(kiln, config))
            assert shared.render.id == video.render.id
            async with kiln.services.database.transaction() as connection:
                await connection.execute(
                    "UPDATE ingested_asset SET expires_at = now() WHERE id = %s", (asset.id,)
                )
            other = await video_of(kiln, await made(kiln, config))
            assert other.render.id != video.render.id


async def test_a_source_fetched_while_a_film_was_made_is_not_taken_for_the_same(
    postgres: PostgresServer, tmp_path: Path, film: bytes
) -> None:
    (tmp_path / "clip.mp4").write_bytes(film)
    with MediaHost(tmp_path) as host:
        allow = frozenset({f"127.0.0.1:{host.port}"})
        async with open_kiln(
            postgres, tmp_path / "d", template=TEMPLATE, fetch_allow=allow
        ) as kiln:
            layers = [{"id": "v", "type": "video", "file": host.url("/clip.mp4")}]
            config = plain_config(layers=layers)
            first = await made(kiln, config)
            video = await video_of(kiln, first)
            await kiln.services.ingest.get(video.record.organization_id, host.url("/clip.mp4"))
            await complete(kiln, first, film)
            other = await video_of(kiln, await made(kiln, config))
            assert other.render.id != video.render.id


async def test_a_page_is_drawn_anew_each_time(kiln: Kiln, film: bytes) -> None:
    config = plain_config(layers=[{"id": "h", "type": "html", "html": {"page": {"body": "x"}}}])
    first = await made(kiln, config)
    await complete(kiln, first, film)
    again = await video_of(kiln, await made(kiln, config))
    assert again.render.id != (await video_of(kiln, first)).render.id


async def test_the_render_of_a_video_is_an_ordinary_one(kiln: Kiln) -> None:
    video = await video_of(kiln, await made(kiln, plain_config(duration=11)))
    info = await kiln.info(str(video.render.id))
    assert info["status"] == "created"
    assert RenderId(UUID(info["id"])) == video.render.id


async def told(kiln: Kiln) -> list[dict[str, Any]]:
    """What webhooks are told of videos, in order."""
    async with kiln.services.database.connection() as connection:
        cursor = await connection.execute(
            """
            SELECT body FROM webhook_event event JOIN webhook_delivery ON event_id = event.id
            WHERE starts_with(topic, 'video.') ORDER BY position
            """
        )
        return [json.loads(row["body"]) for row in await cursor.fetchall()]


async def test_webhooks_hear_of_every_video(
    postgres: PostgresServer, tmp_path: Path, film: bytes
) -> None:
    allow = frozenset({"127.0.0.1"})
    async with open_kiln(postgres, tmp_path, template=TEMPLATE, fetch_allow=allow) as kiln:
        subscription = {"url": "http://127.0.0.1:9/hook", "events": ["video.*"]}
        assert (await kiln.client.post("/api/v1/webhooks", json=subscription)).status_code == 201
        first = await made(kiln, plain_config(metadata={"n": 1}))
        await complete(kiln, first, film)
        again = await made(kiln, plain_config(metadata={"n": 2}))
        failed = await made(kiln, plain_config(duration=2))
        render = (await video_of(kiln, failed)).render
        await kiln.services.render_work.fail(render.id, Failure("x", "broken"))
        deleted = await made(kiln, plain_config(duration=3))
        await kiln.client.delete(f"{VIDEOS}/{deleted}")
        events = await told(kiln)
    assert [(each["topic"], each["data"]["id"]) for each in events] == [
        ("video.created", first),
        ("video.encoded", first),
        ("video.created", again),
        ("video.encoded", again),
        ("video.created", failed),
        ("video.failed", failed),
        ("video.created", deleted),
    ]
    address = f"{BASE_URL}/v2/videos/{again}"
    ready = events[3]["data"]
    assert isinstance(ready.pop("timestamp"), int)
    assert ready == {
        "id": again,
        "is_ready": True,
        "is_failed": False,
        "metadata": {"n": 2},
        "download_url": f"{address}/download",
        "stream_url": f"{address}/stream",
        "thumbnail_url": f"{address}/thumbnail",
        "error": None,
    }
    assert events[5]["data"]["is_failed"] is True
