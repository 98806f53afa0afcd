"""Clauses 2.3, 2.4, 4.2: videos are made of layer configs, in whatever way they are posted.

No worker runs here: a video stays as it was accepted until a test ends its render by hand.
"""

import asyncio
import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from framekiln.jobs.failures import Failure
from framekiln.renders.model import RenderStatus, SourceKind
from tests.support.app import BASE_URL, AppHarness
from tests.support.videos import (
    NEW,
    VIDEOS,
    complete_video,
    create_video,
    plain_config,
    spec_config,
    start_render,
    video_of,
)

pytestmark = pytest.mark.spec("2.3", "2.4", "4.2")


@pytest.fixture(scope="module")
def film(flash_clip: Path) -> bytes:
    return flash_clip.read_bytes()


async def post(app: AppHarness, path: str = NEW, **sent: Any) -> httpx.Response:
    return await app.client.post(path, **sent)


async def test_a_created_video_is_returned_with_its_id_and_metadata(app: AppHarness) -> None:
    before = int(datetime.now(UTC).timestamp())
    answer = await post(app, json={"config": {**spec_config(), "metadata": {"order": 7}}})
    assert answer.status_code == 201
    body = answer.json()
    assert list(body) == ["id", "timestamp", "status", "metadata"]
    assert re.fullmatch(r"[A-Za-z0-9]{10}", body["id"])
    assert before <= body["timestamp"] <= before + 60
    assert body["status"] == "processing"
    assert body["metadata"] == {"order": 7}


async def test_a_video_in_progress_has_no_media_addresses(app: AppHarness) -> None:
    video_id = await create_video(app, spec_config())
    body = (await app.client.get(f"{VIDEOS}/{video_id}")).json()
    timestamp = body.pop("timestamp")
    progress = body.pop("progress")
    assert body == {"id": video_id, "is_failed": False, "is_ready": False, "metadata": {}}
    assert progress == 0
    assert isinstance(timestamp, int)


async def test_progress_is_shown_listed_and_streamed(app: AppHarness, film: bytes) -> None:
    video_id = await create_video(app, plain_config(duration=8))
    render = (await video_of(app, video_id)).render
    await start_render(app, render)
    await app.services.render_worker.report_permille(render.id, 420)
    assert (await app.client.get(f"{VIDEOS}/{video_id}")).json()["progress"] == 0.42
    listed = (await app.client.get(VIDEOS)).json()["data"]
    assert {each["id"]: each["progress"] for each in listed}[video_id] == 0.42
    following = asyncio.create_task(app.get_in_parts(f"{VIDEOS}/{video_id}/progress"))
    await complete_video(app, video_id, film)
    answer = await following
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert b"".join(answer.parts).endswith(b"event: complete\ndata: {}\n\n")
    stranger = await app.other_organization()
    assert (await stranger.get_in_parts(f"{VIDEOS}/{video_id}/progress")).status == 404


async def test_its_render_has_the_config_in_normal_form(app: AppHarness) -> None:
    config = spec_config(fps=29.97)
    config["layers"][0]["source"] = config["layers"][0].pop("file")
    video = await video_of(app, await create_video(app, config))
    assert video.render.request.source_kind is SourceKind.LAYERS
    assert video.render.status is RenderStatus.CREATED
    assert not video.render.is_bundle
    stored = json.loads(await app.services.blobs.get(video.render.source_key))
    assert stored == video.record.config
    assert stored["layers"][0]["file"] == "https://media.example/clip.mp4"
    assert stored["shouldWatermark"] is False
    assert video.render.request.source_digest == video.record.digest
    async with app.services.database.connection() as connection:
        cursor = await connection.execute(
            "SELECT count(*) AS n FROM procrastinate_jobs WHERE args->>'render_id' = %s",
            (str(video.render.id),),
        )
        row = await cursor.fetchone()
    assert row == {"n": 1}


@pytest.mark.parametrize("path", [NEW, VIDEOS])
@pytest.mark.parametrize("as_text", [False, True])
async def test_the_config_may_be_an_object_or_json_text(
    app: AppHarness, path: str, *, as_text: bool
) -> None:
    config: Any = json.dumps(plain_config()) if as_text else plain_config()
    assert (await post(app, path, json={"config": config})).status_code == 201


@pytest.mark.parametrize("path", [NEW, VIDEOS])
async def test_a_config_may_be_posted_urlencoded(app: AppHarness, path: str) -> None:
    fields = {"config": json.dumps(plain_config()), "metadata": '{"a": "b"}'}
    answer = await post(app, path, data=fields)
    assert answer.status_code == 201
    assert answer.json()["metadata"] == {"a": "b"}


