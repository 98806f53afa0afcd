"""Uploads that break off, overlap, race and lie: what is kept is right, or nothing is.

`app` has no worker, so that a video stays as it was uploaded.
"""

import asyncio
import os
import random
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
import uvicorn

from framekiln.api.body_memory import BodyMemory
from framekiln.files import chunks as chunks_module
from framekiln.files import part_store
from framekiln.files import uploads as uploads_module
from framekiln.files.chunks import Chunk
from framekiln.files.model import OWN_CONTENT
from framekiln.files.uploads import Target
from framekiln.kit.ids import FileId, OrganizationId
from tests.support.app import AppHarness
from tests.support.jobs import wait_until
from tests.support.timeouts import TIMEOUT_S
from tests.support.uploads import FILES, blob_names, create, detail, send_chunk, upload

pytestmark = pytest.mark.spec("4.4")

KIB, MIB = 1 << 10, 1 << 20


@pytest.fixture(scope="module")
async def url(app: AppHarness) -> AsyncIterator[str]:
    """The same application on a real socket, where connections can break."""
    async with serving(app) as url:
        yield url


@asynccontextmanager
async def serving(app: AppHarness) -> AsyncIterator[str]:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app.asgi, log_config=None, lifespan="off"))
        task = asyncio.create_task(server.serve(sockets=[listening]))
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        server.should_exit = True
        await task


def noise(size: int, seed: int = 0) -> bytes:
    return random.Random(seed).randbytes(size)


async def content(app: AppHarness, file_id: str, track_id: int = OWN_CONTENT) -> bytes:
    """What has come so far, put together; every part must follow the one before."""
    async with app.services.database.connection() as connection:
        parts = await part_store.list_all(connection, FileId(file_id), track_id)  # type: ignore
    joined = b""
    for part in parts:
        assert part.first_byte == len(joined)
        joined += await app.services.blobs.get(part.blob_key)
        assert part.end_byte == len(joined)
    return joined


def parts_stored(app: AppHarness, file_id: str) -> int:
    return sum(name.startswith("parts/") for name in blob_names(app, file_id))


async def organization_of(app: AppHarness) -> OrganizationId:
    found = await app.client.get("/api/v1/organization")
    return OrganizationId(found.json()["id"])


