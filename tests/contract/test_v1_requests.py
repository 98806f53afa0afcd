"""v1 routes: fields that have no effect, strange addresses, what tools report on their own."""

import asyncio
from contextlib import suppress
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from fastapi.routing import APIRoute
from structlog.testing import capture_logs

from framekiln.api import sse
from tests.support.app import BASE_URL, AppHarness
from tests.support.pipelines import enable_pipelines
from tests.support.timeouts import TIMEOUT_S
from tests.support.uploads import FILES, create

NO_FIELD = "is not a field of this request and has no effect"


def anybody(app: AppHarness) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app.asgi), base_url=BASE_URL)


async def test_answers_name_fields_without_effect(app: AppHarness) -> None:
    file = {"filename": "a", "type": "video", "byte_size": 1, "mimeType": "video/mp4"}
    answer = await app.client.post(FILES, json=file)
    assert answer.status_code == 201
    assert answer.json()["warnings"] == [f"mimeType {NO_FIELD}: did you mean mime_type?"]
    track = {"track_id": 1, "type": "video", "duration_ms": 1, "codec_name": "h264"}
    path = f"{FILES}/{answer.json()['id']}/tracks"
    answer = await app.client.post(path, json={**track, "byte_size": 1, "codec": "avc1"})
    assert (answer.status_code, answer.json()["warnings"]) == (201, [f"codec {NO_FIELD}"])
    signed = await app.client.post("/api/v1/url-token", json={"url": "/", "parms": {}})
    assert signed.json()["warnings"] == [f"parms {NO_FIELD}: did you mean params?"]
    assert signed.headers["content-length"] == str(len(signed.content))
    assert "warnings" not in await create(app)


@pytest.mark.parametrize(
    "path",
    [
        "files/md5/%00",
        "renders/md5/a%00b",
        "image_files/md5/%00",
        "unprocessed_files/md5/%00",
        "isobmff_files/md5/%00",
        "files/%00",
        "files/1/metadata/%00",
        "pipeline-runs/%00",
    ],
)
async def test_a_path_with_nul_is_404(app: AppHarness, path: str) -> None:
    answer = await app.client.get(f"/api/v1/{path}")
    assert (answer.status_code, answer.json()["error"]) == (404, "not_found")


async def test_a_query_with_nul_is_refused(app: AppHarness) -> None:
    answer = await app.client.get("/api/v1/transcode/manifest.json?url=https://a.example/%00")
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_request")
    answer = await app.client.get("/v2/videos?page=%00")
    assert (answer.status_code, answer.json()["error"]) == (422, "invalid_request")
    # Written so, it is a percent sign and two digits.
    assert (await app.client.get("/api/v1/organization?a=%2500")).status_code == 200


@pytest.mark.parametrize("path", ["/healthz", "/api/v1/organization", f"{FILES}/{UUID(int=1)}"])
async def test_head_has_the_headers_of_get_and_no_body(app: AppHarness, path: str) -> None:
    answer, head = await app.client.get(path), await app.client.head(path)
    assert (head.status_code, head.content) == (answer.status_code, b"")
    for name in ("content-type", "content-length", "cache-control"):
        assert head.headers.get(name) == answer.headers.get(name)


@pytest.mark.spec("7")
async def test_a_wrong_page_of_a_files_metadata_is_422_with_issues(app: AppHarness) -> None:
    owner = await app.other_organization()
    await enable_pipelines(owner)
    file_id = (await create(owner))["id"]
    for path in (f"{FILES}/{file_id}/metadata", f"{FILES}/{file_id}/metadata/faces"):
        answer = await owner.client.get(path, params={"limit": 0})
        assert (answer.status_code, answer.json()["error"]) == (422, "invalid_request")
        assert answer.json()["issues"] == [{"path": "limit", "code": "out_of_range"}]


LOAD = {"event_type": "load"}
RENDER = {
    **{"event_type": "render", "render_path": "cli", "duration_ms": 1000, "width": 2, "height": 2},
    **{"fps": 30, "feature_usage": {"efMediaCount": 1}, "cli_version": "1"},
}


@pytest.mark.parametrize("event", [LOAD, RENDER], ids=["load", "render"])
async def test_telemetry_is_accepted_without_a_key_and_dropped(
    app: AppHarness, event: dict[str, Any]
) -> None:
    for client in (app.client, anybody(app)):
        with capture_logs() as lines:
            answer = await client.post("/api/v1/telemetry", json=event)
        assert (answer.status_code, answer.json()) == (202, {"success": True})
        assert {line["event"] for line in lines} <= {"request"}


async def test_telemetry_is_bounded(app: AppHarness) -> None:
    path = "/api/v1/telemetry"
    large = {**LOAD, "feature_usage": "x" * (64 << 10)}
    assert (await anybody(app).post(path, json=large)).status_code == 413
    assert (await anybody(app).post(path, content=b"{")).status_code == 400


