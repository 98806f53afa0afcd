"""Clause 4.4: register, ask about, find, share and delete files; images and captions; expiry.

No worker is needed: small files are looked at in the request that brings their last byte.
"""

import asyncio
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest

from framekiln.files.events import FileEvents
from framekiln.files.service import EXPIRED_RECORD_RETENTION, Files
from framekiln.kit.ids import FileId, OrganizationId
from framekiln.worker.schedule import remove_expired
from tests.support.app import BASE_URL, AppHarness
from tests.support.clips import make_still
from tests.support.clock import SettableClock
from tests.support.uploads import (
    FILES,
    blob_names,
    create,
    dashed,
    detail,
    md5_of,
    send_chunk,
    upload,
    upload_file,
)

pytestmark = pytest.mark.spec("4.4")

VTT = b"WEBVTT\n\n00:00.000 --> 00:01.000\nHello.\n"
SRT = b"1\n00:00:00,000 --> 00:00:01,000\nHello.\n"
SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="3" height="2"><rect width="1"/></svg>'


@pytest.fixture(scope="module")
def png(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return make_still(tmp_path_factory.mktemp("png") / "a.png", 7, width=64, height=48).read_bytes()


async def as_page(app: AppHarness, path: str, **headers: str) -> httpx.Response:
    """GET as a page does: with a token for this address, and without saying what it wants."""
    signed = await app.client.post("/api/v1/url-token", json={"url": f"{BASE_URL}{path}"})
    assert signed.status_code in (200, 201), signed.text
    request = app.client.build_request("GET", path, headers=headers)
    request.headers["authorization"] = f"Bearer {signed.json()['token']}"
    return await app.client.send(request)


class TestRegistration:
    @pytest.mark.spec("2.6", "3.2")
    async def test_registering_a_file_returns_its_record(self, app: AppHarness) -> None:
        asked = {"filename": "Über uns.mp4", "type": "video", "byte_size": 12}
        answer = await app.client.post(FILES, json=asked)
        assert answer.status_code == 201
        record = answer.json()
        UUID(record.pop("id"))
        assert record == {
            "filename": "Über uns.mp4",
            "type": "video",
            "status": "created",
            "byte_size": 12,
            "md5": None,
            "next_byte": 0,
            "expires_at": None,
        }

    @pytest.mark.parametrize(
        ("change", "field"),
        [
            ({"filename": ""}, "filename"),
            ({"filename": " \u200b"}, "filename"),
            ({"filename": "x" * 1025}, "filename"),
            ({"filename": None}, "filename"),
            ({"type": "audio"}, "type"),
            ({"byte_size": 0}, "byte_size"),
            ({"byte_size": -1}, "byte_size"),
            ({"byte_size": 1.5}, "byte_size"),
            ({"byte_size": "7"}, "byte_size"),
            ({"md5": "xyz"}, "md5"),
            ({"md5": "d41d8cd98f00b204e9800998ecf8427"}, "md5"),
            ({"mime_type": 5}, "mime_type"),
        ],
    )
    async def test_invalid_fields_are_refused_by_name(
        self, app: AppHarness, change: dict[str, Any], field: str
    ) -> None:
        body = {"filename": "a", "type": "video", "byte_size": 1, **change}
        answer = await app.client.post(FILES, json=body)
        assert (answer.status_code, answer.json()["error"]) == (400, "invalid_request")
        assert answer.json()["field"] == field

    @pytest.mark.spec("8")
    @pytest.mark.parametrize(
        ("kind", "limit"), [("video", 1 << 30), ("image", 16 << 20), ("caption", 2 << 20)]
    )
    async def test_files_above_the_limit_of_their_type_are_too_large(
        self, app: AppHarness, kind: str, limit: int
    ) -> None:
        assert (await create(app, type=kind, byte_size=limit))["byte_size"] == limit
        body = {"filename": "a", "type": kind, "byte_size": limit + 1}
        answer = await app.client.post(FILES, json=body)
        assert (answer.status_code, answer.json()["error"]) == (413, "too_large")
        assert answer.json()["limit_bytes"] == limit

    @pytest.mark.spec("7", "8")
    @pytest.mark.parametrize(
        ("expires_at", "code"),
        [
            ("tomorrow", "invalid_datetime"),
            ("2020-01-01T00:00:00Z", "must_be_future"),
            ("2099-01-01T00:00:00Z", "exceeds_max_retention"),
        ],
    )
    async def test_invalid_expiry_is_refused(
        self, app: AppHarness, expires_at: str, code: str
    ) -> None:
        body = {"filename": "a", "type": "video", "byte_size": 1, "expires_at": expires_at}
        answer = await app.client.post(FILES, json=body)
        assert (answer.status_code, answer.json()["error"]) == (400, code)

    async def test_a_key_is_required(self, app: AppHarness) -> None:
        for method, path in (("POST", ""), ("GET", f"/{uuid4()}"), ("DELETE", f"/{uuid4()}")):
            request = app.client.build_request(method, FILES + path, json={})
            del request.headers["authorization"]
            assert (await app.client.send(request)).status_code == 401


class TestDeduplication:
    async def test_equal_content_is_one_file(self, app: AppHarness) -> None:
        data = VTT + b"\n00:02.000 --> 00:03.000\nOnce.\n"
        md5 = md5_of(data)
        body = {"filename": "a.vtt", "type": "caption", "byte_size": len(data)}
        first = await app.client.post(FILES, json={**body, "md5": md5})
        again = await app.client.post(FILES, json={**body, "md5": dashed(md5).upper()})
        assert (first.status_code, again.status_code) == (201, 200)
        assert again.json() == first.json()
        path = f"{FILES}/{first.json()['id']}/upload"
        await send_chunk(app, path, data[:10], start=0, total=len(data))
        resumed = await create(app, **body, md5=md5)
        assert (resumed["id"], resumed["next_byte"]) == (first.json()["id"], 10)
        await upload(app, path, data)
        # Nothing needs to be sent any more.
        finished = await create(app, **body, md5=md5)
        assert (finished["id"], finished["status"]) == (first.json()["id"], "ready")
        assert (await app.client.get(path)).status_code == 200

    async def test_a_different_size_or_type_makes_a_new_file(self, app: AppHarness) -> None:
        stranger = await app.other_organization()
        soon = (app.services.clock.now() + timedelta(days=1)).isoformat()
        md5 = md5_of(b"another")
        ids = [
            (await create(app, md5=md5))["id"],
            (await create(app, md5=md5, byte_size=1001))["id"],
            (await create(app, md5=md5, type="image"))["id"],
            (await create(app, md5=md5, expires_at=soon))["id"],
            (await create(stranger, md5=md5))["id"],
            (await create(app))["id"],
            (await create(app))["id"],
        ]
        assert len(set(ids)) == len(ids)

    async def test_concurrent_registrations_create_one_file(self, app: AppHarness) -> None:
        md5 = md5_of(b"at once")
        records = await asyncio.gather(*(create(app, md5=md5) for _ in range(8)))
        assert len({record["id"] for record in records}) == 1

    async def test_a_failed_file_is_not_reused(self, app: AppHarness) -> None:
        md5 = md5_of(VTT)
        first = await create(app, type="caption", byte_size=10, md5=md5)
        await upload(app, f"{FILES}/{first['id']}/upload", b"x" * 10)
        assert (await detail(app, first["id"]))["status"] == "failed"
        second = await create(app, type="caption", byte_size=10, md5=md5)
        assert (second["id"] != first["id"], second["status"]) == (True, "created")

    async def test_the_newest_file_is_found_by_its_md5(self, app: AppHarness) -> None:
        data = SRT + b"\n2\n00:00:02,000 --> 00:00:03,000\nFind me.\n"
        md5 = md5_of(data)
        older = await create(app, type="caption", byte_size=1, md5=md5)
        newer = await upload_file(app, data, type="caption", md5=dashed(md5))
        for text in (md5, md5.upper(), dashed(md5)):
            found = await app.client.get(f"{FILES}/md5/{text}")
            assert (found.status_code, found.json()["id"]) == (200, newer["id"])
            assert found.json()["md5"] == dashed(md5)
        await app.client.delete(f"{FILES}/{newer['id']}")
        assert (await app.client.get(f"{FILES}/md5/{md5}")).json()["id"] == older["id"]
        stranger = await app.other_organization()
        for asker, text in ((stranger, md5), (app, md5_of(b"nobody")), (app, "upload")):
            answer = await asker.client.get(f"{FILES}/md5/{text}")
            assert (answer.status_code, answer.json()["error"]) == (404, "file_not_found")


class TestSmallFiles:
    @pytest.mark.spec("2.6", "3.2", "8")
    async def test_an_image_is_ready_at_once(self, app: AppHarness, png: bytes) -> None:
        md5 = dashed(md5_of(png))
        asked = {"filename": "a.jpg", "type": "image", "mime_type": "image/jpg", "md5": md5}
        record = await create(app, byte_size=len(png), **asked)
        path = f"{FILES}/{record['id']}"
        (answer,) = await upload(app, f"{path}/upload", png)
        assert (answer.status_code, answer.json()["status"]) == (201, "ready")
        found = await detail(app, record["id"])
        assert (found["width"], found["height"], found["tracks"]) == (64, 48, [])
        assert (found["mime_type"], found["md5"], found["error"]) == ("image/jpg", md5, None)
        assert found["completed_at"] is not None
        assert blob_names(app, record["id"]) == {"source"}
        content = await app.client.get(f"{path}/content")
        assert (content.content, content.headers["content-type"]) == (png, "image/png")
        part = await app.client.get(f"{path}/content", headers={"Range": "bytes=2-5"})
        assert (part.status_code, part.content) == (206, png[2:6])
        head = await app.client.head(f"{path}/content")
        assert head.headers["content-length"] == str(len(png))
        fresh = {"If-None-Match": content.headers["etag"]}
        assert (await app.client.get(f"{path}/content", headers=fresh)).status_code == 304

    @pytest.mark.parametrize(
        ("data", "kind", "media_type"),
        [
            (SVG, "image", "image/svg+xml"),
            (VTT, "caption", "text/vtt"),
            (SRT, "caption", "application/x-subrip"),
            (
                b'{"segments": [{"start": 0, "end": 1, "text": "Hi"}]}',
                "caption",
                "application/json",
            ),
        ],
    )
    async def test_downloads_of_text_cannot_run_as_scripts(
        self, app: AppHarness, data: bytes, kind: str, media_type: str
    ) -> None:
        found = await upload_file(app, data, type=kind, filename='x".html')
        content = await app.client.get(f"{FILES}/{found['id']}/content")
        assert content.content == data
        assert content.headers["content-type"] == media_type
        assert content.headers["x-content-type-options"] == "nosniff"
        is_run = media_type.startswith("text/") or "svg" in media_type
        assert ("sandbox" in content.headers.get("content-security-policy", "")) == is_run

    @pytest.mark.parametrize(
        ("data", "kind", "code"),
        [
            (b"%PDF-1.7 and so on", "image", "wrong_content"),
            (VTT, "image", "wrong_content"),
            (SVG, "caption", "wrong_content"),
            (b"<!doctype html><script>alert(1)</script>", "caption", "wrong_content"),
            (b"WEBVTT\n\n00:00.000 --> 00:0x.000\nHello.\n", "caption", "wrong_content"),
            (b"\x89PNG\r\n\x1a\n" + bytes(60), "image", "broken_image"),
            (SVG.replace(b"<rect", b"<script>x</script><rect"), "image", "unsafe_svg"),
        ],
    )
    async def test_the_type_is_detected_from_the_content(
        self, app: AppHarness, data: bytes, kind: str, code: str
    ) -> None:
        name, mime_type = ("a.png", "image/png") if kind == "image" else ("a.vtt", "text/vtt")
        record = await create(
            app, type=kind, byte_size=len(data), filename=name, mime_type=mime_type
        )
        path = f"{FILES}/{record['id']}"
        (answer,) = await upload(app, f"{path}/upload", data)
        assert (answer.status_code, answer.json()["error"]) == (400, code)
        found = await detail(app, record["id"])
        assert (found["status"], found["error"]["code"]) == ("failed", code)
        assert found["error"]["message"] == answer.json()["message"]
        assert blob_names(app, record["id"]) == set()
        # It is over: a second try is a second file.
        (again,) = await upload(app, f"{path}/upload", data)
        assert (again.status_code, again.json()["error"]) == (409, "file_takes_no_content")
        content = await app.client.get(f"{path}/content")
        assert (content.status_code, content.json()["error"]) == (409, "file_not_ready")

    async def test_a_wrong_md5_fails_the_file(self, app: AppHarness, png: bytes) -> None:
        wrong = md5_of(png + b"x")
        record = await create(app, type="image", byte_size=len(png), md5=wrong)
        (answer,) = await upload(app, f"{FILES}/{record['id']}/upload", png)
        assert (answer.status_code, answer.json()["error"]) == (400, "md5_mismatch")
        assert answer.json()["md5"] == md5_of(png)
        assert (await detail(app, record["id"]))["status"] == "failed"
        assert (await app.client.get(f"{FILES}/md5/{wrong}")).status_code == 404
        assert blob_names(app, record["id"]) == set()

    async def test_concurrent_uploads_complete_the_file_once(
        self, app: AppHarness, png: bytes
    ) -> None:
        record = await create(app, type="image", byte_size=len(png))
        path = f"{FILES}/{record['id']}/upload"
        answers = await asyncio.gather(*(upload(app, path, png) for _ in range(3)))
        assert all(answer[-1].status_code in (201, 202) for answer in answers)
        assert (await detail(app, record["id"]))["status"] == "ready"
        assert (await app.client.get(f"{FILES}/{record['id']}/content")).content == png

    async def test_progress_of_a_ready_file_ends_at_once(self, app: AppHarness) -> None:
        found = await upload_file(app, VTT, type="caption")
        waiting = await create(app, type="image")
        for file_id in (found["id"], waiting["id"]):
            (last,) = (await app.get_in_parts(f"{FILES}/{file_id}/progress")).parts
            assert last.endswith(b"event: complete\ndata: {}\n\n")


class TestContentNegotiation:
    """The same address is asked for JSON by programs and for a picture by pages."""

    async def test_pages_get_the_image_and_clients_its_record(
        self, app: AppHarness, png: bytes
    ) -> None:
        found = await upload_file(app, png, type="image")
        path = f"{FILES}/{found['id']}"
        assert (await app.client.get(path)).json()["id"] == found["id"]
        shown = await as_page(app, path)
        assert (shown.content, shown.headers["content-type"]) == (png, "image/png")
        for header in ("Accept", "Content-Type"):
            response = await as_page(app, path, **{header: "application/json"})
            assert response.json()["id"] == found["id"]

    async def test_an_image_before_its_upload_is_409(self, app: AppHarness) -> None:
        record = await create(app, type="image")
        answer = await as_page(app, f"{FILES}/{record['id']}")
        assert (answer.status_code, answer.json()["error"]) == (409, "file_not_ready")

    async def test_a_video_is_always_answered_with_its_record(self, app: AppHarness) -> None:
        record = await create(app, type="video")
        answer = await as_page(app, f"{FILES}/{record['id']}")
        assert answer.json()["status"] == "created"


class TestDeletion:
    @pytest.mark.parametrize("way", ["DELETE", "POST"])
    async def test_deleting_removes_all_blobs(self, app: AppHarness, png: bytes, way: str) -> None:
        found = await upload_file(app, png, type="image")
        path = f"{FILES}/{found['id']}"
        address = path if way == "DELETE" else f"{path}/delete"
        stranger = await app.other_organization()
        assert (await stranger.client.request(way, address)).status_code == 404
        answer = await app.client.request(way, address)
        assert (answer.status_code, answer.json()) == (200, {"success": True})
        assert blob_names(app, found["id"]) == set()
        for ask in (path, f"{path}/content", f"{path}/upload", f"{path}/progress"):
            assert (await app.client.get(ask)).status_code == 404
        assert (await app.client.request(way, address)).status_code == 404

    async def test_deleting_an_unfinished_upload_removes_its_parts(self, app: AppHarness) -> None:
        record = await create(app, byte_size=1000)
        path = f"{FILES}/{record['id']}"
        await send_chunk(app, f"{path}/upload", b"x" * 500, start=0, total=1000)
        assert len(blob_names(app, record["id"])) == 1
        assert (await app.client.delete(path)).status_code == 200
        assert blob_names(app, record["id"]) == set()


class TestExpiry:
    async def test_an_expired_file_keeps_its_record_for_a_while(self, app: AppHarness) -> None:
        clock = SettableClock(app.services.clock.now())
        services = app.services
        later = Files(
            services.database,
            blobs=services.blobs,
            notifications=services.notifications,
            clock=clock,
            events=FileEvents(services.outbox),
            quotas=services.quotas,
        )
        expires_at = clock.now() + timedelta(hours=1)
        data = VTT + b"\n00:02.000 --> 00:03.000\nNot for long.\n"
        md5 = md5_of(data)
        found = await upload_file(
            app, data, type="caption", md5=md5, expires_at=expires_at.isoformat()
        )
        path = f"{FILES}/{found['id']}"
        assert found["expires_at"] == expires_at.isoformat()
        assert await later.remove_expired() == 0
        clock.set(expires_at)
        patched = replace(services, clock=clock, files=later)
        app.asgi.state.services = patched
        try:
            # Even before anything was removed.
            answer = await app.client.get(f"{path}/content")
            assert (answer.status_code, answer.json()["error"]) == (410, "file_expired")
            assert blob_names(app, found["id"]) == {"source"}
            await remove_expired(patched)
            assert blob_names(app, found["id"]) == set()
            assert (await app.client.get(f"{path}/content")).status_code == 410
            assert (await as_page(app, path)).status_code == 410
            assert (await detail(app, found["id"]))["status"] == "ready"
            assert (await app.client.get(f"{FILES}/md5/{md5}")).status_code == 404
            clock.advance(EXPIRED_RECORD_RETENTION)
            await remove_expired(patched)
            assert (await app.client.get(path)).status_code == 404
        finally:
            app.asgi.state.services = services


async def test_files_of_other_organizations_are_not_found(app: AppHarness, png: bytes) -> None:
    found = await upload_file(app, png, type="image")
    stranger = await app.other_organization()
    for ask in ("", "/content", "/index", "/tracks/1", "/thumbnails.jpg", "/waveform.json"):
        answer = await stranger.client.get(f"{FILES}/{found['id']}{ask}")
        assert (answer.status_code, answer.json()["error"]) == (404, "file_not_found")


async def test_an_image_has_no_index_thumbnails_or_tracks(
    app: AppHarness, png: bytes, tmp_path: Path
) -> None:
    found = await upload_file(app, png, type="image")
    for ask, code in (
        ("/index", "content_not_found"),
        ("/thumbnails.jpg", "content_not_found"),
        ("/waveform.json", "content_not_found"),
        ("/frames/0.jpg", "content_not_found"),
        ("/tracks/1", "track_not_found"),
        ("/tracks/x", "track_not_found"),
    ):
        answer = await app.client.get(f"{FILES}/{found['id']}{ask}")
        assert (answer.status_code, answer.json()["error"]) == (404, code)
        # It never was there.
        assert "no longer" not in answer.json()["message"]
    files = app.services.files
    file = await files.get(await organization_of(app), FileId(UUID(found["id"])))
    await files.fetch_source(file, tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == png


async def organization_of(app: AppHarness) -> OrganizationId:
    found = await app.client.get("/api/v1/organization")
    return OrganizationId(UUID(found.json()["id"]))
