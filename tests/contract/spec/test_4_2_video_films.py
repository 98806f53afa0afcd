"""A layer config becomes a video, the whole way: real sources, real worker, decoded pictures."""

import asyncio
import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import m3u8
import pytest

from tests.support.app import AppHarness, running_worker
from tests.support.clips import Clip, make_clip
from tests.support.frame_codes import read_frame_code
from tests.support.looks import colour_at, decode_frames, decode_still, measure_file
from tests.support.sounds import beep_times
from tests.support.timeouts import TIMEOUT_S
from tests.support.uploads import upload_file, wait_processed
from tests.support.videos import VIDEOS, MediaServer, create_video, plain_config, video_of

pytestmark = pytest.mark.spec("4.2")

FPS = 25


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MediaServer]:
    folder = tmp_path_factory.mktemp("media")
    make_clip(folder / "clip.mp4", Clip(fps=Fraction(FPS), duration_s=Fraction(6)))
    with MediaServer(folder) as running:
        yield running


@pytest.fixture(scope="module")
def app_options(host: MediaServer) -> dict[str, Any]:
    return {"fetch_allow": frozenset({f"127.0.0.1:{host.port}"}), "workers": 1}


def config(host: MediaServer, **changes: Any) -> dict[str, Any]:
    """A clip with a title over its lower edge."""
    return {
        "dimensions": {"width": 320, "height": 240},
        "fps": FPS,
        "layers": [
            {"id": "clip", "type": "video", "file": host.url("/clip.mp4"), "trim": {"end": 5}},
            {
                "id": "title",
                "type": "text",
                "text": {"text": "Hello", "fontSize": 24, "backgroundColor": "#00FFFF"},
                "position": {"x": 0, "y": 190},
                "size": {"width": 320, "height": 50},
            },
        ],
        **changes,
    }


async def ended(app: AppHarness, video_id: str) -> dict[str, Any]:
    async with asyncio.timeout(TIMEOUT_S):
        while True:
            body: dict[str, Any] = (await app.client.get(f"{VIDEOS}/{video_id}")).json()
            if body["is_ready"] or body["is_failed"]:
                return body
            await asyncio.sleep(0.2)


async def test_a_video_with_a_clip_can_be_downloaded_and_streamed(
    app: AppHarness, host: MediaServer, tmp_path: Path
) -> None:
    video = await ended(app, await create_video(app, config(host, metadata={"order": 12})))
    assert video["is_ready"], video
    assert (video["duration"], video["metadata"]) == (5, {"order": 12})
    path = tmp_path / "film.mp4"
    path.write_bytes((await app.client.get(video["download_url"])).content)
    frames = await asyncio.to_thread(decode_frames, path)
    assert [read_frame_code(frame.rgb) for frame in frames] == list(range(5 * FPS))
    assert [frame.pts for frame in frames] == [Fraction(n, FPS) for n in range(5 * FPS)]
    red, green, blue = colour_at(frames[60].rgb, 310, 230)
    assert red < 40
    assert min(green, blue) > 215
    assert beep_times(path) == pytest.approx([0, 1, 2, 3, 4], abs=0.02)

    playlist = m3u8.loads((await app.client.get(f"{video['stream_url']}/picture.m3u8")).text)
    assert playlist.is_endlist
    uris = [playlist.segment_map[0].uri, *(each.uri for each in playlist.segments)]
    base = f"{video['stream_url']}/"
    streamed = b"".join([(await app.client.get(base + uri)).content for uri in uris])
    path.write_bytes(streamed)
    watched = await asyncio.to_thread(decode_frames, path)
    assert [read_frame_code(frame.rgb) for frame in watched] == list(range(5 * FPS))


async def test_a_frame_can_be_drawn_without_creating_a_video(
    app: AppHarness, host: MediaServer, tmp_path: Path
) -> None:
    before = await app.count_stored()
    sent = {"config": config(host), "t": 2.04, "format": "png"}
    answer = await app.client.post("/v2/videos/frame", json=sent)
    assert answer.status_code == 200, answer.text
    (tmp_path / "f.png").write_bytes(answer.content)
    picture = decode_still(tmp_path / "f.png")
    assert picture.shape[:2] == (240, 320)
    assert read_frame_code(picture[..., :3]) == 51
    assert (await app.count_stored())[0] == before[0], "nothing is kept"


async def test_a_frame_at_the_end_of_a_config_is_the_last_one(
    app: AppHarness, host: MediaServer, tmp_path: Path
) -> None:
    sent = {"config": {**config(host), "duration": 2}, "t": 2, "format": "png"}
    answer = await app.client.post("/v2/videos/frame", json=sent)
    assert answer.status_code == 200, answer.text
    (tmp_path / "f.png").write_bytes(answer.content)
    assert read_frame_code(decode_still(tmp_path / "f.png")[..., :3]) == 2 * FPS - 1


async def test_a_missing_source_fails_the_video_with_its_layer(
    app: AppHarness, host: MediaServer
) -> None:
    layers = [{"id": "lost", "type": "image", "file": host.url("/lost.png")}]
    video = await ended(app, await create_video(app, plain_config(layers=layers)))
    assert video["is_failed"]
    assert (video["error"]["layer"], video["error"]["path"]) == ("lost", "layers.0.file")
    assert "404" in video["error"]["message"]


