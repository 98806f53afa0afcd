"""Clauses 4.4 and 4.5, older addresses: the same files, one address for each type.

Bodies and answers are those of existing clients; everything is labelled as JSON, as they do.
"""

import json
from collections.abc import AsyncIterator
from fractions import Fraction
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from framekiln.media.tracks.split import process_video, track_path
from tests.support.app import AppHarness
from tests.support.clips import Clip, make_clip, make_still
from tests.support.uploads import (
    FILES,
    dashed,
    detail,
    md5_of,
    running_file_worker,
    send_chunk,
    upload,
)

pytestmark = pytest.mark.spec("4.4", "4.5")

API = "/api/v1"
CAPTIONS = b"WEBVTT\n\n00:00.000 --> 00:01.000\nOne.\n"


@pytest.fixture(scope="module")
async def app(app: AppHarness) -> AsyncIterator[AppHarness]:
    async with running_file_worker(app.services):
        yield app


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_clip(tmp_path_factory.mktemp("clip") / "clip.mp4", Clip(duration_s=Fraction(1)))


@pytest.fixture(scope="module")
def clip_bytes(clip: Path) -> bytes:
    return clip.read_bytes()


async def post(app: AppHarness, path: str, body: Any = None) -> httpx.Response:
    content = b"" if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"}
    return await app.client.post(f"{API}/{path}", content=content, headers=headers)