async def test_json_with_the_content_type_of_a_form_is_accepted(app: AppHarness) -> None:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = await post(app, content=json.dumps({"config": plain_config()}), headers=headers)
    assert answer.status_code == 201


async def test_multipart_as_the_published_client_sends_it(app: AppHarness) -> None:
    """Explicit nulls, an uploaded file, an address for another layer, and fields that we ignore."""
    layers: list[dict[str, Any]] = [
        {"id": "u1", "type": "image", "timeline": None, "trim": None, "position": None},
        {"id": "u2", "type": "audio"},
    ]
    parts: dict[str, Any] = {
        "config": (None, json.dumps(plain_config(layers=layers, filename=None))),
        "experimental": (None, "{}"),
        "workflowJobId": (None, "17"),
        "fileu1": ("logo.png", b"not really a picture", "image/png"),
        "urlu2": (None, "https://media.example/music.mp3"),
    }
    answer = await post(app, VIDEOS, files=parts)
    assert answer.status_code == 201, answer.text
    video = await video_of(app, answer.json()["id"])
    image, sound = video.record.config["layers"]
    assert sound["file"] == "https://media.example/music.mp3"
    kept = await app.services.ingest.get(video.record.organization_id, image["file"])
    assert await app.services.blobs.get(kept.blob_key) == b"not really a picture"
    assert kept.content_type == "image/png"
    assert (kept.expires_at - kept.created_at).total_seconds() == 24 * 3600


async def test_the_upload_of_another_video_cannot_be_used(app: AppHarness) -> None:
    layers = [{"id": "u", "type": "image"}]
    parts: dict[str, Any] = {
        "config": (None, json.dumps(plain_config(layers=layers))),
        "fileu": ("a.png", b"x"),
    }
    answer = await post(app, VIDEOS, files=parts)
    address = (await video_of(app, answer.json()["id"])).record.config["layers"][0]["file"]
    layers = [{"id": "u", "type": "image", "file": address}]
    refused = await post(app, json={"config": plain_config(layers=layers)})
    assert refused.status_code == 422
    assert refused.json()["issues"][0]["code"] == "remote_url_required"


async def test_files_are_refused_where_only_addresses_are_taken(app: AppHarness) -> None:
    parts: dict[str, Any] = {"config": (None, json.dumps(plain_config())), "filea": ("a.png", b"x")}
    answer = await post(app, NEW, files=parts)
    assert answer.status_code == 422
    assert answer.json()["issues"][0]["path"] == "filea"
    assert answer.json()["issues"][0]["code"] == "remote_url_required"


async def test_a_file_for_an_unknown_layer_is_refused(app: AppHarness) -> None:
    before = await app.count_stored()
    parts: dict[str, Any] = {"config": (None, json.dumps(plain_config())), "filea": ("a.png", b"x")}
    answer = await post(app, VIDEOS, files=parts)
    assert answer.status_code == 422
    assert answer.json()["issues"][0]["code"] == "unknown_layer"
    assert await app.count_stored() == before


async def test_metadata_beside_the_config_overrides_that_in_it(app: AppHarness) -> None:
    config = plain_config(metadata={"in": "config"})
    video_id = await create_video(app, config, metadata={"beside": [1, None, {"x": "ü"}]})
    body = (await app.client.get(f"{VIDEOS}/{video_id}")).json()
    assert body["metadata"] == {"beside": [1, None, {"x": "ü"}]}


@pytest.mark.parametrize("path", ["/v2/videos", "/v2/templates"])
async def test_lists_refuse_unknown_query_parameters(app: AppHarness, path: str) -> None:
    assert (await app.client.get(path, params={"page": 1, "per_page": 5})).status_code == 200
    answer = await app.client.get(path, params={"perpage": 5})
    assert answer.status_code == 422
    [issue] = answer.json()["issues"]
    assert (issue["path"], issue["code"]) == ("perpage", "unknown_field")
    assert answer.json()["message"] == "perpage: is not known here: check its name"


async def test_unknown_fields_become_warnings(app: AppHarness) -> None:
    body = {"medatata": {"order": 42}, "config": plain_config(backgroundColour="#fff")}
    answer = await post(app, json=body)
    warnings = answer.json()["warnings"]
    assert [(each["path"], each["code"], each["hint"]) for each in warnings] == [
        ("medatata", "unknown_field", "did you mean metadata?"),
        ("backgroundColour", "unknown_field", "did you mean backgroundColor?"),
    ]
    shown = (await app.client.get(f"{VIDEOS}/{answer.json()['id']}")).json()
    assert shown["warnings"] == warnings
    planned = await app.client.post(f"{VIDEOS}/plan", json=body)
    assert planned.json()["warnings"] == warnings


