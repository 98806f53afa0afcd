"""Every blob store obeys the same rules: a folder, memory, and a bucket.

The bucket takes part when FRAMEKILN_TEST_S3 is an s3:// address (with AWS_ENDPOINT_URL and the
credentials beside it, as in production).
"""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from datetime import UTC
from pathlib import Path
from uuid import uuid4

import pytest

from framekiln.storage.blob_store import BlobStore, memory_blob_store, open_blob_store
from framekiln.storage.errors import (
    BlobKeyInvalid,
    BlobNotFound,
    StorageUnavailable,
    StorageUrlInvalid,
)
from framekiln.storage.keys import TrackedKey

MIB = 1024 * 1024
BUCKET = os.environ.get("FRAMEKILN_TEST_S3")
KINDS = ["folder", "memory", *(["bucket"] if BUCKET else [])]


@pytest.fixture(params=KINDS)
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[BlobStore]:
    if request.param == "folder":
        yield open_blob_store(None, folder=tmp_path / "blobs")
    elif request.param == "memory":
        yield memory_blob_store()
    else:
        bucket = open_blob_store(f"{BUCKET}/{uuid4()}", folder=tmp_path / "unused")
        yield bucket
        for key in await keys_under(bucket, ""):
            await bucket.delete(key)


async def keys_under(store: BlobStore, prefix: str) -> list[str]:
    return sorted([info.key async for info in store.list(prefix)])


async def read(store: BlobStore, key: str, *, start: int = 0, end: int | None = None) -> bytes:
    return b"".join([chunk async for chunk in store.stream(key, start=start, end=end)])


def names_like(folder: Path, pattern: str) -> list[str]:
    return sorted(path.name for path in folder.glob(pattern))


async def chunks_of(data: bytes, size: int = 700_001) -> AsyncIterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]


class TestWritingAndReading:
    async def test_a_stored_blob_is_read_back(self, store: BlobStore) -> None:
        await store.put(TrackedKey("org/1/file/2/source"), b"\x00hello\xff")
        assert await store.get("org/1/file/2/source") == b"\x00hello\xff"

    async def test_an_empty_blob_is_stored(self, store: BlobStore) -> None:
        await store.put(TrackedKey("empty"), b"")
        assert await store.get("empty") == b""
        assert await read(store, "empty") == b""

    async def test_a_second_put_replaces_the_first(self, store: BlobStore) -> None:
        await store.put(TrackedKey("a/b"), b"first, and longer")
        await store.put(TrackedKey("a/b"), b"second")
        assert await store.get("a/b") == b"second"

    async def test_a_large_blob_is_read_back(self, store: BlobStore) -> None:
        data = os.urandom(9 * MIB + 7)
        await store.put(TrackedKey("large"), data)
        assert await store.get("large") == data

    async def test_a_file_is_stored_and_read_back(self, store: BlobStore, tmp_path: Path) -> None:
        data = os.urandom(20 * MIB + 3)
        (tmp_path / "in").write_bytes(data)
        await store.put_file(TrackedKey("film"), tmp_path / "in")
        await store.get_to_file("film", tmp_path / "out")
        assert (tmp_path / "out").read_bytes() == data
        assert names_like(tmp_path, "out*") == ["out"]

    async def test_a_missing_local_file_is_not_a_missing_blob(
        self, store: BlobStore, tmp_path: Path
    ) -> None:
        with pytest.raises(FileNotFoundError):
            await store.put_file(TrackedKey("film"), tmp_path / "absent")
        assert await store.info("film") is None

    @pytest.mark.parametrize("size", [0, 5, 18 * MIB + 1])
    async def test_a_stream_is_stored(self, store: BlobStore, size: int) -> None:
        data = os.urandom(size)
        await store.put_stream(TrackedKey("streamed"), chunks_of(data))
        assert await store.get("streamed") == data

    async def test_create_stores_only_the_first(self, store: BlobStore) -> None:
        assert await store.create(TrackedKey("once"), b"first") is True
        assert await store.create(TrackedKey("once"), b"second") is False
        assert await store.get("once") == b"first"

    async def test_only_one_concurrent_create_succeeds(self, store: BlobStore) -> None:
        answers = await asyncio.gather(
            *(store.create(TrackedKey("race"), b"%d" % n) for n in range(8))
        )
        assert answers.count(True) == 1
        assert await store.get("race") == b"%d" % answers.index(True)


