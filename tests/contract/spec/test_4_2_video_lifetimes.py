"""Clauses 3.3, 4.2: how videos end, who sees them, and when two of them share a film.

No worker runs here: renders are ended by hand.
"""

import json
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest

from framekiln.jobs.failures import Failure
from framekiln.kit.ids import RenderId
from tests.contract.conftest import TEMPLATE
from tests.support.app import BASE_URL, AppHarness, open_app
from tests.support.postgres import PostgresServer
from tests.support.videos import (
    NEW,
    VIDEOS,
    MediaServer,
    complete_video,
    create_video,
    plain_config,
    start_render,
    video_of,
)

pytestmark = pytest.mark.spec("3.3", "4.2")


@pytest.fixture(scope="module")
def film(flash_clip: Path) -> bytes:
    return flash_clip.read_bytes()


async def test_deleting_a_ready_video_deletes_its_render_and_blobs(
    app: AppHarness, film: bytes
) -> None:
    video_id = await create_video(app, plain_config(duration=4))
    await complete_video(app, video_id, film)
    render = (await video_of(app, video_id)).render
    answer = await app.client.delete(f"{VIDEOS}/{video_id}")
    assert (answer.status_code, answer.json()) == (200, {"deleted": True})
    for method in ("GET", "DELETE"):
        gone = await app.client.request(method, f"{VIDEOS}/{video_id}")
        assert (gone.status_code, gone.json()["error"]) == (404, "video_not_found")
    assert (await app.client.get(f"/api/v1/renders/{render.id}")).status_code == 404
    assert await app.services.blobs.info(render.source_key) is None


async def test_deleting_a_video_in_progress_stops_its_render(app: AppHarness) -> None:
    video_id = await create_video(app, plain_config(duration=5))
    render = (await video_of(app, video_id)).render
    await start_render(app, render)
    assert (await app.client.delete(f"{VIDEOS}/{video_id}")).status_code == 200
    assert (await app.client.get(f"{VIDEOS}/{video_id}")).status_code == 404
    info = await app.info(str(render.id))
    assert (info["status"], info["error"]["code"]) == ("failed", "cancelled")
    assert info["expires_at"] is not None
    assert await app.services.render_worker.take_slice(render, job_id=1, after=None) is None


async def test_malformed_ids_are_not_found(app: AppHarness) -> None:
    for name in ("x", "a" * 300, "abcdefghi-"):
        answer = await app.client.get(f"{VIDEOS}/{name}")
        assert (answer.status_code, answer.json()["error"]) == (404, "video_not_found")
    assert (await app.client.get(f"{VIDEOS}/abcdefghi%00")).status_code == 404


async def test_other_organizations_see_nothing(app: AppHarness, film: bytes) -> None:
    video_id = await create_video(app, plain_config(duration=7))
    await complete_video(app, video_id, film)
    stranger = await app.other_organization()
    for path in ("", "/download", "/stream", "/thumbnail", "/poster", "/frame"):
        assert (await stranger.client.get(f"{VIDEOS}/{video_id}{path}")).status_code == 404
    assert (await stranger.client.delete(f"{VIDEOS}/{video_id}")).status_code == 404
    assert (await stranger.client.get(VIDEOS)).json()["data"] == []
    assert (await app.client.get(f"{VIDEOS}/{video_id}")).status_code == 200


async def test_every_route_requires_a_key(app: AppHarness) -> None:
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app.asgi), base_url=BASE_URL
    ) as nobody:
        for method, path in (
            ("GET", VIDEOS),
            ("POST", NEW),
            ("POST", VIDEOS),
            ("GET", f"{VIDEOS}/x"),
        ):
            assert (await nobody.request(method, path)).status_code == 401


async def test_equal_configs_share_one_finished_film(app: AppHarness, film: bytes) -> None:
    config = plain_config(duration=8)
    first = await create_video(app, config)
    assert (await video_of(app, await create_video(app, config))).render.id != (
        await video_of(app, first)
    ).render.id
    await complete_video(app, first, film)
    again = await create_video(app, {**config, "metadata": {"n": 2}, "filename": "b.mp4"})
    assert again != first
    both = [await video_of(app, first), await video_of(app, again)]
    assert both[0].render.id == both[1].render.id
    body = (await app.client.get(f"{VIDEOS}/{again}")).json()
    assert (body["is_ready"], body["metadata"]) == (True, {"n": 2})
    # Each goes by itself, and the film with the last of them.
    await app.client.delete(f"{VIDEOS}/{first}")
    assert (await app.client.get(body["download_url"])).content == film
    await app.client.delete(f"{VIDEOS}/{again}")
    assert await app.services.blobs.info(both[0].render.source_key) is None


