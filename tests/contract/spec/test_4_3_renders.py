"""Clause 4.3, renders: created, followed and fetched over HTTP, made by a real worker.

`app` has a worker; `idle_app` has none, so what is created there stays as it is.
"""

import asyncio
import json
import re
from datetime import datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest

from framekiln.api.v1.renders import MAX_BODY_BYTES, MAX_HTML_BYTES
from framekiln.renders.model import RenderStatus
from tests.support.app import BASE_URL, AppHarness
from tests.support.frame_codes import PageDriver, frame_code_page, read_frame_code
from tests.support.looks import decode_frames, measure_file

pytestmark = pytest.mark.spec("4.3")

RENDERS = "/api/v1/renders"
SMALL = {"width": 320, "height": 180, "fps": 10, "duration_ms": 500}
NOBODY = f"{RENDERS}/{uuid4()}"


@pytest.fixture(scope="module")
def app_options() -> dict[str, Any]:
    return {"workers": 1}


@pytest.fixture(scope="module")
async def finished(app: AppHarness) -> dict[str, Any]:
    """A render that went well."""
    return await app.render("<p>done", **SMALL)


def moving_page(seconds: int) -> str:
    return frame_code_page(PageDriver.RAF_DOM, Fraction(30), frame_count=30 * seconds)


# --- create and look at -------------------------------------------------------------------------


@pytest.mark.spec("2.5", "3.1")
async def test_a_new_render_is_created(idle_app: AppHarness) -> None:
    body = {"html": "<p>hi", "metadata": {"who": "Zoë"}, **SMALL}
    answer = await idle_app.client.post(RENDERS, json=body)
    assert answer.status_code == 201
    created = answer.json()
    assert UUID(created.pop("id"))
    assert created == {
        "md5": None,
        "status": "created",
        "metadata": {"who": "Zoë"},
        "expires_at": None,
        "warnings": [],
    }


@pytest.mark.spec("2.5")
async def test_info_has_the_requested_options_before_the_render(idle_app: AppHarness) -> None:
    created = (await idle_app.client.post(RENDERS, json={"html": "<p>hi", **SMALL})).json()
    info = (await idle_app.client.get(f"{RENDERS}/{created['id']}")).json()
    assert datetime.fromisoformat(info.pop("created_at")).utcoffset() == timedelta(0)
    assert info == created | SMALL | {
        "byte_size": None,
        "completed_at": None,
        "failed_at": None,
        "download_url": None,
        "error": None,
        "source": "html",
        "warning_codes": [],
        "missing_confinement": [],
        "destinations": [],
    }
    nothing_asked = (await idle_app.client.post(RENDERS, json={"html": "<p>hi"})).json()
    info = (await idle_app.client.get(f"{RENDERS}/{nothing_asked['id']}")).json()
    assert all(info[name] is None for name in SMALL)


@pytest.mark.spec("2.5")
async def test_a_render_becomes_a_film(app: AppHarness, tmp_path: Path) -> None:
    html = moving_page(1)
    asked = {"width": 640, "height": 360, "fps": 30, "duration_ms": 1000}
    info = await app.render(html, metadata={"a": "b"}, **asked)
    times = [datetime.fromisoformat(info[name]) for name in ("created_at", "completed_at")]
    assert times == sorted(times)
    assert {name: info[name] for name in asked} == asked
    assert (info["status"], info["error"], info["failed_at"]) == ("complete", None, None)
    assert (info["metadata"], info["warnings"]) == ({"a": "b"}, [])
    assert info["download_url"] == f"{BASE_URL}{RENDERS}/{info['id']}.mp4"
    film = (await app.client.get(info["download_url"])).content
    assert len(film) == info["byte_size"]
    path = tmp_path / "film.mp4"
    path.write_bytes(film)
    assert [read_frame_code(frame.rgb) for frame in decode_frames(path)] == list(range(30))


@pytest.mark.spec("2.5")
async def test_missing_options_come_from_the_composition(app: AppHarness, tmp_path: Path) -> None:
    html = (
        "<!doctype html><html data-width=322 data-height=182 data-fps=29.97 data-duration-ms=300>"
    )
    info = await app.render(html)
    assert (info["width"], info["height"], info["duration_ms"]) == (322, 182, 300)
    assert info["fps"] == 30000 / 1001
    path = tmp_path / "film.mp4"
    path.write_bytes((await app.client.get(f"{RENDERS}/{info['id']}.mp4")).content)
    video = measure_file(path).video
    assert video is not None
    assert (video.width, video.height, video.fps) == (322, 182, Fraction(30000, 1001))


