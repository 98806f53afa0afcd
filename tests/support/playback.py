"""The application with a playback worker, and an external server with clips to play."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from mimetypes import guess_type
from pathlib import Path
from threading import Event
from typing import Any
from urllib.parse import quote, urlencode

import httpx

from framekiln.services import Services
from framekiln.worker.loop import run_worker
from tests.support.app import AppHarness, open_app
from tests.support.background import in_background
from tests.support.postgres import PostgresServer
from tests.support.receiver import Answer, ReceivedRequest, Receiver
from tests.support.timeouts import TIMEOUT_S

ROUTE = "/api/v1/transcode"
CONCURRENCY = 2


class ClipServer(Receiver):
    """An external server: sends its files by name."""

    def __init__(self, files: Mapping[str, Path]) -> None:
        super().__init__()
        self._files = files
        self._held: dict[str, Event] = {}
        self.answer_by(self._find)

    def address(self, name: str) -> str:
        return f"http://127.0.0.1:{self.port}/{name}"

    def request_count(self, name: str) -> int:
        return sum(request.path == f"/{name}" for request in self.requests)

    @contextmanager
    def holding(self, *names: str) -> Iterator[None]:
        """Answer requests for these files when the block ends."""
        end = Event()
        self._held |= dict.fromkeys(names, end)
        try:
            yield
        finally:
            end.set()

    def _find(self, request: ReceivedRequest) -> Answer:
        name = request.path.removeprefix("/")
        if (end := self._held.get(name)) is not None:
            end.wait()
        path = self._files.get(name)
        if path is None:
            return Answer(404)
        media_type, _ = guess_type(request.path)
        headers = {"Content-Type": media_type or "application/octet-stream"}
        return Answer(body=path.read_bytes(), headers=headers)


class PlayerClient:
    """Requests one source, as a member of an organization."""

    def __init__(self, app: AppHarness, url: str) -> None:
        self.kiln = app
        self.url = url

    async def get(self, path: str, **options: Any) -> httpx.Response:
        query = urlencode({"url": self.url}, quote_via=quote, safe="")
        return await self.kiln.client.get(f"{ROUTE}/{path}?{query}", timeout=TIMEOUT_S, **options)

    async def bytes(self, path: str) -> bytes:
        answer = await self.get(path)
        assert answer.status_code == 200, answer.text
        return answer.content

    async def manifest(self) -> dict[str, Any]:
        found: dict[str, Any] = (await self.get("manifest.json")).json()
        return found

    async def whole(self, rendition: str, path: Path) -> Path:
        """Write a rendition as one file: its header and all its segments."""
        manifest = await self.manifest()
        renditions = manifest["videoRenditions"] + manifest["audioRenditions"]
        count = next(len(r["segmentDurationsMs"]) for r in renditions if r["id"] == rendition)
        parts = [await self.bytes(f"{rendition}/init.m4s")]
        # Backwards: no segment may depend on an earlier one.
        segments = [await self.bytes(f"{rendition}/{n}.m4s") for n in range(count, 0, -1)]
        await asyncio.to_thread(path.write_bytes, b"".join([*parts, *reversed(segments)]))
        return path


@asynccontextmanager
async def open_playback_app(
    postgres: PostgresServer, folder: Path, server: Receiver, *, template: str
) -> AsyncIterator[AppHarness]:
    """Run the application and one playback worker; `server` may be fetched from."""
    allowed = frozenset({f"127.0.0.1:{server.port}"})
    async with (
        open_app(postgres, folder, template=template, fetch_allow=allowed) as app,
        running_playback_worker(app.services),
    ):
        yield app


@asynccontextmanager
async def running_playback_worker(services: Services) -> AsyncIterator[None]:
    """Run a worker for playback requests; then stop it."""
    async with in_background(run_worker(services, queues=["playback"], concurrency=CONCURRENCY)):
        yield