class TestAtomicWrites:
    async def test_a_failing_source_stores_nothing(self, store: BlobStore) -> None:
        async def broken() -> AsyncIterator[bytes]:
            yield os.urandom(17 * MIB)
            raise ConnectionResetError("the client went away")

        with pytest.raises(ConnectionResetError, match="went away"):
            await store.put_stream(TrackedKey("half"), broken())
        assert await store.info("half") is None
        assert await keys_under(store, "") == []

    async def test_a_failed_replacement_leaves_the_old_content(self, store: BlobStore) -> None:
        async def broken() -> AsyncIterator[bytes]:
            yield b"new"
            raise RuntimeError("no more")

        await store.put(TrackedKey("kept"), b"old")
        with pytest.raises(RuntimeError, match="no more"):
            await store.put_stream(TrackedKey("kept"), broken())
        assert await store.get("kept") == b"old"

    async def test_a_cancelled_write_stores_nothing(self, store: BlobStore) -> None:
        under_way = asyncio.Event()

        async def endless() -> AsyncIterator[bytes]:
            yield os.urandom(17 * MIB)
            under_way.set()
            await asyncio.Event().wait()

        writing = asyncio.create_task(store.put_stream(TrackedKey("half"), endless()))
        await under_way.wait()
        writing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await writing
        assert await store.info("half") is None

    async def test_a_killed_writer_leaves_no_key(self, tmp_path: Path) -> None:
        with in_child(tmp_path, KILLED_WRITER) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == "under way\n"
            child.send_signal(signal.SIGKILL)
        store = open_blob_store(None, folder=tmp_path)
        assert await store.info("org/1/half") is None
        assert await keys_under(store, "") == []
        await store.put(TrackedKey("org/1/half"), b"whole")
        assert await keys_under(store, "") == ["org/1/half"]

    async def test_a_failed_read_leaves_the_local_file_alone(
        self, store: BlobStore, tmp_path: Path
    ) -> None:
        (tmp_path / "out").write_bytes(b"before")
        with pytest.raises(BlobNotFound):
            await store.get_to_file("absent", tmp_path / "out")
        assert (tmp_path / "out").read_bytes() == b"before"
        assert names_like(tmp_path, "out*") == ["out"]


class TestRanges:
    @pytest.mark.parametrize(
        ("start", "end", "expected"),
        [
            (0, None, b"0123456789"),
            (0, 4, b"0123"),
            (3, 7, b"3456"),
            (7, None, b"789"),
            (7, 1000, b"789"),
            (4, 4, b""),
            (10, None, b""),
            (10, 12, b""),
            (99, None, b""),
        ],
    )
    async def test_the_end_of_a_range_is_exclusive_and_clipped(
        self, store: BlobStore, start: int, end: int | None, expected: bytes
    ) -> None:
        await store.put(TrackedKey("digits"), b"0123456789")
        assert await read(store, "digits", start=start, end=end) == expected

    async def test_a_large_range_is_read_in_pieces(self, store: BlobStore, tmp_path: Path) -> None:
        data = os.urandom(3 * MIB)
        await store.put(TrackedKey("large"), data)
        assert await read(store, "large", start=MIB - 1, end=3 * MIB - 1) == data[MIB - 1 : -1]

    async def test_a_range_of_an_empty_blob_is_empty(self, store: BlobStore) -> None:
        await store.put(TrackedKey("empty"), b"")
        assert await read(store, "empty", start=0, end=10) == b""

    @pytest.mark.parametrize(("start", "end"), [(-1, None), (5, 4)])
    async def test_a_backward_range_raises(
        self, store: BlobStore, start: int, end: int | None
    ) -> None:
        await store.put(TrackedKey("digits"), b"0123456789")
        with pytest.raises(ValueError, match="not a byte range"):
            await read(store, "digits", start=start, end=end)

    async def test_a_reader_may_stop_early(self, store: BlobStore) -> None:
        await store.put(TrackedKey("large"), os.urandom(3 * MIB))
        reading = store.stream("large")
        first = await anext(reading)
        await reading.aclose()
        assert len(first) > 0