async def test_fields_that_clients_add_are_accepted(idle_app: AppHarness) -> None:
    output = {"container": "mp4", "video": {"codec": "h264"}, "audio": {"codec": "aac"}}
    md5 = "0123abcd-0123-abcd-0123-abcd0123abcd"
    extra = {"strategy": "v1", "work_slice_ms": 4000, "backend": "cpu", "md5": md5}
    answer = await idle_app.client.post(RENDERS, json={"html": "<p>hi", "output": output, **extra})
    assert answer.status_code == 201
    assert (answer.json()["md5"], answer.json()["warnings"]) == (md5, [])
    assert (await idle_app.client.get(f"{RENDERS}/{answer.json()['id']}")).json()["md5"] == md5


async def test_fields_without_effect_are_warnings_of_the_render(idle_app: AppHarness) -> None:
    body = {"html": "<p>", "durationMs": 300, "output": {"qualty": 5}, "x": {}, "strategy": "v1"}
    answer = await idle_app.client.post(RENDERS, json=body)
    no_field = "is not a field of this request and has no effect"
    expected = [
        f"durationMs {no_field}: did you mean duration_ms?",
        f"output.qualty {no_field}: did you mean quality?",
        f"x {no_field}",
    ]
    assert (answer.status_code, answer.json()["warnings"]) == (201, expected)
    info = await idle_app.info(answer.json()["id"])
    assert info["warnings"] == expected
    assert info["warning_codes"] == ["unknown_field"] * 3


@pytest.mark.parametrize(
    "label", [None, "text/plain", "application/octet-stream", "multipart/form-data", "nonsense"]
)
async def test_any_content_type_is_accepted(idle_app: AppHarness, label: str | None) -> None:
    request = idle_app.client.build_request("POST", RENDERS, content=b'{"html": "<p>hi"}')
    request.headers.pop("content-type", None)
    if label:
        request.headers["content-type"] = label
    assert (await idle_app.client.send(request)).status_code == 201


async def test_numbers_may_have_any_json_notation(idle_app: AppHarness) -> None:
    content = b'{"html": "x", "width": 320.0, "height": 1.8e2, "fps": 29.97, "duration_ms": 5e2}'
    created = (await idle_app.client.post(RENDERS, content=content)).json()
    info = (await idle_app.client.get(f"{RENDERS}/{created['id']}")).json()
    assert (info["width"], info["height"], info["duration_ms"]) == (320, 180, 500)
    assert info["fps"] == 30000 / 1001


# --- refused ------------------------------------------------------------------------------------

WRONG: list[tuple[dict[str, Any], str]] = [
    ({"html": ""}, "html"),
    ({"html": 5}, "html"),
    ({"html": ["<p>"]}, "html"),
    ({"fps": 0}, "fps"),
    ({"fps": 0.99}, "fps"),
    ({"fps": 121}, "fps"),
    ({"fps": -30}, "fps"),
    ({"fps": "30"}, "fps"),
    ({"fps": True}, "fps"),
    ({"width": 0}, "width"),
    ({"width": 321}, "width"),
    ({"width": -320}, "width"),
    ({"width": 320.5}, "width"),
    ({"width": "320"}, "width"),
    ({"width": 10**30}, "width"),
    ({"height": 181}, "height"),
    ({"height": 8194}, "height"),
    ({"height": []}, "height"),
    ({"duration_ms": 0}, "duration_ms"),
    ({"duration_ms": -1}, "duration_ms"),
    ({"duration_ms": 1.5}, "duration_ms"),
    ({"duration_ms": 10**12}, "duration_ms"),
    ({"metadata": []}, "metadata"),
    ({"metadata": {"a": 1}}, "metadata.a"),
    ({"metadata": {"a": {"b": "c"}}}, "metadata.a"),
    ({"output": "mp4"}, "output"),
    ({"output": {"container": "avi"}}, "output.container"),
    ({"output": {"video": {"codec": "vp9"}}}, "output.video.codec"),
    ({"output": {"audio": {"codec": "mp3"}}}, "output.audio.codec"),
    ({"md5": 5}, "md5"),
]


