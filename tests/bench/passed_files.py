"""Counts the source files that a request passes, from the api to the end of its jobs.

`python -m tests.bench.passed_files`. The api and two workers run in this process, and every source
file counts in which any thread calls a function. What runs in child processes does not count.
"""

import asyncio
import sys
import tempfile
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import FrameType
from typing import Any
from uuid import uuid4

from rich.console import Console

import framekiln
from framekiln.cli.processes import QUEUES
from framekiln.db.migrate import migrate
from framekiln.kit.logs import configure_logs
from framekiln.worker.loop import run_worker
from tests.support.app import AppHarness, open_app
from tests.support.clips import make_clip
from tests.support.pipelines import enable_pipelines, step
from tests.support.postgres import PostgresServer
from tests.support.uploads import create, send_chunk, upload_file, wait_processed
from tests.support.videos import create_video, plain_config

SOURCE = f"{Path(framekiln.__file__).parent}/"
IDLE_S = 60
POLL_S = 0.5
TIMES = 3
PAGE = """<style>@keyframes move { to { transform: translateX(200px) } }
h1 { animation: move 1s linear }</style><h1>Hello</h1>"""
Request = Callable[[AppHarness], Awaitable[None]]


class PassedFiles:
    """The source files whose functions were called since `clear`."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def start(self) -> None:
        """Follow this thread and those that start later."""
        threading.setprofile(self._profile)
        sys.setprofile(self._profile)

    def clear(self) -> None:
        self._seen.clear()

    def files(self) -> set[str]:
        return {name.removeprefix(SOURCE) for name in self._seen.copy() if name.startswith(SOURCE)}

    def _profile(self, frame: FrameType, event: str, _argument: object) -> None:
        if event == "call":
            self._seen.add(frame.f_code.co_filename)


async def measure() -> None:
    """Print how many files each kind of request passes, and which."""
    passed = PassedFiles()
    postgres = PostgresServer()
    postgres.start()
    try:
        migrate(postgres.create_database("template"))
        with tempfile.TemporaryDirectory(prefix="passed-files-") as folder:
            passed.start()
            async with open_app(postgres, Path(folder), template="template") as app:
                await _measure_app(app, passed, Path(folder))
    finally:
        postgres.remove()


async def _measure_app(app: AppHarness, passed: PassedFiles, folder: Path) -> None:
    await enable_pipelines(app)
    workers = [
        asyncio.create_task(run_worker(app.services, queues=list(QUEUES), concurrency=1))
        for _ in range(2)
    ]
    try:
        clip = make_clip(folder / "clip.mp4").read_bytes()
        file = await upload_file(app, clip)
        await wait_processed(app, file["id"])
        requests = {
            "page": _render_page,
            "video": _make_video,
            "run": await _prepare_run(app, file["id"]),
            "chunk": await _prepare_chunks(app),
        }
        found = {name: await _files_of(app, passed, request) for name, request in requests.items()}
        passed.clear()
        await asyncio.sleep(IDLE_S)
        idle = passed.files()
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
    console = Console(width=160)
    console.print(f"idle: {len(idle)}")
    for name, files in found.items():
        console.print(f"{name}: {len(files - idle)}", *sorted(files - idle), sep="\n  ")


async def _files_of(app: AppHarness, passed: PassedFiles, request: Request) -> set[str]:
    """Leave out the first time, which imports modules and starts Chromium."""
    await request(app)
    passed.clear()
    for _ in range(TIMES - 1):
        await request(app)
    return passed.files()


async def _render_page(app: AppHarness) -> None:
    # A page that was rendered before would be copied.
    html = f"{PAGE}<p>{uuid4()}</p>"
    created = await app.client.post(
        "/api/v1/renders",
        json={"html": html, "width": 320, "height": 180, "fps": 30, "duration_ms": 1000},
    )
    await _wait_for(app, f"/api/v1/renders/{created.json()['id']}", "complete")


async def _make_video(app: AppHarness) -> None:
    config = plain_config(layers=[{"type": "text", "text": {"text": f"Hello {uuid4()}"}}])
    video = await create_video(app, config)
    while not (answer := (await app.client.get(f"/v2/videos/{video}")).json())["is_ready"]:
        assert not answer["is_failed"], answer
        await asyncio.sleep(POLL_S)


async def _prepare_run(app: AppHarness, file_id: str) -> Request:
    body = {"name": "probe", "definition": {"steps": {"look": step("probe")}}}
    pipeline = (await app.client.post("/api/v1/pipelines", json=body)).json()

    async def run(app: AppHarness) -> None:
        body = {"pipeline_id": pipeline["id"], "file_id": file_id}
        answer = await app.client.post("/api/v1/pipeline-runs", json=body)
        assert answer.is_success, answer.text
        await _wait_for(app, f"/api/v1/pipeline-runs/{answer.json()['id']}", "succeeded")

    return run


async def _prepare_chunks(app: AppHarness) -> Request:
    size = 1000
    record = await create(app, byte_size=size * (TIMES + 1))
    starts = iter(range(0, size * TIMES, size))

    async def send(app: AppHarness) -> None:
        path = f"/api/v1/files/{record['id']}/upload"
        answer = await send_chunk(
            app, path, bytes(size), start=next(starts), total=size * (TIMES + 1)
        )
        assert answer.is_success, answer.text

    return send


async def _wait_for(app: AppHarness, path: str, status: str) -> None:
    while True:
        answer: dict[str, Any] = (await app.client.get(path)).json()
        if answer["status"] == status:
            return
        assert answer["status"] != "failed", answer
        await asyncio.sleep(POLL_S)


if __name__ == "__main__":
    configure_logs()
    asyncio.run(measure())