class TestChunks:
    async def test_chunks_in_order_complete_the_file(self, app: AppHarness) -> None:
        data = noise(250_000)
        record = await create(app, byte_size=len(data))
        assert (record["status"], record["next_byte"]) == ("created", 0)
        path = f"{FILES}/{record['id']}/upload"
        state = await app.client.get(path)
        assert (state.status_code, state.json()["complete"]) == (202, False)
        for at, form, status in ((0, "bytes=", 202), (100_000, "bytes ", 202), (200_000, "", 201)):
            piece = data[at : at + 100_000]
            answer = await send_chunk(
                app, path, piece, start=at, total=len(data), form=form or "Bytes = "
            )
            assert answer.status_code == status, answer.text
            assert answer.json() == {
                "id": record["id"],
                "status": "processing" if status == 201 else "uploading",
                "next_byte": at + len(piece),
                "byte_size": len(data),
                "complete": status == 201,
            }
        state = await app.client.get(path)
        assert (state.status_code, state.json()["next_byte"]) == (200, len(data))
        assert await content(app, record["id"]) == data

    async def test_a_whole_body_without_a_range(self, app: AppHarness) -> None:
        data = noise(100_000)
        record = await create(app, byte_size=len(data))
        path = f"{FILES}/{record['id']}/upload"

        async def pieces(end: int) -> AsyncIterator[bytes]:
            for at in range(0, end, 7_000):
                yield data[at : min(end, at + 7_000)]

        first = await app.client.post(path, content=pieces(40_000))
        assert (first.status_code, first.json()["next_byte"]) == (202, 40_000)
        # Sent again from the start, as a shell would do it.
        second = await app.client.post(path, content=pieces(len(data)))
        assert second.status_code == 201
        assert await content(app, record["id"]) == data

    async def test_a_long_body_is_kept_in_parts(self, app: AppHarness) -> None:
        data = noise(20 * MIB)
        record = await create(app, byte_size=len(data))
        answer = await app.client.post(f"{FILES}/{record['id']}/upload", content=data)
        assert answer.status_code == 201
        assert await content(app, record["id"]) == data
        assert parts_stored(app, record["id"]) == 3

    async def test_an_upload_may_be_repeated_from_the_start(self, app: AppHarness) -> None:
        """Existing clients never resume: after a break they send everything again."""
        data = noise(300_000)
        record = await create(app, byte_size=len(data))
        path = f"{FILES}/{record['id']}/upload"
        await upload(app, path, data[:130_000] + data[130_000:], chunk_bytes=130_000)
        again = await upload(app, path, data, chunk_bytes=70_000)
        # All of it is there, so there is nothing more to be sent.
        assert {answer.status_code for answer in again} == {201}
        assert await content(app, record["id"]) == data

    async def test_overlapping_bytes_are_skipped(self, app: AppHarness) -> None:
        data = noise(300_000)
        record = await create(app, byte_size=len(data))
        path, total = f"{FILES}/{record['id']}/upload", len(data)
        await send_chunk(app, path, data[:130_000], start=0, total=total)
        # What was kept stays, also where something else is sent in its place.
        other = noise(70_000, seed=1)
        answer = await send_chunk(app, path, other, start=0, total=total)
        assert (answer.status_code, answer.json()["next_byte"]) == (202, 130_000)
        answer = await send_chunk(app, path, data[90_000:200_000], start=90_000, total=total)
        assert (answer.status_code, answer.json()["next_byte"]) == (202, 200_000)
        answer = await send_chunk(app, path, data[200_000:], start=200_000, total=total)
        assert answer.status_code == 201
        answer = await send_chunk(app, path, data[200_000:], start=200_000, total=total)
        assert answer.status_code == 201
        assert await content(app, record["id"]) == data

    async def test_a_gap_is_refused_with_the_next_expected_byte(self, app: AppHarness) -> None:
        record = await create(app, byte_size=1000)
        path = f"{FILES}/{record['id']}/upload"
        await send_chunk(app, path, b"a" * 300, start=0, total=1000)
        answer = await send_chunk(app, path, b"b" * 100, start=301, total=1000)
        assert answer.status_code == 416
        assert answer.json()["error"] == "upload_gap"
        assert answer.json()["next_byte"] == 300
        assert (await detail(app, record["id"]))["next_byte"] == 300

    @pytest.mark.parametrize(
        ("headers", "body"),
        [
            ({"Content-Range": "bytes 0-99/999"}, b"x" * 100),
            ({"Content-Range": "bytes 950-1049/1000"}, b"x" * 100),
            ({"Content-Range": "bytes 0-1000/1000"}, b"x" * 1001),
            ({"Content-Range": "bytes 0-99/1000"}, b"x" * 99),
            ({"Content-Range": "bytes 0-99/1000"}, b"x" * 101),
            ({"Content-Range": "bytes 9-3/1000"}, b"x" * 10),
            ({"Content-Range": "bytes 0-9"}, b"x" * 10),
            ({"Content-Range": "lines 0-9/1000"}, b"x" * 10),
            ({"Content-Range": "bytes 0-99999999999999999999/1000"}, b"x" * 10),
            ({}, b"x" * 1001),
            ({}, b""),
        ],
    )
    async def test_mismatched_range_length_or_size_is_refused(
        self, app: AppHarness, headers: dict[str, str], body: bytes
    ) -> None:
        record = await create(app, byte_size=1000)
        path = f"{FILES}/{record['id']}/upload"

        async def pieces() -> AsyncIterator[bytes]:
            yield body

        for sent in (body, pieces()):
            answer = await app.client.post(path, content=sent, headers=headers)
            assert (answer.status_code, answer.json()["error"]) == (400, "chunk_mismatch")
        assert (await detail(app, record["id"]))["next_byte"] == 0
        assert parts_stored(app, record["id"]) == 0

    async def test_a_body_longer_than_the_file_is_refused(self, app: AppHarness) -> None:
        """The last byte of a file must not count before the body has ended."""
        record = await create(app, byte_size=9 * MIB)

        async def pieces() -> AsyncIterator[bytes]:
            for _ in range(9):
                yield bytes(MIB)
            yield b"x"

        answer = await app.client.post(f"{FILES}/{record['id']}/upload", content=pieces())
        assert answer.status_code == 400
        assert (await detail(app, record["id"]))["status"] == "uploading"
        assert (await detail(app, record["id"]))["next_byte"] == 8 * MIB

    async def test_too_many_parts_are_refused(
        self, app: AppHarness, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(uploads_module, "MAX_PARTS", 3)
        record = await create(app, byte_size=10)
        answers = await upload(app, f"{FILES}/{record['id']}/upload", b"x" * 4, chunk_bytes=1)
        assert answers[0].status_code == 400  # the total is wrong
        path = f"{FILES}/{record['id']}/upload"
        codes = [
            (await send_chunk(app, path, b"x", start=at, total=10)).status_code for at in range(4)
        ]
        assert codes == [202, 202, 202, 400]
        assert parts_stored(app, record["id"]) == 3

    async def test_upload_to_unknown_or_foreign_file_is_404(self, app: AppHarness) -> None:
        stranger = await app.other_organization()
        theirs = await create(stranger, byte_size=10)
        for file_id in (theirs["id"], "nonsense", "00000000-0000-4000-8000-000000000000"):
            for answer in (
                await app.client.post(f"{FILES}/{file_id}/upload", content=b"x" * 10),
                await app.client.get(f"{FILES}/{file_id}/upload"),
            ):
                assert (answer.status_code, answer.json()["error"]) == (404, "file_not_found")
        assert (await detail(stranger, theirs["id"]))["next_byte"] == 0


class OpenUpload:
    """An upload whose body pauses after its first bytes."""

    def __init__(self, app: AppHarness, path: str, data: bytes) -> None:
        self._is_read = asyncio.Event()
        self._may_end = asyncio.Event()
        self._data = data
        headers = {"Content-Length": str(len(data))}
        self._answer = asyncio.create_task(
            app.client.post(path, content=self._pieces(), headers=headers)
        )

    @classmethod
    async def begin(cls, app: AppHarness, size: int) -> "OpenUpload":
        """Register a file and send its first bytes; return when the service has taken them."""
        record = await create(app, byte_size=size)
        begun = cls(app, f"{FILES}/{record['id']}/upload", bytes(size))
        async with asyncio.timeout(TIMEOUT_S):
            await begun._is_read.wait()
        return begun

    async def finish(self) -> httpx.Response:
        self._may_end.set()
        return await self._answer

    async def _pieces(self) -> AsyncIterator[bytes]:
        yield self._data[:1000]
        self._is_read.set()
        await self._may_end.wait()
        yield self._data[1000:]


class TestMemory:
    async def test_open_uploads_of_an_organization_have_a_limit_of_memory(
        self, app: AppHarness, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        size = 2 * MIB
        memory = BodyMemory(max_bytes=3 * size, max_owner_bytes=2 * size)
        monkeypatch.setitem(app.asgi.state._state, "upload_memory", memory)
        other = await app.other_organization()
        opened = [await OpenUpload.begin(app, size) for _ in range(2)]
        record = await create(app, byte_size=size)
        path = f"{FILES}/{record['id']}/upload"
        refused = await app.client.post(path, content=bytes(size))
        assert (refused.status_code, refused.json()["error"]) == (429, "rate_limited")
        assert int(refused.headers["Retry-After"]) > 0
        # Other bodies are counted apart, and small ones not at all.
        await app.create(html="<p>" + "x" * size)
        small = await send_chunk(app, path, bytes(MIB), start=0, total=size)
        assert small.status_code == 202, small.text
        opened.append(await OpenUpload.begin(other, size))
        theirs = await create(other, byte_size=size)
        full = await other.client.post(f"{FILES}/{theirs['id']}/upload", content=bytes(size))
        assert (full.status_code, full.json()["error"]) == (503, "unavailable")
        assert [(await each.finish()).status_code for each in opened] == [201] * 3
        again = await app.client.post(path, content=bytes(size))
        assert again.status_code == 201, again.text

    @pytest.mark.parametrize(
        ("length", "counted"),
        [(None, 2 * chunks_module.PART_BYTES), (1 << 30, 2 * chunks_module.PART_BYTES), (9, 9)],
    )
    def test_an_upload_counts_as_two_parts_or_its_length(
        self, length: int | None, counted: int
    ) -> None:
        assert Chunk(length=length).buffered_bytes == counted


class TestConcurrentWriters:
    async def test_concurrent_writers_with_different_chunk_sizes(
        self, app: AppHarness, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Each sends everything in chunks of its own; the file is right and begins once."""
        monkeypatch.setattr(chunks_module, "PART_BYTES", 10_000)
        data = noise(400_000)
        record = await create(app, byte_size=len(data))
        path = f"{FILES}/{record['id']}/upload"
        writers = [upload(app, path, data, chunk_bytes=size) for size in (37_000, 90_001, 6_000)]
        for answers in await asyncio.gather(*writers):
            assert {answer.status_code for answer in answers} <= {201, 202}
            assert answers[-1].status_code == 201
        assert await content(app, record["id"]) == data
        jobs = await app.services.jobs.list_jobs(limit=1000)
        assert [job.args.get("file_id") for job in jobs].count(record["id"]) == 1
        async with app.services.database.connection() as connection:
            parts = await part_store.list_all(connection, record["id"], OWN_CONTENT)
        # What lost a race is not left lying about.
        assert parts_stored(app, record["id"]) == len(parts)

    async def test_a_slow_writer_does_not_overwrite_a_faster_one(self, app: AppHarness) -> None:
        data = noise(500_000)
        record = await create(app, byte_size=len(data))
        path = f"{FILES}/{record['id']}/upload"
        has_begun, goes_on = asyncio.Event(), asyncio.Event()

        async def slowly() -> AsyncIterator[bytes]:
            yield data[:100_000]
            has_begun.set()
            await goes_on.wait()
            yield data[100_000:400_000]

        headers = {"Content-Range": f"bytes 0-399999/{len(data)}"}
        slow = asyncio.create_task(app.client.post(path, content=slowly(), headers=headers))
        await has_begun.wait()
        answer = await send_chunk(app, path, data[:250_000], start=0, total=len(data))
        assert answer.json()["next_byte"] == 250_000
        goes_on.set()
        assert (await slow).json()["next_byte"] == 400_000
        answer = await send_chunk(app, path, data[400_000:], start=400_000, total=len(data))
        assert answer.status_code == 201
        assert await content(app, record["id"]) == data

    async def test_deletion_during_an_upload_stores_nothing(self, app: AppHarness) -> None:
        record = await create(app, byte_size=500_000)
        path = f"{FILES}/{record['id']}"
        has_begun, goes_on = asyncio.Event(), asyncio.Event()

        async def slowly() -> AsyncIterator[bytes]:
            yield bytes(100_000)
            has_begun.set()
            await goes_on.wait()
            yield bytes(100_000)

        slow = asyncio.create_task(app.client.post(f"{path}/upload", content=slowly()))
        await has_begun.wait()
        assert (await app.client.delete(path)).status_code == 200
        goes_on.set()
        assert (await slow).status_code == 404
        assert blob_names(app, record["id"]) == set()


class TestBrokenConnections:
    async def test_received_bytes_survive_a_broken_connection(
        self, app: AppHarness, url: str
    ) -> None:
        """Cut in the middle of a chunk; the next attempt goes on there."""
        data = noise(20 * MIB)
        record = await create(app, byte_size=len(data))
        path = f"{FILES}/{record['id']}/upload"
        sent = 11 * MIB + 12_345
        await send_and_break_off(app, url + path, data, sent=sent)

        async def has_come() -> bool:
            return bool((await detail(app, record["id"]))["next_byte"] > 8 * MIB)

        await wait_until(has_come)
        state = (await app.client.get(path)).json()
        next_byte = state["next_byte"]
        assert 8 * MIB < next_byte <= sent
        assert await content(app, record["id"]) == data[:next_byte]
        answer = await send_chunk(app, path, data[next_byte:], start=next_byte, total=len(data))
        assert answer.status_code == 201
        assert await content(app, record["id"]) == data

    async def test_tiny_remainders_are_not_stored_as_parts(self, app: AppHarness, url: str) -> None:
        data = noise(MIB)
        record = await create(app, byte_size=len(data))
        path = f"{FILES}/{record['id']}/upload"
        await send_and_break_off(app, url + path, data, sent=10 * KIB)
        answers = await upload(app, path, data)
        assert answers[-1].status_code == 201
        assert await content(app, record["id"]) == data
        assert parts_stored(app, record["id"]) == 1

    async def test_an_early_error_reaches_a_client_that_is_still_sending(
        self, app: AppHarness, url: str
    ) -> None:
        """A refusal while the caller still sends must not look like a broken connection."""
        record = await create(app, byte_size=16 * MIB)
        headers = {
            "Authorization": f"Bearer {app.key}",
            "Content-Range": f"bytes={8 * MIB}-{16 * MIB - 1}/{16 * MIB}",
        }
        async with httpx.AsyncClient(timeout=TIMEOUT_S) as client:
            answer = await client.post(
                f"{url}{FILES}/{record['id']}/upload", content=bytes(8 * MIB), headers=headers
            )
        assert (answer.status_code, answer.json()["next_byte"]) == (416, 0)

    async def test_an_upload_is_never_held_in_memory(self, app: AppHarness, url: str) -> None:
        size, piece = 200 * MIB, bytes(MIB)
        record = await create(app, byte_size=size)
        before = forget_peak()

        async def pieces() -> AsyncIterator[bytes]:
            for _ in range(size // len(piece)):
                yield piece

        async with httpx.AsyncClient(timeout=TIMEOUT_S) as client:
            answer = await client.post(
                f"{url}{FILES}/{record['id']}/upload",
                content=pieces(),
                headers={"Authorization": f"Bearer {app.key}", "Content-Length": str(size)},
            )
        assert answer.status_code == 201, answer.text
        assert parts_stored(app, record["id"]) == 25
        # Both ends are in this process, and still it never held a third of the body.
        assert peak_kib() - before < 64 * KIB
        assert (await app.client.delete(f"{FILES}/{record['id']}")).status_code == 200


async def send_and_break_off(app: AppHarness, url: str, data: bytes, *, sent: int) -> None:
    """Announce all of `data` as one chunk, send the first bytes, and hang up."""
    parts = urlsplit(url)
    _, writer = await asyncio.open_connection(parts.hostname, parts.port)
    writer.write(
        f"POST {parts.path} HTTP/1.1\r\nHost: kiln\r\nAuthorization: Bearer {app.key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n"
        f"Content-Range: bytes=0-{len(data) - 1}/{len(data)}\r\n\r\n".encode()
    )
    writer.write(data[:sent])
    await writer.drain()
    writer.close()
    await writer.wait_closed()


def peak_kib() -> int:
    """The most memory that this process has had since `forget_peak`."""
    status = Path(f"/proc/{os.getpid()}/status").read_text()
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(peak.split()[1])


def forget_peak() -> int:
    """Begin anew, and return what is in use now."""
    Path(f"/proc/{os.getpid()}/clear_refs").write_text("5")
    return peak_kib()


async def test_upload_to_an_expired_file_is_410(app: AppHarness) -> None:
    """Nothing is added to a file whose content is about to be removed."""
    record = await create(app, byte_size=10)
    async with app.services.database.transaction() as connection:
        await connection.execute(
            "UPDATE file SET expires_at = %s WHERE id = %s",
            (app.services.clock.now() - timedelta(seconds=1), record["id"]),
        )
    answer = await app.client.post(f"{FILES}/{record['id']}/upload", content=b"x" * 10)
    assert (answer.status_code, answer.json()["error"]) == (410, "file_expired")


async def test_an_empty_last_chunk_finishes_a_complete_upload(app: AppHarness) -> None:
    """The api died between the last byte and the check: an empty request is enough to go on."""
    data = b"WEBVTT\n\n00:00.000 --> 00:01.000\nHello.\n"
    record = await create(app, type="caption", byte_size=len(data))
    target = Target(await organization_of(app), FileId(record["id"]))
    await app.services.uploads._keep(target, 0, data)
    path = f"{FILES}/{record['id']}/upload"
    state = await app.client.get(path)
    assert (state.status_code, state.json()["next_byte"]) == (202, len(data))
    answer = await app.client.post(path, headers={"Content-Range": f"bytes */{len(data)}"})
    assert (answer.status_code, answer.json()["status"]) == (201, "ready")


def test_a_chunk_without_an_end_may_fill_the_file() -> None:
    assert Chunk().check(byte_size=7, next_byte=0) == 7