WRONG: dict[str, tuple[Any, str, str]] = {
    "no config": ({}, "config", "required"),
    "no JSON": ({"config": "{"}, "config", "type"),
    "not a number": ({"config": '{"duration": NaN}'}, "config", "type"),
    "a list": ({"config": []}, "", "type"),
    "no length": (
        {"config": {"dimensions": {"width": 2, "height": 2}}},
        "duration",
        "duration_required",
    ),
    "no size": ({"config": {"duration": 1}}, "dimensions", "required"),
    "huge numbers": ({"config": plain_config(duration=1e308)}, "duration", "out_of_range"),
    "hours": ({"config": plain_config(duration=7200)}, "duration", "out_of_range"),
    "a text for a number": ({"config": plain_config(duration="1")}, "duration", "type"),
    "a local file": (
        {"config": plain_config(layers=[{"type": "image", "file": "/etc/passwd"}])},
        "layers.0.file",
        "not_url",
    ),
    "another scheme": (
        {"config": plain_config(layers=[{"type": "image", "file": "file:///etc/passwd"}])},
        "layers.0.file",
        "remote_url_required",
    ),
    "one of ours": (
        {"config": plain_config(layers=[{"type": "image", "file": "upload:x"}])},
        "layers.0.file",
        "remote_url_required",
    ),
    "501 layers": (
        {"config": plain_config(layers=[{"type": "shape", "shape": {"kind": "rect"}}] * 501)},
        "layers",
        "out_of_range",
    ),
    "an unknown layer": (
        {"config": plain_config(layers=[{"type": "vidoe", "file": "https://a.example/b"}])},
        "layers.0.type",
        "unknown_layer_type",
    ),
    "a trim that ends before it begins": (
        {
            "config": plain_config(
                layers=[
                    {
                        "type": "video",
                        "file": "https://a.example/b",
                        "trim": {"start": 3, "end": 2},
                    }
                ]
            )
        },
        "layers.0.trim.end",
        "trim_order",
    ),
    "an output nobody makes": (
        {"config": plain_config(extension="avi")},
        "extension",
        "unknown_value",
    ),
    "metadata that is no object": ({"config": plain_config(), "metadata": [1]}, "metadata", "type"),
}


@pytest.mark.parametrize("case", WRONG)
async def test_invalid_configs_are_refused_with_the_path(app: AppHarness, case: str) -> None:
    sent, path, code = WRONG[case]
    before = await app.count_stored()
    # As text: the client's own encoder takes neither 1e308 nor NaN amiss.
    answer = await post(app, content=json.dumps(sent))
    assert answer.status_code == 422, answer.text
    body = answer.json()
    assert set(body) == {"error", "message", "errors", "issues"}
    assert body["error"] == "invalid_request"
    assert (body["issues"][0]["path"], body["issues"][0]["code"]) == (path, code)
    assert body["errors"][path]
    assert await app.count_stored() == before


async def test_a_negative_trim_begins_at_the_start(app: AppHarness) -> None:
    layers = [{"id": "v", "type": "video", "file": "https://a.example/b", "trim": {"start": -2}}]
    video = await video_of(app, await create_video(app, plain_config(layers=layers)))
    assert video.record.config["layers"][0]["trim"]["start"] == 0


@pytest.mark.parametrize("body", [b"[]", b'"text"', b"7"])
async def test_a_body_that_is_not_an_object_is_refused(app: AppHarness, body: bytes) -> None:
    assert (await post(app, content=body)).status_code == 422


async def test_a_body_that_is_not_json_is_refused(app: AppHarness) -> None:
    answer = await post(app, content=b"{")
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_json")


@pytest.mark.parametrize(
    "header", ["multipart/form-data", "multipart/form-data; boundary=x", "multipart/form-data; a=b"]
)
async def test_malformed_multipart_is_refused(app: AppHarness, header: str) -> None:
    answer = await post(app, VIDEOS, content=b"{}", headers={"Content-Type": header})
    assert answer.status_code == 422


async def test_a_video_made_without_confinement_lists_what_was_missing(
    app: AppHarness, film: bytes
) -> None:
    missing = ["pages: namespaces and seccomp, which bubblewrap applies"]
    video_id = await create_video(app, plain_config())
    record = {"warnings": [], "missing_confinement": missing}
    await complete_video(app, video_id, film, record=record)
    body = (await app.client.get(f"{VIDEOS}/{video_id}")).json()
    assert body["missing_confinement"] == missing
    render = (await video_of(app, video_id)).render
    body = (await app.client.get(f"/api/v1/renders/{render.id}")).json()
    assert body["missing_confinement"] == missing