@pytest.mark.spec("7", "8")
@pytest.mark.parametrize(("change", "field"), WRONG, ids=str)
async def test_a_wrong_field_is_named(
    idle_app: AppHarness, change: dict[str, Any], field: str
) -> None:
    before = await idle_app.count_stored()
    answer = await idle_app.client.post(RENDERS, json={"html": "<p>hi", **change})
    assert answer.status_code == 400
    assert answer.json()["error"] == "invalid_request"
    assert answer.json()["field"] == field
    assert answer.json()["message"].startswith(field)
    assert await idle_app.count_stored() == before


@pytest.mark.spec("7")
@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b"hello",
        b'{"html": "x",}',
        b'{"html": NaN}',
        b"{'html': 'x'}",
        b"\xff\xfe",
        b'{"html": "\\ud800"}',
        b'{"html": "a\\u0000b"}',
        b'{"html": "x", "fps": 1e999}',
        b"[" * 100_000,
    ],
    ids=range(10),
)
async def test_a_body_must_be_json(idle_app: AppHarness, content: bytes) -> None:
    before = await idle_app.count_stored()
    answer = await idle_app.client.post(RENDERS, content=content)
    assert answer.status_code == 400
    assert answer.json()["error"] == "invalid_json"
    assert await idle_app.count_stored() == before


@pytest.mark.spec("7")
@pytest.mark.parametrize("content", [b"[]", b'"html"', b"5", b"null"])
async def test_a_body_must_be_an_object(idle_app: AppHarness, content: bytes) -> None:
    answer = await idle_app.client.post(RENDERS, content=content)
    assert answer.status_code == 400
    assert answer.json()["error"] == "invalid_request"


async def test_a_render_without_html_waits_for_its_bundle(idle_app: AppHarness) -> None:
    for content in (b"{}", b"", b'{"fps": 30}', b'{"html": null}'):
        renders, blobs = await idle_app.count_stored()
        answer = await idle_app.client.post(RENDERS, content=content)
        assert (answer.status_code, answer.json()["status"]) == (201, "created")
        assert await idle_app.count_stored() == (renders + 1, blobs)