async def test_feedback_goes_to_the_log_under_its_id(app: AppHarness) -> None:
    body = {"category": "bug", "summary": "it hangs", "details": "d" * 5000, "context": {"a": 1}}
    with capture_logs() as lines:
        answer = await app.client.post("/api/v1/feedback", json=body)
    assert answer.status_code == 201
    assert set(answer.json()) == {"id", "created_at"}
    [line] = [line for line in lines if line["event"] == "feedback.received"]
    assert UUID(line["feedback_id"]) == UUID(answer.json()["id"])
    assert (line["category"], line["summary"]) == ("bug", "it hangs")
    assert len(line["details"]) == 2000


async def test_feedback_needs_a_key_and_its_fields(app: AppHarness) -> None:
    path, body = "/api/v1/feedback", {"category": "bug", "summary": "s", "details": "d"}
    assert (await anybody(app).post(path, json=body)).status_code == 401
    for missing in body:
        less = {name: value for name, value in body.items() if name != missing}
        answer = await app.client.post(path, json=less)
        assert (answer.status_code, answer.json()["field"]) == (400, missing)


async def test_issue_codes_are_ours_not_those_of_the_validator(app: AppHarness) -> None:
    body = {"filename": "a", "type": "film", "byte_size": "9", "md5": "no sum"}
    answer = await app.client.post(FILES, json=body)
    found = {issue["path"]: issue["code"] for issue in answer.json()["issues"]}
    assert found == {"type": "unknown_value", "byte_size": "type", "md5": "invalid"}


async def test_event_streams_beyond_the_limit(app: AppHarness) -> None:
    path = f"/api/v1/renders/{await app.create(html='<p>hi')}/progress"
    before = app.services
    settings = before.settings.model_copy(update={"event_streams_per_key": 1})
    app.asgi.state.services = replace(before, settings=settings)
    has_begun = asyncio.Event()
    parts = ObservedParts(has_begun)
    following = asyncio.create_task(app.get_in_parts(path, parts))
    try:
        async with asyncio.timeout(TIMEOUT_S):
            await has_begun.wait()
        refused = await app.client.get(path)
        assert refused.status_code == 429
        assert refused.headers["retry-after"] == "5"
        assert refused.text.startswith("event: error\ndata: this key has 1 open event streams")
        following.cancel()
        with suppress(asyncio.CancelledError):
            await following
        caller = await app.services.identity.authenticate(app.key)
        places = app.asgi.state.stream_places
        places.take(caller, per_key=1, per_organization=1).release()
    finally:
        following.cancel()
        app.asgi.state.services = before


async def streams_of_all_kinds(app: AppHarness) -> dict[str, str]:
    """Return an address that never ends by itself for each route that is an event stream."""
    render, file = await app.create(html="<p>hi"), (await create(app))["id"]
    layers = [{"type": "text", "text": {"text": "hi"}}]
    config = {"dimensions": {"width": 64, "height": 36}, "duration": 1, "layers": layers}
    video = await app.client.post("/v2/videos/new", json={"config": config})
    assert video.status_code in (200, 201), video.text
    transcription = uuid4()
    async with app.services.database.transaction() as connection:
        await connection.execute(
            "INSERT INTO transcription (id, organization_id, file_id, track_id, status,"
            " work_slice_ms, duration_ms, created_at) SELECT %s, organization_id, id, 1, 'created',"
            " 1000, 1000, now() FROM file WHERE id = %s",
            (transcription, file),
        )
    ids = {
        "render_id": render,
        "file_id": file,
        "video_id": str(video.json()["id"]),
        "transcription_id": str(transcription),
    }
    return {
        route.path: route.path.format(**ids)
        for route in app.asgi.routes
        if isinstance(route, APIRoute)
        and isinstance(route.response_class, type)
        and issubclass(route.response_class, sse.EventStream)
    }


async def test_every_event_stream_ends_with_its_key(
    app: AppHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sse, "HEARTBEAT_S", 0.05)
    paths = await streams_of_all_kinds(app)
    assert len(paths) >= 6
    organization = (await app.services.identity.authenticate(app.key)).organization
    issued = await app.services.identity.create_key(organization.id, "follower")
    program = AppHarness(app.services, app.asgi, key=issued.text)
    begun = {path: asyncio.Event() for path in paths}
    parts = {path: ObservedParts(begun[path]) for path in paths}
    following = [
        asyncio.create_task(program.get_in_parts(paths[path], parts[path])) for path in paths
    ]
    try:
        async with asyncio.timeout(TIMEOUT_S):
            for each in begun.values():
                await each.wait()
        await app.services.identity.revoke_key(issued.key.key_id)
        await asyncio.gather(*following)
    finally:
        for task in following:
            task.cancel()
        await program.client.aclose()
    for path, sent in parts.items():
        assert sent[-1].startswith(b"event: error"), path
        assert b"revoked" in sent[-1], path


class ObservedParts(list[bytes]):
    """Parts of a response; the first one sets an event."""

    def __init__(self, has_begun: asyncio.Event) -> None:
        super().__init__()
        self._has_begun = has_begun

    def append(self, part: bytes) -> None:
        super().append(part)
        self._has_begun.set()