async def test_films_are_not_shared_between_organizations(app: AppHarness, film: bytes) -> None:
    config = plain_config(duration=9)
    first = await create_video(app, config)
    await complete_video(app, first, film)
    stranger = await app.other_organization()
    theirs = await create_video(stranger, config)
    assert (await stranger.client.get(f"{VIDEOS}/{theirs}")).json()["is_ready"] is False


async def test_a_film_is_shared_while_its_sources_are_kept(
    postgres: PostgresServer, tmp_path: Path, film: bytes
) -> None:
    (tmp_path / "clip.mp4").write_bytes(film)
    with MediaServer(tmp_path) as host:
        allow = frozenset({f"127.0.0.1:{host.port}"})
        async with open_app(postgres, tmp_path / "d", template=TEMPLATE, fetch_allow=allow) as app:
            layers = [{"id": "v", "type": "video", "file": host.url("/clip.mp4")}]
            config = plain_config(layers=layers)
            early = await create_video(app, config)
            organization_id = (await video_of(app, early)).record.organization_id
            asset = await app.services.ingest.get(organization_id, host.url("/clip.mp4"))
            first = await create_video(app, config)
            video = await video_of(app, first)
            await complete_video(app, first, film)
            shared = await video_of(app, await create_video(app, config))
            assert shared.render.id == video.render.id
            async with app.services.database.transaction() as connection:
                await connection.execute(
                    "UPDATE ingested_asset SET expires_at = now() WHERE id = %s", (asset.id,)
                )
            other = await video_of(app, await create_video(app, config))
            assert other.render.id != video.render.id


async def test_a_source_fetched_again_during_the_render_prevents_sharing(
    postgres: PostgresServer, tmp_path: Path, film: bytes
) -> None:
    (tmp_path / "clip.mp4").write_bytes(film)
    with MediaServer(tmp_path) as host:
        allow = frozenset({f"127.0.0.1:{host.port}"})
        async with open_app(postgres, tmp_path / "d", template=TEMPLATE, fetch_allow=allow) as app:
            layers = [{"id": "v", "type": "video", "file": host.url("/clip.mp4")}]
            config = plain_config(layers=layers)
            first = await create_video(app, config)
            video = await video_of(app, first)
            await app.services.ingest.get(video.record.organization_id, host.url("/clip.mp4"))
            await complete_video(app, first, film)
            other = await video_of(app, await create_video(app, config))
            assert other.render.id != video.render.id


async def test_configs_with_pages_are_not_shared(app: AppHarness, film: bytes) -> None:
    config = plain_config(layers=[{"id": "h", "type": "html", "html": {"page": {"body": "x"}}}])
    first = await create_video(app, config)
    await complete_video(app, first, film)
    again = await video_of(app, await create_video(app, config))
    assert again.render.id != (await video_of(app, first)).render.id


async def test_the_render_of_a_video_is_an_ordinary_render(app: AppHarness) -> None:
    video = await video_of(app, await create_video(app, plain_config(duration=11)))
    info = await app.info(str(video.render.id))
    assert info["status"] == "created"
    assert RenderId(UUID(info["id"])) == video.render.id


async def video_events(app: AppHarness) -> list[dict[str, Any]]:
    """What webhooks are video_events of videos, in order."""
    async with app.services.database.connection() as connection:
        cursor = await connection.execute(
            """
            SELECT body FROM webhook_event event JOIN webhook_delivery ON event_id = event.id
            WHERE starts_with(topic, 'video.') ORDER BY position
            """
        )
        return [json.loads(row["body"]) for row in await cursor.fetchall()]


async def test_webhooks_get_events_of_every_video(
    postgres: PostgresServer, tmp_path: Path, film: bytes
) -> None:
    allow = frozenset({"127.0.0.1"})
    async with open_app(postgres, tmp_path, template=TEMPLATE, fetch_allow=allow) as app:
        subscription = {"url": "http://127.0.0.1:9/hook", "events": ["video.*"]}
        assert (await app.client.post("/api/v1/webhooks", json=subscription)).status_code == 201
        first = await create_video(app, plain_config(metadata={"n": 1}))
        await complete_video(app, first, film)
        again = await create_video(app, plain_config(metadata={"n": 2}))
        failed = await create_video(app, plain_config(duration=2))
        render = (await video_of(app, failed)).render
        await app.services.render_worker.fail(render.id, Failure("x", "broken"))
        deleted = await create_video(app, plain_config(duration=3))
        await app.client.delete(f"{VIDEOS}/{deleted}")
        events = await video_events(app)
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