async def test_a_source_may_be_uploaded_with_the_config(
    app: AppHarness, host: MediaServer, tmp_path: Path
) -> None:
    layers = [{"id": "up", "type": "video"}]
    sent = json.dumps({"fps": FPS, "layers": layers})
    clip = await asyncio.to_thread((host.folder / "clip.mp4").read_bytes)
    parts: dict[str, Any] = {"config": (None, sent), "fileup": ("c.mp4", clip)}
    answer = await app.client.post(VIDEOS, files=parts)
    assert answer.status_code == 201, answer.text
    video = await ended(app, answer.json()["id"])
    assert video["is_ready"], video
    path = tmp_path / "film.mp4"
    path.write_bytes((await app.client.get(video["download_url"])).content)
    facts = measure_file(path).video
    assert facts is not None
    assert (facts.frame_count, facts.width, facts.height) == (6 * FPS, 320, 240)


async def test_a_layer_and_a_template_may_name_an_uploaded_file(
    app: AppHarness, host: MediaServer, tmp_path: Path
) -> None:
    clip = await asyncio.to_thread((host.folder / "clip.mp4").read_bytes)
    file = await wait_processed(app, (await upload_file(app, clip, filename="clip.mp4"))["id"])
    address = f"file-id:{file['id']}"
    template = {
        "name": "Clip",
        "config": {"fps": FPS, "layers": [{"id": "v", "type": "video", "file": "{{ clip }}"}]},
        "inputs": {"clip": "required|media:video"},
        "default_values": {"clip": host.url("/clip.mp4")},
    }
    made = await app.client.post("/v2/templates", json=template)
    path = f"/v2/templates/{made.json()['data']['id']}/render"
    rendered = await app.client.post(path, json={"data": {"clip": address}})
    assert rendered.status_code == 201, rendered.text
    video = await ended(app, rendered.json()["data"]["video"]["id"])
    assert video["is_ready"], video
    (tmp_path / "film.mp4").write_bytes((await app.client.get(video["download_url"])).content)
    frames = await asyncio.to_thread(decode_frames, tmp_path / "film.mp4")
    assert [read_frame_code(frame.rgb) for frame in frames] == list(range(6 * FPS))
    layers = [{"id": "v", "type": "video", "file": address}]
    plan = await app.client.post("/v2/videos/plan", json={"config": {"layers": layers}})
    assert plan.json()["duration"] == 6
    stranger = await app.other_organization()
    answer = await stranger.client.post("/v2/videos/new", json={"config": {"layers": layers}})
    unknown = (answer.status_code, answer.json()["issues"][0])
    assert (unknown[0], unknown[1]["path"], unknown[1]["code"]) == (
        422,
        "layers.0.file",
        "file_not_found",
    )


async def test_workers_make_a_bulk_and_share_the_slices_without_the_name(
    app: AppHarness, host: MediaServer
) -> None:
    """Slices take about four seconds: the name is only in the first of two."""
    shown = config(host, duration=8)
    shown["layers"][0] = {**shown["layers"][0], "loop": True, "trim": {}}
    shown["layers"][1]["trim"] = {"end": 1}
    shown["layers"][1]["text"]["text"] = "Hello {{ name }}"
    body = {
        "name": "Bulk",
        "config": shown,
        "inputs": {"name": "required|string"},
        "default_values": {"name": "you"},
    }
    made = await app.client.post("/v2/templates", json=body)
    assert made.status_code == 201, made.text
    path = f"/v2/templates/{made.json()['data']['id']}/bulk"
    async with running_worker(app.services, queues=["io"]):
        # One after the other: rows at the same time may both make a slice.
        first = await slices_of_bulk(app, path, "Ada")
        second = await slices_of_bulk(app, path, "Grace")
    assert first == [None] * len(first)
    assert second == [None, *["slice"] * (len(first) - 1)]


async def slices_of_bulk(app: AppHarness, path: str, name: str) -> list[str | None]:
    """Make a bulk with one row; return where the slices of its film come from."""
    created = await app.client.post(path, json=[{"name": name}])
    assert created.status_code == 201, created.text
    bulk_id = created.json()["data"]["id"]
    async with asyncio.timeout(TIMEOUT_S):
        while True:
            bulk = (await app.client.get(f"/v2/bulks/{bulk_id}")).json()["data"]
            if bulk["status"] != "running":
                break
            await asyncio.sleep(0.2)
    (row,) = (await app.client.get(f"/v2/bulks/{bulk_id}/rows")).json()["data"]
    assert (bulk["status"], row["status"]) == ("complete", "ready"), row
    render = (await video_of(app, row["video_id"])).render
    slices = await app.services.renders.finished_slices(render.id)
    assert len(slices) > 1
    return [each.record.get("reused") for each in slices]


async def test_a_frame_with_a_missing_source_is_refused(app: AppHarness, host: MediaServer) -> None:
    layers = [{"id": "lost", "type": "image", "file": host.url("/lost.png")}]
    answer = await app.client.post("/v2/videos/frame", json={"config": plain_config(layers=layers)})
    assert answer.status_code == 422, answer.text
    assert answer.json()["issues"][0]["path"] == "layers.0.file"


async def test_a_frame_of_a_failed_video_is_refused_with_the_cause(
    app: AppHarness, host: MediaServer
) -> None:
    """It is drawn for the occasion, as of any video that has no film."""
    layers = [{"id": "lost", "type": "image", "file": host.url("/lost.png")}]
    video = await ended(app, await create_video(app, plain_config(layers=layers)))
    answer = await app.client.get(f"{VIDEOS}/{video['id']}/frame")
    assert answer.status_code == 422
    assert answer.json()["issues"][0]["path"] == "layers.0.file"
