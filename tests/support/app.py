"""The whole application in this process: real PostgreSQL, real blobs, and optional workers.

Requests go over ASGI; `AppHarness.get_in_parts` shows each write of a response separately, as a
slow network may deliver it.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
from fastapi import FastAPI

from framekiln.api.app import create_app
from framekiln.services import Services
from framekiln.settings import Settings
from framekiln.worker.loop import run_worker
from tests.support.background import in_background
from tests.support.postgres import PostgresServer
from tests.support.timeouts import TIMEOUT_S

BASE_URL = "http://kiln.test"


@dataclass(frozen=True)
class StreamedAnswer:
    """A response, write by write."""

    status: int
    headers: dict[str, str]
    parts: list[bytes]


class AppHarness:
    """The application, and the client of one organization."""

    def __init__(self, services: Services, app: FastAPI, *, key: str) -> None:
        self.services = services
        self.asgi = app
        self.key = key
        self.client = httpx.AsyncClient(
            transport=httpx.ASGITransport(app),
            base_url=BASE_URL,
            headers={"Authorization": f"Bearer {key}"},
        )

    async def other_organization(self) -> "AppHarness":
        """The same application with the client of another organization."""
        return AppHarness(self.services, self.asgi, key=await new_key(self.services))

    async def get_in_parts(
        self, path: str, parts: list[bytes] | None = None, *, disconnect: bool = False
    ) -> StreamedAnswer:
        """GET a path and return the response as it was written; `parts` has the writes so far.

        With `disconnect`, the client leaves as soon as it has sent the request.
        """
        started: dict[str, Any] = {}
        parts = [] if parts is None else parts
        asked = iter([{"type": "http.request", "body": b"", "more_body": False}])

        async def receive() -> dict[str, Any]:
            for message in asked:
                return message
            if disconnect:
                return {"type": "http.disconnect"}
            await asyncio.Event().wait()
            raise AssertionError("unreachable")

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                started.update(message)
            elif message.get("body"):
                parts.append(message["body"])

        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "GET",
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "root_path": "",
            "headers": [(b"authorization", f"Bearer {self.key}".encode())],
            "server": ("kiln.test", 80),
            "client": ("127.0.0.1", 1),
        }
        async with asyncio.timeout(TIMEOUT_S):
            await self.asgi(scope, receive, send)
        headers = {name.decode(): value.decode() for name, value in started["headers"]}
        return StreamedAnswer(started["status"], headers, parts)

    async def create(self, **body: Any) -> str:
        """Create a render and return its id."""
        created = await self.client.post("/api/v1/renders", json=body)
        assert created.status_code == 201, created.text
        return str(created.json()["id"])

    async def info(self, render_id: str) -> dict[str, Any]:
        """Return a render as the API shows it."""
        found: dict[str, Any] = (await self.client.get(f"/api/v1/renders/{render_id}")).json()
        return found

    async def wait_ended(self, render_id: str) -> dict[str, Any]:
        """Wait for the end of a render and return it."""
        await self.get_in_parts(f"/api/v1/renders/{render_id}/progress")
        info = await self.info(render_id)
        assert info["status"] in ("complete", "failed")
        return info

    async def render(self, html: str, **asked: Any) -> dict[str, Any]:
        """Create a render, wait for its end and return it."""
        return await self.wait_ended(await self.create(html=html, **asked))

    async def output(self, info: dict[str, Any]) -> bytes:
        """Return the output of a successful render."""
        assert info["status"] == "complete", info["error"]
        return (await self.client.get(info["download_url"])).content

    async def count_stored(self) -> tuple[int, int]:
        """Return the number of renders and the number of blobs."""
        async with self.services.database.connection() as connection:
            cursor = await connection.execute("SELECT count(*) AS n FROM render")
            row = await cursor.fetchone()
        assert row is not None
        folder = self.services.settings.data / "blobs"
        return row["n"], sum(path.is_file() for path in folder.rglob("*"))


async def new_key(services: Services) -> str:
    """Return the key of a new organization."""
    organization = await services.identity.create_organization(f"org {uuid4()}")
    return (await services.identity.create_key(organization.id, "test")).text


@asynccontextmanager
async def open_app(
    postgres: PostgresServer,
    folder: Path,
    *,
    template: str,
    workers: int = 0,
    **changes: Any,
) -> AsyncIterator[AppHarness]:
    """Run the application on its own database; `changes` are settings."""
    name = f"test_{uuid4().hex}"
    conninfo = postgres.create_database(name, template=template)
    # Tests that make a page twice want it made twice.
    changes = {"reuse_pages": False, **changes}
    settings = Settings(data=folder, base_url=BASE_URL, settle_timeout_s=int(TIMEOUT_S), **changes)
    try:
        async with Services.open(settings, conninfo) as services:
            services.playback._wait_s = TIMEOUT_S
            kiln = AppHarness(services, create_app(services), key=await new_key(services))
            async with running_workers(services, workers=workers):
                yield kiln
            await kiln.client.aclose()
    finally:
        postgres.drop_database(name)


@asynccontextmanager
async def running_workers(services: Services, *, workers: int = 1) -> AsyncIterator[None]:
    """Run workers, each with its own browser, for all jobs of renders; then stop them."""
    async with AsyncExitStack() as stack:
        for _ in range(workers):
            await stack.enter_async_context(running_worker(services))
        yield


@asynccontextmanager
async def running_worker(
    services: Services, queues: Sequence[str] = ("render", "media", "files")
) -> AsyncIterator[None]:
    async with in_background(run_worker(services, queues=list(queues), concurrency=1)):
        yield