@pytest.mark.spec("7", "8")
async def test_a_composition_that_is_too_large_is_not_stored(idle_app: AppHarness) -> None:
    before = await idle_app.count_stored()
    answer = await idle_app.client.post(RENDERS, json={"html": "é" * (MAX_HTML_BYTES // 2 + 1)})
    assert answer.status_code == 413
    body = answer.json()
    assert (body["error"], body["field"]) == ("too_large", "html")
    assert body["limit_bytes"] == MAX_HTML_BYTES
    announced = {"Content-Length": str(MAX_BODY_BYTES + 1)}
    answer = await idle_app.client.post(RENDERS, content=b"{}", headers=announced)
    assert answer.status_code == 413
    assert answer.json()["limit_bytes"] == MAX_BODY_BYTES
    assert await idle_app.count_stored() == before


async def test_the_largest_composition_is_accepted(idle_app: AppHarness) -> None:
    renders, blobs = await idle_app.count_stored()
    answer = await idle_app.client.post(RENDERS, json={"html": "x" * MAX_HTML_BYTES})
    assert answer.status_code == 201
    assert await idle_app.count_stored() == (renders + 1, blobs + 1)


@pytest.mark.spec("5")
async def test_every_route_requires_a_key(idle_app: AppHarness) -> None:
    transport = httpx.ASGITransport(idle_app.asgi)
    async with httpx.AsyncClient(transport=transport, base_url=BASE_URL) as nobody:
        answers = [await nobody.post(RENDERS, json={"html": "x"})]
        answers += [await nobody.get(NOBODY + end) for end in ("", "/progress", ".mp4", "/mp4")]
    assert [answer.status_code for answer in answers] == [401] * 5


@pytest.mark.spec("7")
async def test_renders_of_others_are_404(app: AppHarness, finished: dict[str, Any]) -> None:
    stranger = await app.other_organization()
    for end in ("", ".mp4", "/mp4"):
        answer = await stranger.client.get(f"{RENDERS}/{finished['id']}{end}")
        assert answer.status_code == 404
        assert answer.json()["error"] == "render_not_found"
    progress = await stranger.get_in_parts(f"{RENDERS}/{finished['id']}/progress")
    assert progress.status == 404


@pytest.mark.spec("7")
@pytest.mark.parametrize(
    "name", ["00000000-0000-4000-8000-000000000000", "1", "not-a-uuid", "%F0%9F%98%80", "x" * 3000]
)
async def test_unknown_and_malformed_render_ids_are_404(idle_app: AppHarness, name: str) -> None:
    for end in ("", ".mp4", "/mp4"):
        answer = await idle_app.client.get(f"{RENDERS}/{name}{end}")
        assert answer.status_code == 404
        assert answer.json()["error"] == "render_not_found"
        assert len(answer.content) < 1000


# --- progress -----------------------------------------------------------------------------------


def events_in(part: bytes) -> list[tuple[str, str]]:
    """Return name and data of each event; every byte of a write must belong to one."""
    text = part.decode("ascii")
    assert re.fullmatch(r"(?:event: [a-z]+\ndata: [^\n]*\n\n)+", text)
    return re.findall(r"event: ([a-z]+)\ndata: ([^\n]*)\n\n", text)


@pytest.mark.spec("6")
async def test_progress_events_have_counts_and_fractions(app: AppHarness) -> None:
    body = {"html": moving_page(12), "width": 640, "height": 360, "fps": 30, "duration_ms": 12_000}
    created = (await app.client.post(RENDERS, json=body)).json()
    answer = await app.get_in_parts(f"{RENDERS}/{created['id']}/progress")
    assert answer.status == 200
    assert answer.headers["content-type"].startswith("text/event-stream")
    reports = [events_in(part) for part in answer.parts]
    assert reports[0] == [("size", '{"size":1000}')]
    assert reports[-1] == [("progress", '{"progress":1.0}'), ("complete", "{}")]
    steps = [step for step in reports[1:-1] if step[0][0] != "heartbeat"]
    assert len(steps) > 1
    assert all([name for name, _ in step] == ["completion", "progress"] for step in steps)
    counts = [json.loads(step[0][1])["count"] for step in steps]
    fractions = [json.loads(step[1][1])["progress"] for step in steps]
    assert all(count > 0 for count in counts)
    assert sum(counts) < 1000
    assert fractions == sorted(fractions)
    assert 0 < fractions[0] < fractions[-1] < 1


@pytest.mark.spec("6")
async def test_progress_of_finished_render_ends(app: AppHarness, finished: dict[str, Any]) -> None:
    answer = await app.get_in_parts(f"{RENDERS}/{finished['id']}/progress")
    events = [event for part in answer.parts for event in events_in(part)]
    assert [name for name, _ in events] == ["size", "progress", "complete"]


@pytest.mark.spec("6")
async def test_several_clients_can_follow_one_render(app: AppHarness) -> None:
    created = (await app.client.post(RENDERS, json={"html": "<p>x", **SMALL})).json()
    path = f"{RENDERS}/{created['id']}/progress"
    answers = await asyncio.gather(*(app.get_in_parts(path) for _ in range(5)))
    assert {events_in(answer.parts[-1])[-1][0] for answer in answers} == {"complete"}


@pytest.mark.spec("6", "7")
async def test_the_progress_of_a_failed_render_ends_with_its_error(app: AppHarness) -> None:
    info = await app.render("<script>throw new Error('Grüße 😀')</script>", **SMALL)
    assert (info["status"], info["completed_at"], info["download_url"]) == ("failed", None, None)
    assert datetime.fromisoformat(info["failed_at"])
    assert info["error"]["code"] == "page_threw"
    assert "Error: Grüße 😀" in info["error"]["message"]
    answer = await app.get_in_parts(f"{RENDERS}/{info['id']}/progress")
    assert answer.status == 200
    events = [event for part in answer.parts for event in events_in(part)]
    assert [name for name, _ in events] == ["size", "error"]
    assert events[1][1].startswith("page_threw: a script of the page threw at line 1")
    download = await app.client.get(f"{RENDERS}/{info['id']}.mp4")
    assert download.status_code == 409
    assert download.json()["status"] == "failed"


@pytest.mark.spec("6", "7")
async def test_the_progress_of_an_unknown_render_is_one_error_event(idle_app: AppHarness) -> None:
    for path in (f"{NOBODY}/progress", f"{RENDERS}/nonsense/progress"):
        answer = await idle_app.get_in_parts(path)
        assert answer.status == 404
        assert answer.headers["content-type"].startswith("text/event-stream")
        ((name, text),) = events_in(b"".join(answer.parts))
        assert name == "error"
        assert text.startswith("there is no render")


# --- download -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
async def film(app: AppHarness, finished: dict[str, Any]) -> bytes:
    return (await app.client.get(f"{RENDERS}/{finished['id']}.mp4")).content


async def ask(app: AppHarness, finished: dict[str, Any], **headers: str) -> httpx.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return await app.client.get(f"{RENDERS}/{finished['id']}.mp4", headers=named)


@pytest.mark.spec("7")
async def test_there_is_no_output_before_the_end(idle_app: AppHarness) -> None:
    created = (await idle_app.client.post(RENDERS, json={"html": "<p>hi"})).json()
    for end in (".mp4", "/mp4"):
        answer = await idle_app.client.get(f"{RENDERS}/{created['id']}{end}")
        assert answer.status_code == 409
        assert answer.json()["error"] == "render_not_complete"
        assert answer.json()["status"] == RenderStatus.CREATED


async def test_a_download_is_the_whole_film(
    app: AppHarness, finished: dict[str, Any], film: bytes
) -> None:
    for end in (".mp4", "/mp4"):
        path = f"{RENDERS}/{finished['id']}{end}"
        got, head = await app.client.get(path), await app.client.head(path)
        assert (got.status_code, head.status_code) == (200, 200)
        assert (got.content, head.content) == (film, b"")
        assert film[4:8] == b"ftyp"
        for answer in (got, head):
            assert answer.headers["content-type"] == "video/mp4"
            assert answer.headers["content-length"] == str(len(film)) == str(finished["byte_size"])
            assert answer.headers["accept-ranges"] == "bytes"
            assert f"{finished['id']}.mp4" in answer.headers["content-disposition"]


@pytest.mark.parametrize(
    ("asked", "start", "end"),
    [("bytes=0-9", 0, 10), ("bytes=100-", 100, None), ("bytes=-7", -7, None), ("bytes=5-5", 5, 6)],
)
async def test_a_range_of_the_output_is_a_206(
    app: AppHarness, finished: dict[str, Any], film: bytes, asked: str, start: int, end: int | None
) -> None:
    answer = await ask(app, finished, range=asked)
    assert answer.status_code == 206
    assert answer.content == film[start:end]
    first = start % len(film)
    span = f"bytes {first}-{first + len(answer.content) - 1}/{len(film)}"
    assert answer.headers["content-range"] == span


async def test_a_range_beyond_the_output_is_a_416(
    app: AppHarness, finished: dict[str, Any], film: bytes
) -> None:
    answer = await ask(app, finished, range=f"bytes={len(film)}-")
    assert answer.status_code == 416
    assert answer.headers["content-range"] == f"bytes */{len(film)}"
    assert answer.json()["error"] == "range_not_satisfiable"


async def test_a_matching_etag_is_a_304(
    app: AppHarness, finished: dict[str, Any], film: bytes
) -> None:
    etag = (await ask(app, finished)).headers["etag"]
    unchanged = await ask(app, finished, if_none_match=etag)
    assert (unchanged.status_code, unchanged.content) == (304, b"")
    assert unchanged.headers["etag"] == etag
    assert (await ask(app, finished, if_none_match='"another"')).content == film
    part = await ask(app, finished, range="bytes=0-3", if_range=etag)
    assert (part.status_code, part.content) == (206, film[:4])
    whole = await ask(app, finished, range="bytes=0-3", if_range='"another"')
    assert (whole.status_code, whole.content) == (200, film)


async def test_the_same_composition_gives_the_same_bytes(
    app: AppHarness, finished: dict[str, Any], film: bytes
) -> None:
    again = await app.render("<p>done", **SMALL)
    assert again["id"] != finished["id"]
    assert (await app.client.get(f"{RENDERS}/{again['id']}.mp4")).content == film
