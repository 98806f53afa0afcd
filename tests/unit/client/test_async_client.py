"""The asynchronous client: the same methods as the client, awaited."""

import asyncio
import inspect
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from framekiln.client import AsyncClient, Client
from framekiln.client.errors import EndedBadly, ServiceRefused
from tests.support.timeouts import TIMEOUT_S
from tests.unit.client.upload_service import UploadService

VIDEO = {"id": "v", "is_ready": True, "is_failed": False, "metadata": {}, "timestamp": 1}
FILE = {
    "id": "f",
    "filename": "film.mp4",
    "type": "video",
    "status": "ready",
    "byte_size": 7,
    "md5": None,
    "next_byte": 7,
}


class Pauses:
    """Takes the place of the clock."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


def client(*answers: httpx.Response | Exception) -> tuple[AsyncClient, list[str], Pauses]:
    waiting, asked, pauses = list(answers), [], Pauses()

    def service(request: httpx.Request) -> httpx.Response:
        asked.append(f"{request.method} {request.url.raw_path.decode()}")
        answer = waiting.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    options = {"transport": httpx.MockTransport(service), "sleep": pauses}
    made = AsyncClient("http://service", "ef_a_b", retry_within_s=TIMEOUT_S, **options)
    return made, asked, pauses


def names_in(folder: Path) -> list[str]:
    return [each.name for each in folder.iterdir()]


async def test_reads_are_retried_and_creations_are_not() -> None:
    lost = httpx.ReadError("lost")
    service, asked, pauses = client(lost, httpx.Response(200, json=VIDEO), lost)
    assert (await service.videos.get("v")).status == "ready"
    assert pauses.seconds == [0.2]
    with pytest.raises(Exception, match="lost"):
        await service.videos.create({"layers": []})
    assert asked == ["GET /v2/videos/v", "GET /v2/videos/v", "POST /v2/videos/new"]


async def test_lists_request_the_next_page_when_it_is_needed() -> None:
    def page(number: int) -> httpx.Response:
        meta = {"current_page": number, "last_page": 2}
        return httpx.Response(200, json={"data": [{**VIDEO, "id": f"v{number}"}], "meta": meta})

    service, asked, _ = client(page(1), page(2))
    found: AsyncIterator[object] = service.videos.list()
    assert asked == []
    assert [each.id async for each in found] == ["v1", "v2"]  # type: ignore[attr-defined]
    assert asked == [f"GET /v2/videos?page={number}&per_page=100" for number in (1, 2)]


async def test_a_failed_video_raises_its_reason() -> None:
    error = {"code": "asset_unreachable", "message": "no such host", "layer": "clip"}
    events = b'event: progress\ndata: {"progress": 0.5}\n\nevent: error\ndata: failed\n\n'
    failed = httpx.Response(200, json={**VIDEO, "is_ready": False, "error": error})
    service, asked, _ = client(httpx.Response(200, content=events), failed)
    fractions: list[float] = []
    with pytest.raises(EndedBadly, match="no such host") as caught:
        await service.videos.wait("v", fractions.append)
    assert caught.value.details["layer"] == "clip"
    assert fractions == [0.5]
    assert asked == ["GET /v2/videos/v/progress", "GET /v2/videos/v"]


async def test_progress_is_followed_and_downloads_are_whole(tmp_path: Path) -> None:
    events = b'event: progress\ndata: {"progress": 0.5}\n\nevent: complete\ndata: {}\n\n'
    render = {"id": "r", "status": "complete"}
    service, _, _ = client(
        httpx.Response(200, content=events),
        httpx.Response(200, json=render),
        httpx.Response(200, content=b"all of it"),
        httpx.Response(404, json={"error": "render_not_found", "message": "no render"}),
    )
    fractions: list[float] = []
    assert (await service.renders.wait("r", fractions.append)).status == "complete"
    assert fractions == [0.5]
    await service.renders.download("r", tmp_path / "out.mp4")
    assert (tmp_path / "out.mp4").read_bytes() == b"all of it"
    with pytest.raises(ServiceRefused, match="no render"):
        await service.renders.download("r", tmp_path / "other.mp4")
    assert names_in(tmp_path) == ["out.mp4"]


async def test_an_upload_resumes_at_the_missing_byte(tmp_path: Path) -> None:
    path = tmp_path / "film.mp4"
    path.write_bytes(b"content")
    uploads = UploadService(7, faults=[None, "cut"])

    def service(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/upload"):
            return uploads(request)
        return httpx.Response(200, json=FILE)

    transport = httpx.MockTransport(service)
    async with AsyncClient("http://s", "k", transport=transport, sleep=Pauses()) as remote:
        assert (await remote.files.upload(path)).id == "f"
    assert uploads.data == b"content"
    assert uploads.asked == ["GET", "POST bytes 0-6/7", "GET", "POST bytes 3-6/7"]


async def test_a_cancelled_wait_ends_at_once() -> None:
    async def never(_: float) -> None:
        await asyncio.Event().wait()

    transport = httpx.MockTransport(lambda _: httpx.Response(200, content=b""))
    async with AsyncClient("http://s", "k", transport=transport, sleep=never) as remote:
        waiting = asyncio.create_task(remote.videos.wait("v"))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting


def test_both_clients_have_the_same_parts() -> None:
    parts = [
        {name: type(part) for name, part in vars(made).items() if name[0] != "_"}
        for made in (Client("http://s", "k"), AsyncClient("http://s", "k"))
    ]
    assert parts[0] == parts[1]
    method = AsyncClient("http://s", "k").videos.get
    assert list(inspect.signature(method).parameters) == ["self", "video_id"]