class TestMissingBlobs:
    async def test_reading_a_missing_blob_raises_not_found(self, store: BlobStore) -> None:
        with pytest.raises(BlobNotFound, match="'no/such'") as caught:
            await store.get("no/such")
        assert caught.value.code == "blob_not_found"
        assert caught.value.details == {"key": "no/such"}
        assert caught.value.retryable is False

    @pytest.mark.parametrize(("start", "end"), [(0, None), (0, 0), (5, None), (5, 9)])
    async def test_reading_a_range_of_a_missing_blob_raises_not_found(
        self, store: BlobStore, start: int, end: int | None
    ) -> None:
        with pytest.raises(BlobNotFound):
            await read(store, "no/such", start=start, end=end)

    async def test_the_info_of_a_missing_blob_is_none(self, store: BlobStore) -> None:
        assert await store.info("no/such") is None

    async def test_a_folder_of_blobs_is_not_a_blob(self, store: BlobStore) -> None:
        await store.put(TrackedKey("a/b/c"), b"1")
        assert await store.info("a/b") is None
        with pytest.raises(BlobNotFound):
            await store.get("a/b")

    async def test_deleting_twice_is_no_error(self, store: BlobStore) -> None:
        await store.put(TrackedKey("a"), b"1")
        await store.delete("a")
        await store.delete("a")
        assert await store.info("a") is None


class TestInfo:
    async def test_info_has_size_and_time(self, store: BlobStore) -> None:
        await store.put(TrackedKey("a/b"), b"12345")
        info = await store.info("a/b")
        assert info is not None
        assert (info.key, info.size_bytes) == ("a/b", 5)
        assert info.modified_at.tzinfo == UTC

    async def test_the_etag_stays_and_changes_with_the_content(self, store: BlobStore) -> None:
        await store.put(TrackedKey("a"), b"1")
        first, again = await store.info("a"), await store.info("a")
        await store.put(TrackedKey("a"), b"22")
        other = await store.info("a")
        assert first is not None
        assert again is not None
        assert other is not None
        assert first.etag
        assert first.etag == again.etag
        assert first.etag != other.etag


class TestPrefixes:
    KEYS: Sequence[str] = ("a/b/1", "a/b/2/x", "a/bc/1", "a/d", "e")

    @pytest.fixture(autouse=True)
    async def _filled(self, store: BlobStore) -> None:
        for key in self.KEYS:
            await store.put(TrackedKey(key), key.encode())

    async def test_all_blobs_are_listed(self, store: BlobStore) -> None:
        assert await keys_under(store, "") == sorted(self.KEYS)

    @pytest.mark.parametrize("prefix", ["a/b", "a/b/"])
    async def test_prefixes_match_whole_path_segments_only(
        self, store: BlobStore, prefix: str
    ) -> None:
        assert await keys_under(store, prefix) == ["a/b/1", "a/b/2/x"]

    async def test_list_agrees_with_info(self, store: BlobStore) -> None:
        listed = [info async for info in store.list("a/bc")]
        known = await store.info("a/bc/1")
        assert known is not None
        assert [(one.key, one.size_bytes, one.etag) for one in listed] == [
            (known.key, known.size_bytes, known.etag)
        ]

    async def test_an_unknown_prefix_lists_nothing(self, store: BlobStore) -> None:
        assert await keys_under(store, "zzz") == []

    async def test_deleting_a_prefix_returns_the_number_of_blobs(self, store: BlobStore) -> None:
        assert await store.delete_prefix("a/b") == 2
        assert await keys_under(store, "") == ["a/bc/1", "a/d", "e"]
        assert await store.delete_prefix("a/b") == 0

    async def test_concurrent_deletions_of_a_prefix_succeed(self, store: BlobStore) -> None:
        for number in range(60):
            await store.put(TrackedKey(f"many/{number}"), b"1")
        await asyncio.gather(*(store.delete_prefix("many") for _ in range(3)))
        assert await keys_under(store, "many") == []

    async def test_an_empty_prefix_cannot_be_deleted(self, store: BlobStore) -> None:
        with pytest.raises(BlobKeyInvalid):
            await store.delete_prefix("")
        assert await keys_under(store, "") == sorted(self.KEYS)


async def test_writing_beside_deletion_is_safe(store: BlobStore) -> None:
    """Deletion tidies empty folders away; a write into such a folder must not trip over it."""

    async def come_and_go(name: str) -> None:
        for _ in range(40):
            await store.put(TrackedKey(f"busy/{name}"), b"1")
            await store.delete(f"busy/{name}")

    await asyncio.gather(*(come_and_go(str(number)) for number in range(6)))
    await store.put(TrackedKey("busy/last"), b"1")
    assert await keys_under(store, "") == ["busy/last"]