async def test_a_ready_video_can_be_downloaded_whole_and_in_ranges(
    app: AppHarness, film: bytes
) -> None:
    video_id = await create_video(app, spec_config(duration=6, filename="Mein Film.mp4"))
    await complete_video(app, video_id, film)
    body = (await app.client.get(f"{VIDEOS}/{video_id}")).json()
    assert body.pop("timestamp") > 0
    address = f"{BASE_URL}/v2/videos/{video_id}"
    assert body == {
        "id": video_id,
        "is_failed": False,
        "is_ready": True,
        "metadata": {},
        "progress": 1.0,
        "download_url": f"{address}/download",
        "stream_url": f"{address}/stream",
        "thumbnail_url": f"{address}/thumbnail",
        "poster_url": f"{address}/poster",
        "duration": 2.0,
    }
    answer = await app.client.get(body["download_url"])
    assert answer.content == film
    assert answer.headers["content-type"] == "video/mp4"
    assert 'filename="Mein Film.mp4"' in answer.headers["content-disposition"]
    part = await app.client.get(body["download_url"], headers={"Range": "bytes=4-7"})
    assert (part.status_code, part.content) == (206, film[4:8])
    head = await app.client.head(body["download_url"])
    assert head.headers["content-length"] == str(len(film))


async def test_media_of_an_unfinished_video_is_a_conflict(app: AppHarness) -> None:
    video_id = await create_video(app, plain_config(duration=2))
    streams = ("stream", "stream/picture.m3u8", "stream/sound/0.m4s")
    for name in ("download", "thumbnail", "poster", *streams):
        answer = await app.client.get(f"{VIDEOS}/{video_id}/{name}")
        assert (answer.status_code, answer.json()["error"]) == (409, "video_not_ready"), name


async def test_a_failure_names_layer_and_path(app: AppHarness) -> None:
    layers = [
        {
            "id": "g",
            "type": "group",
            "layers": [{"id": "inner", "type": "image", "file": "https://a.example/b"}],
        }
    ]
    video_id = await create_video(app, plain_config(layers=layers))
    render = (await video_of(app, video_id)).render
    message = "layers.0.layers.0.file: layer inner: a.example answered with status 404."
    await app.services.render_worker.fail(render.id, Failure("invalid_request", message))
    body = (await app.client.get(f"{VIDEOS}/{video_id}")).json()
    assert (body["is_failed"], body["is_ready"]) == (True, False)
    assert body["error"] == {
        "code": "invalid_request",
        "message": message,
        "layer": "inner",
        "path": "layers.0.layers.0.file",
    }
    assert "download_url" not in body
    refused = await app.client.get(f"{VIDEOS}/{video_id}/download")
    assert refused.status_code == 409
    assert message in refused.json()["message"]


async def test_a_failure_without_a_layer_has_no_path(app: AppHarness) -> None:
    video_id = await create_video(app, plain_config(duration=3))
    render = (await video_of(app, video_id)).render
    await app.services.render_worker.fail(render.id, Failure("x", "layers of dust: broken"))
    body = (await app.client.get(f"{VIDEOS}/{video_id}")).json()
    assert body["error"] == {"code": "x", "message": "layers of dust: broken"}


async def test_the_time_of_a_still_becomes_the_instant_of_its_render(app: AppHarness) -> None:
    video = await video_of(app, await create_video(app, plain_config(extension="jpg", time=0.5)))
    assert video.render.request.duration_ms == 500
    assert not video.is_film
    assert video.filename == f"{video.id}.jpg"


async def test_the_fields_of_a_form_share_a_size_limit(app: AppHarness) -> None:
    parts = {f"f{n}": (None, "x" * (12 << 20)) for n in range(3)}
    answer = await post(app, VIDEOS, files=parts)
    assert (answer.status_code, answer.json()["error"]) == (413, "too_large")


async def test_files_that_are_unknown_or_not_ready_are_refused_by_layer(app: AppHarness) -> None:
    new = {"filename": "a.mp4", "type": "video", "byte_size": 100}
    created = await app.client.post("/api/v1/files", json=new)
    assert created.status_code in (200, 201), created.text
    addresses = {
        f"file-id:{created.json()['id']}": "file_not_ready",
        "file-id:6f9619ff-8b86-4d01-b42d-00cf4fc964ff": "file_not_found",
        "file-id:nonsense": "not_url",
    }
    for address, code in addresses.items():
        for field in ("file", "fallbackFile"):
            layer = {"id": "v", "type": "video", "file": "https://media.example/a.mp4"}
            config = plain_config(layers=[{**layer, field: address}])
            answer = await post(app, json={"config": config})
            assert answer.status_code == 422, address
            (issue,) = answer.json()["issues"]
            assert (issue["path"], issue["code"]) == (f"layers.0.{field}", code)