async def created(app: AppHarness, path: str, **body: Any) -> dict[str, Any]:
    answer = await post(app, path, body)
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def get_fields(app: AppHarness, path: str) -> dict[str, Any]:
    answer = await app.client.get(f"{API}/{path}")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_an_image_is_uploaded_by_its_older_address(app: AppHarness, tmp_path: Path) -> None:
    data = make_still(tmp_path / "still.png").read_bytes()
    md5 = dashed(md5_of(data))
    asked = {
        "md5": md5,
        "height": 0,
        "width": 0,
        "mime_type": "image/png",
        "filename": "still.png",
        "byte_size": len(data),
    }
    record = await created(app, "image_files", **asked)
    assert record == {"id": record["id"], "complete": False, "byte_size": len(data), "md5": md5}
    path = f"{API}/image_files/{record['id']}/upload"
    assert (await app.client.get(path)).status_code == 202
    answers = await upload(app, path, data, chunk_bytes=len(data) // 2 + 1)
    assert [answer.status_code for answer in answers] == [202, 201]
    assert (await app.client.get(path)).status_code == 200
    whole = {**record, "complete": True, "height": 240, "width": 320}
    assert await get_fields(app, f"image_files/{record['id']}.json") == whole
    assert await get_fields(app, f"image_files/md5/{md5_of(data)}") == whole
    # The same image again is the same file.
    again = await post(app, "image_files", asked)
    assert (again.status_code, again.json()) == (200, {**record, "complete": True})
    # It is a file like any other.
    found = await detail(app, record["id"])
    assert (found["type"], found["status"], found["filename"]) == ("image", "ready", "still.png")


async def test_captions_are_uploaded_in_one_streamed_body(app: AppHarness) -> None:
    md5 = dashed(md5_of(CAPTIONS))
    record = await created(app, "caption_files", md5=md5, filename="a.vtt", byte_size=len(CAPTIONS))
    assert record == {"id": record["id"], "complete": False, "md5": md5}
    path = f"{API}/caption_files/{record['id']}/upload"

    async def pieces(end: int) -> AsyncIterator[bytes]:
        for at in range(0, end, 10):
            yield CAPTIONS[at : min(end, at + 10)]

    headers = {"Content-Type": "application/json"}
    short = await app.client.post(path, content=pieces(20), headers=headers)
    assert (short.status_code, short.json()["error"]) == (400, "chunk_mismatch")
    answer = await app.client.post(path, content=pieces(len(CAPTIONS)), headers=headers)
    assert (answer.status_code, answer.json()) == (201, {**record, "complete": True})
    assert await get_fields(app, f"caption_files/md5/{md5}") == {**record, "complete": True}
    assert (await app.client.get(f"{FILES}/{record['id']}/content")).content == CAPTIONS


async def test_a_video_is_uploaded_and_processed(app: AppHarness, clip_bytes: bytes) -> None:
    data = clip_bytes
    md5 = dashed(md5_of(data))
    asked = {"md5": md5, "filename": "clip.mp4", "byte_size": len(data)}
    record = await created(app, "unprocessed_files", **asked)
    file_id = record["id"]
    assert record == {
        "id": file_id,
        "md5": md5,
        "byte_size": len(data),
        "next_byte": 0,
        "complete": False,
    }
    path = f"{API}/unprocessed_files/{file_id}/upload"
    first = await send_chunk(app, path, data[:1000], start=0, total=len(data))
    assert first.status_code == 202
    assert (await get_fields(app, f"unprocessed_files/md5/{md5}"))["next_byte"] == 1000
    answers = await upload(app, path, data)
    assert answers[-1].status_code == 201
    assert (await app.client.get(path)).status_code == 200
    started = await post(app, f"unprocessed_files/{file_id}/isobmff")
    assert (started.status_code, started.json()) == (200, {"id": file_id})
    events = b"".join((await app.get_in_parts(f"{API}/process_isobmff/{file_id}/progress")).parts)
    assert events.endswith(b"event: complete\ndata: {}\n\n")
    process = await get_fields(app, f"process_isobmff/{file_id}")
    found = await detail(app, file_id)
    assert process == {
        "id": file_id,
        "created_at": found["created_at"],
        "completed_at": found["completed_at"],
        "failed_at": None,
        "isobmff_file_id": file_id,
        "unprocessed_file_id": file_id,
    }
    # What was uploaded in one way is found in the other.
    assert await get_fields(app, f"isobmff_files/md5/{md5}") == {
        "id": file_id,
        "filename": "clip.mp4",
        "md5": md5,
        "fragment_index_complete": True,
    }


async def test_failed_processing_records_its_time(app: AppHarness) -> None:
    data = b"this is no video" * 100
    record = await created(app, "unprocessed_files", filename="a", byte_size=len(data))
    await upload(app, f"{API}/unprocessed_files/{record['id']}/upload", data)
    events = b"".join(
        (await app.get_in_parts(f"{API}/process_isobmff/{record['id']}/progress")).parts
    )
    assert b"event: error\n" in events
    process = await get_fields(app, f"process_isobmff/{record['id']}")
    assert process["failed_at"] is not None
    assert (process["completed_at"], process["isobmff_file_id"]) == (None, None)


@pytest.mark.spec("2.7", "2.8")
async def test_tracks_and_index_can_be_uploaded(
    app: AppHarness, clip: Path, tmp_path: Path
) -> None:
    made = process_video(clip, tmp_path, report=lambda _: None)
    md5 = dashed(md5_of(b"another source"))
    record = await created(app, "isobmff_files", md5=md5, filename="clip.mp4")
    file_id = record["id"]
    assert record == {
        "id": file_id,
        "filename": "clip.mp4",
        "md5": md5,
        "fragment_index_complete": False,
    }
    assert await get_fields(app, f"isobmff_files/md5/{md5}") == record
    # Nothing of it was uploaded as a whole, nor will be.
    assert (await app.client.get(f"{API}/unprocessed_files/md5/{md5}")).status_code == 404
    for track in made.tracks:
        data = track_path(tmp_path, track.track_id).read_bytes()
        asked = {
            "file_id": file_id,
            "track_id": track.track_id,
            "type": track.type,
            "probe_info": track.probe_info,
            "duration_ms": track.duration_ms,
            "codec_name": track.codec_name,
            "byte_size": len(data),
        }
        assert await created(app, "isobmff_tracks", **asked) == {
            "file_id": file_id,
            "track_id": track.track_id,
            "next_byte": 0,
            "byte_size": len(data),
            "complete": False,
        }
        path = f"{API}/isobmff_tracks/{file_id}/{track.track_id}/upload"
        assert (await app.client.get(path)).status_code == 202
        answers = await upload(app, path, data, chunk_bytes=40_000)
        assert answers[-1].status_code == 201
        assert (await app.client.get(path)).status_code == 200
    index = (tmp_path / "index.json").read_bytes()
    answer = await app.client.post(f"{API}/isobmff_files/{file_id}/index/upload", content=index)
    assert (answer.status_code, answer.json()) == (200, {**record, "fragment_index_complete": True})
    assert (await detail(app, file_id))["status"] == "ready"


async def test_files_of_different_types_may_have_the_same_md5(app: AppHarness) -> None:
    """Tools give captions the sum of the video that they belong to."""
    md5 = dashed(md5_of(b"one source"))
    video = await created(app, "isobmff_files", md5=md5, filename="clip.mp4")
    captions = await created(app, "caption_files", md5=md5, filename="clip.vtt", byte_size=10)
    assert video["id"] != captions["id"]
    assert (await get_fields(app, f"isobmff_files/md5/{md5}"))["id"] == video["id"]
    assert (await get_fields(app, f"caption_files/md5/{md5}"))["id"] == captions["id"]
    assert (await app.client.get(f"{API}/image_files/md5/{md5}")).status_code == 404


async def test_unknown_files_are_404(app: AppHarness) -> None:
    unknown = str(uuid4())
    for noun in ("image_files", "caption_files", "unprocessed_files", "isobmff_files"):
        answer = await app.client.get(f"{API}/{noun}/md5/{md5_of(b'nothing')}")
        assert (answer.status_code, answer.json()["error"]) == (404, "file_not_found")
    for path in (
        f"image_files/{unknown}.json",
        f"image_files/{unknown}/upload",
        f"unprocessed_files/{unknown}/upload",
        f"process_isobmff/{unknown}",
        "process_isobmff/no-uuid",
        f"isobmff_tracks/{unknown}/1/upload",
    ):
        assert (await app.client.get(f"{API}/{path}")).status_code == 404
    assert (await post(app, f"unprocessed_files/{unknown}/isobmff")).status_code == 404
    # A file of another type, or of another organization, is not there either.
    caption = await created(app, "caption_files", filename="a.vtt", byte_size=10)
    assert (await app.client.get(f"{API}/image_files/{caption['id']}.json")).status_code == 404
    stranger = await app.other_organization()
    answer = await stranger.client.post(f"{API}/caption_files/{caption['id']}/upload", content=b"a")
    assert answer.status_code == 404


@pytest.mark.spec("8")
@pytest.mark.parametrize(
    ("noun", "limit_bytes"),
    [("image_files", 16 << 20), ("caption_files", 2 << 20), ("unprocessed_files", 1 << 30)],
)
async def test_sizes_are_limited_by_type(app: AppHarness, noun: str, limit_bytes: int) -> None:
    answer = await post(app, noun, {"filename": "a", "byte_size": limit_bytes + 1})
    assert (answer.status_code, answer.json()["error"]) == (413, "too_large")
    await created(app, noun, filename="a", byte_size=limit_bytes)
    missing = await post(app, noun)
    assert (missing.status_code, missing.json()["error"]) == (400, "invalid_request")


@pytest.mark.spec("5")
async def test_a_page_uploads_with_a_token_for_the_collection(app: AppHarness) -> None:
    signed = await post(app, "url-token", {"url": "http://kiln.test/api/v1/unprocessed_files"})
    token = signed.json()["token"]
    data = b"ab" * 50
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app.asgi),
        base_url="http://kiln.test",
        headers={"Authorization": f"Bearer {token}"},
    ) as page:
        body = {"filename": "a.mp4", "byte_size": len(data)}
        made = await page.post(f"{API}/unprocessed_files", json=body)
        assert made.status_code == 201, made.text
        path = f"{API}/unprocessed_files/{made.json()['id']}/upload"
        answer = await page.post(path, content=data[:50])
        assert (answer.status_code, answer.json()["next_byte"]) == (202, 50)
        assert (await page.get(path)).status_code == 202
        # It opens nothing but uploads.
        assert (await page.get(f"{API}/unprocessed_files/md5/{'a' * 32}")).status_code == 401