@pytest.mark.parametrize(
    "key",
    [
        "",
        "/a",
        "a/",
        "a//b",
        ".",
        "..",
        "a/../b",
        "a/./b",
        "a b",
        "a\\b",
        "a\x00b",
        "a\n",
        "x#1",
        "x%2e",
        "é",
        "a/" + "n" * 201,
        "/".join(["part"] * 400),
    ],
)
async def test_keys_that_mean_different_things_in_different_stores_are_refused(
    store: BlobStore, key: str, tmp_path: Path
) -> None:
    (tmp_path / "in").write_bytes(b"1")
    attempts = [
        store.put(TrackedKey(key), b"1"),
        store.put_file(TrackedKey(key), tmp_path / "in"),
        store.put_stream(TrackedKey(key), chunks_of(b"1")),
        store.create(TrackedKey(key), b"1"),
        store.get(key),
        store.get_to_file(key, tmp_path / "out"),
        store.info(key),
        store.delete(key),
        read(store, key),
    ]
    for attempt in attempts:
        with pytest.raises(BlobKeyInvalid):
            await attempt
    assert not (tmp_path / "out").exists()


async def test_a_reachable_store_is_ready(store: BlobStore) -> None:
    assert await store.is_ready() is True


class TestUnavailableStores:
    async def test_a_missing_folder_is_not_ready(self, tmp_path: Path) -> None:
        store = open_blob_store(str(tmp_path / "blobs"), folder=tmp_path / "unused")
        (tmp_path / "blobs").rmdir()
        assert await store.is_ready() is False

    async def test_a_folder_that_cannot_be_written_is_unavailable(self, tmp_path: Path) -> None:
        store = open_blob_store(None, folder=tmp_path / "blobs")
        (tmp_path / "blobs").rmdir()
        (tmp_path / "blobs").write_bytes(b"in the way")
        with pytest.raises(StorageUnavailable, match="'a/b'") as caught:
            await store.put(TrackedKey("a/b"), b"1")
        assert (caught.value.code, caught.value.retryable) == ("storage_unavailable", True)
        assert "\n" not in caught.value.message

    async def test_a_server_that_is_down_is_unavailable(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        store = open_blob_store("s3://bucket/prefix", folder=tmp_path)
        assert await store.is_ready() is False
        with pytest.raises(StorageUnavailable):
            await store.info("a")

    @pytest.mark.parametrize("url", ["ftp://host/x", "memory://", "http://host/x", "s3://"])
    def test_other_addresses_are_refused(self, tmp_path: Path, url: str) -> None:
        with pytest.raises(StorageUrlInvalid, match=url):
            open_blob_store(url, folder=tmp_path)

    @pytest.mark.parametrize("spelling", ["{}", "file://{}"])
    async def test_a_folder_may_be_named_by_address(self, tmp_path: Path, spelling: str) -> None:
        store = open_blob_store(spelling.format(tmp_path / "b l"), folder=tmp_path / "unused")
        await store.put(TrackedKey("a"), b"1")
        assert (tmp_path / "b l" / "a").read_bytes() == b"1"
        assert not (tmp_path / "unused").exists()


async def test_a_large_file_is_never_held_in_memory(tmp_path: Path) -> None:
    size_mib = 256
    with (tmp_path / "in").open("wb") as file:
        file.truncate(size_mib * MIB)
    with in_child(tmp_path, LARGE_COPY) as child:
        grown_kib = int(child.communicate()[0])
    assert (tmp_path / "out").stat().st_size == size_mib * MIB
    assert grown_kib < size_mib * 1024 / 2


def in_child(folder: Path, code: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", code, str(folder)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )


KILLED_WRITER = """
import asyncio, pathlib, sys
from framekiln.storage.blob_store import open_blob_store

async def endless():
    for _ in range(40):
        yield bytes(1024 * 1024)
    print("under way", flush=True)
    await asyncio.Event().wait()

store = open_blob_store(None, folder=pathlib.Path(sys.argv[1]))
asyncio.run(store.put_stream("org/1/half", endless()))
"""

LARGE_COPY = """
import asyncio, pathlib, resource, sys
from framekiln.storage.blob_store import open_blob_store

def peak_kib():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

async def copy(folder):
    store = open_blob_store(None, folder=folder / "blobs")
    await store.put("small", b"1")
    before = peak_kib()
    await store.put_file("large", folder / "in")
    await store.get_to_file("large", folder / "out")
    print(peak_kib() - before)

asyncio.run(copy(pathlib.Path(sys.argv[1])))
"""
