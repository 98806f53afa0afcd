"""Uploads as existing clients send them, and a media worker for the application."""

import hashlib
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx

from framekiln.services import Services
from framekiln.worker.loop import run_worker
from tests.support.app import AppHarness
from tests.support.background import in_background
from tests.support.jobs import wait_until

FILES = "/api/v1/files"
CHUNK_BYTES = 8 << 20


def md5_of(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


def dashed(md5: str) -> str:
    """The MD5 as clients write it: like a UUID."""
    return "-".join((md5[:8], md5[8:12], md5[12:16], md5[16:20], md5[20:]))


async def create(app: AppHarness, **body: Any) -> dict[str, Any]:
    """Register a file and return its record."""
    asked = {"filename": "a file", "type": "video", "byte_size": 1000, **body}
    answer = await app.client.post(FILES, json=asked)
    assert answer.status_code in (200, 201), answer.text
    record: dict[str, Any] = answer.json()
    return record


async def send_chunk(
    app: AppHarness, path: str, data: bytes, *, start: int, total: int, form: str = "bytes="
) -> httpx.Response:
    """Send one chunk, labelled as JSON and with the range as clients write it."""
    headers = {
        "Content-Type": "application/json",
        "Content-Range": f"{form}{start}-{start + len(data) - 1}/{total}",
    }
    return await app.client.post(path, content=data, headers=headers)


async def upload(
    app: AppHarness, path: str, data: bytes, *, chunk_bytes: int = CHUNK_BYTES
) -> list[httpx.Response]:
    """Send everything from byte 0 in chunks, whatever the service already has."""
    return [
        await send_chunk(app, path, data[at : at + chunk_bytes], start=at, total=len(data))
        for at in range(0, len(data), chunk_bytes)
    ]


async def upload_file(app: AppHarness, data: bytes, **body: Any) -> dict[str, Any]:
    """Register and upload a file; return its state afterwards."""
    record = await create(app, byte_size=len(data), **body)
    answers = await upload(app, f"{FILES}/{record['id']}/upload", data)
    assert answers[-1].status_code == 201, answers[-1].text
    return await detail(app, record["id"])


async def detail(app: AppHarness, file_id: str) -> dict[str, Any]:
    answer = await app.client.get(f"{FILES}/{file_id}")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def wait_processed(app: AppHarness, file_id: str) -> dict[str, Any]:
    """Return a video when its processing has ended."""
    await app.get_in_parts(f"{FILES}/{file_id}/progress")
    found = await detail(app, file_id)
    assert found["status"] in ("ready", "failed")
    return found


def blob_names(app: AppHarness, file_id: str) -> set[str]:
    """Return the names of a file's blobs, below its folder; a worker may be changing them."""
    marker = f"/files/{file_id}"
    found = set()
    for folder, _, names in os.walk(app.services.settings.data / "blobs"):
        _, is_of_it, below = folder.partition(marker)
        found |= {f"{below}/{name}".lstrip("/") for name in names if is_of_it}
    return found


async def wait_until_stored(app: AppHarness, file_id: str, *names: str) -> None:
    """Wait until exactly these blobs are stored: workers clean up after they report the end."""

    async def is_so() -> bool:
        return blob_names(app, file_id) == set(names)

    await wait_until(is_so)


@asynccontextmanager
async def running_file_worker(services: Services) -> AsyncIterator[None]:
    """Run a worker that processes files, and stop it afterwards; it needs no browser."""
    async with in_background(run_worker(services, queues=["files"], concurrency=1)):
        yield
