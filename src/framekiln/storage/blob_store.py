"""Blobs by key, in a folder or in a bucket: the only module that uses obstore.

A write appears whole or not at all: a process that dies during a write leaves no visible key. The
domains know the type and owner of a blob, not this module. Only `get` and `put` hold a whole blob
in memory. Blobs are stored under `TrackedKey`s only, so that none is left behind.
"""

import asyncio
import os
import stat
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import aclosing, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit
from uuid import uuid4

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError, GenericError
from obstore.store import LocalStore, MemoryStore, from_url

from framekiln.kit.atomic_file import READABLE_BY_ALL, atomic_file
from framekiln.storage.errors import BlobNotFound, StorageUnavailable, StorageUrlInvalid
from framekiln.storage.keys import TrackedKey, check_key, check_prefix

if TYPE_CHECKING:  # obstore has these names for type checkers only
    from obstore import GetOptions, GetResult, ObjectMeta
    from obstore.store import ClientConfig, ObjectStore, RetryConfig

_READ_BYTES: Final = 256 * 1024
_PART_BYTES: Final = 8 * 1024 * 1024
_STREAM_PART_BYTES: Final = 16 * 1024 * 1024
"""Larger, because the length is not known beforehand and S3 allows at most 10,000 parts."""
_PARTS_AT_MOST: Final = 9_000
_PARTS_IN_FLIGHT: Final = 3
_LIST_PAGE: Final = 1_000
_READY_WITHIN_S: Final = 5.0
_NEVER_A_KEY: Final = "readiness-probe"


@dataclass(frozen=True)
class BlobInfo:
    """Metadata of a blob; `etag` is opaque and changes with the content."""

    key: str
    size_bytes: int
    etag: str | None
    modified_at: datetime


class BlobStore:
    """Blobs by key. Made by `open_blob_store` or `memory_blob_store`."""

    def __init__(self, store: "ObjectStore", *, folder: Path | None = None) -> None:
        self._store = store
        self._folder = folder

    async def put(self, key: TrackedKey, data: bytes) -> None:
        """Store `data`, replacing existing content."""
        check_key(key)
        with _write_errors(key):
            await obstore.put_async(
                self._store,
                key,
                data,
                chunk_size=_PART_BYTES,
                max_concurrency=_PARTS_IN_FLIGHT,
            )

    async def put_file(self, key: TrackedKey, path: Path) -> None:
        """Store the content of a local file, replacing existing content."""
        check_key(key)
        # Checked first, so that a missing local file is not mistaken for an error of the store.
        size_bytes = (await asyncio.to_thread(path.stat)).st_size
        with _write_errors(key):
            await obstore.put_async(
                self._store,
                key,
                path,
                chunk_size=max(_PART_BYTES, -(-size_bytes // _PARTS_AT_MOST)),
                max_concurrency=_PARTS_IN_FLIGHT,
            )

    async def put_stream(self, key: TrackedKey, chunks: AsyncIterator[bytes]) -> None:
        """Store the output of `chunks`. If it raises, the error passes and nothing is stored."""
        check_key(key)
        source = _TrackedSource(chunks)
        try:
            with _write_errors(key):
                await obstore.put_async(
                    self._store,
                    key,
                    source,
                    chunk_size=_STREAM_PART_BYTES,
                    max_concurrency=_PARTS_IN_FLIGHT,
                )
        except StorageUnavailable:
            if source.failure:
                raise source.failure from None
            raise

    async def create(self, key: TrackedKey, data: bytes) -> bool:
        """Store `data` unless the key exists; return whether it was new. Atomic between writers."""
        check_key(key)
        with _write_errors(key):
            try:
                await obstore.put_async(self._store, key, data, mode="create")
            except AlreadyExistsError:
                return False
        return True

    async def copy(self, key: str, to_key: TrackedKey) -> None:
        """Copy a blob to another key; each can then be deleted independently."""
        check_key(key)
        check_key(to_key)
        with _read_errors(key, doing="copy"):
            await obstore.copy_async(self._store, key, to_key)

    async def get(self, key: str) -> bytes:
        """Return the whole content."""
        check_key(key)
        with _read_errors(key):
            result = await obstore.get_async(self._store, key)
            return bytes(await result.bytes_async())

    async def get_to_file(self, key: str, path: Path) -> None:
        """Write the content to a local file, which appears whole or not at all."""
        async with atomic_file(path) as write, aclosing(self.stream(key)) as chunks:
            async for chunk in chunks:
                await write(chunk)

    async def get_to_read(self, key: str, path: Path) -> None:
        """Provide the content at a local path, read-only, for our confined children.

        If possible it is a hard link to the blob, which costs no time and survives the blob's
        deletion; otherwise a copy. Never use it in a folder that a confined child may change.
        """
        check_key(key)
        if self._folder is not None and await asyncio.to_thread(_link, self._folder / key, path):
            return
        await self.get_to_file(key, path)
        await asyncio.to_thread(path.chmod, READABLE_BY_ALL)

    async def info(self, key: str) -> BlobInfo | None:
        """Return the metadata of the blob, or None if it does not exist."""
        check_key(key)
        try:
            with _read_errors(key):
                return _info(await obstore.head_async(self._store, key))
        except BlobNotFound:
            return None

    async def stream(
        self, key: str, *, start: int = 0, end: int | None = None
    ) -> AsyncGenerator[bytes, None]:
        """Yield the bytes from `start` up to, not including, `end`, in chunks.

        A range past the blob's end yields fewer bytes, or none.
        """
        check_key(key)
        if start < 0 or (end is not None and end < start):
            raise ValueError(f"not a byte range: {start} to {end}")
        with _read_errors(key):
            result = await self._open_range(key, start, end)
            if result is None:
                return
            async for chunk in result.stream(min_chunk_size=_READ_BYTES):
                yield bytes(chunk)

    async def delete(self, key: str) -> None:
        """Delete the blob; deleting a missing one is not an error."""
        check_key(key)
        with suppress(BlobNotFound), _read_errors(key, doing="delete"):
            await obstore.delete_async(self._store, key)

    async def delete_all(self, keys: Sequence[str]) -> None:
        """Delete blobs, in few requests where the store can; missing ones are not an error."""
        if not keys:
            return
        try:
            with _read_errors(keys[0], doing="delete"):
                await obstore.delete_async(self._store, keys)
        except BlobNotFound:
            # The batch stopped at the first missing key.
            for key in keys:
                await self.delete(key)

    async def delete_prefix(self, prefix: str) -> int:
        """Delete every blob under `prefix` (`a/b` does not match `a/bc`); return the count."""
        folder = check_prefix(prefix)
        count = 0
        while keys := await self._first_keys(folder):
            await self.delete_all(keys)
            count += len(keys)
        return count

    async def list(self, prefix: str = "") -> AsyncGenerator[BlobInfo, None]:
        """Yield every blob under `prefix` (whole parts), in no particular order."""
        folder = check_prefix(prefix) if prefix else None
        with _read_errors(prefix, doing="list"):
            async for page in obstore.list(self._store, folder, chunk_size=_LIST_PAGE):
                for meta in page:
                    yield _info(meta)

    async def is_ready(self) -> bool:
        """Return whether the store can be reached now, within a few seconds."""
        try:
            async with asyncio.timeout(_READY_WITHIN_S):
                if self._folder is not None:
                    # A missing folder lists as empty, so it is checked directly.
                    return await asyncio.to_thread(_is_usable, self._folder)
                await obstore.list(self._store, _NEVER_A_KEY).collect_async()
        except (TimeoutError, BaseError, OSError):
            return False
        return True

    async def _open_range(self, key: str, start: int, end: int | None) -> "GetResult | None":
        """Open the range, or return None if it contains no byte of the blob."""
        if start == 0 and end is None:
            return await obstore.get_async(self._store, key)
        if start == end:
            await obstore.head_async(self._store, key)
            return None
        options: GetOptions = {"range": {"offset": start} if end is None else (start, end)}
        try:
            return await obstore.get_async(self._store, key, options=options)
        except GenericError:
            # Stores report a range past the end like any other error.
            meta = await obstore.head_async(self._store, key)
            if start >= meta["size"]:
                return None
            raise

    async def _first_keys(self, folder: str) -> Sequence[str]:
        with _read_errors(folder, doing="list"):
            async for page in obstore.list(self._store, folder, chunk_size=_LIST_PAGE):
                return [meta["path"] for meta in page]
        return []


def memory_blob_store() -> BlobStore:
    """Return an empty store that lives as long as this object: for tests."""
    return BlobStore(MemoryStore())


def open_blob_store(url: str | None, *, folder: Path) -> BlobStore:
    """Open the store at `url`, or the local `folder` if `url` is None.

    `url` is a folder's path, `s3://bucket/prefix`, `gs://bucket/prefix` or `az://container/prefix`.
    Credentials come from the environment variables that each provider documents (AWS_*, GOOGLE_*,
    AZURE_*). AWS_ENDPOINT_URL selects another S3-compatible server, over http if it says so.
    """
    if not url:
        return _open_folder(folder)
    scheme, found, _ = url.partition("://")
    if not found:
        return _open_folder(Path(url))
    if scheme == "file":
        return _open_folder(Path(unquote(urlsplit(url).path)))
    if scheme not in {"s3", "gs", "az"}:
        raise StorageUrlInvalid(
            f"Storage address {url!r}: use a folder's path, or an address that starts with "
            "s3://, gs:// or az://."
        )
    try:
        return BlobStore(from_url(url, client_options=_client(), retry_config=_retries()))
    except (BaseError, ValueError) as error:
        raise StorageUrlInvalid(f"Storage address {url!r}: {_first_line(error)}") from error


def _open_folder(folder: Path) -> BlobStore:
    folder = folder.expanduser().absolute()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return BlobStore(LocalStore(folder, automatic_cleanup=True), folder=folder)


def _client() -> "ClientConfig":
    endpoints = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
    endpoint = next((os.environ[name] for name in endpoints if os.environ.get(name)), "")
    return {
        "allow_http": endpoint.lower().startswith("http://"),
        "connect_timeout": timedelta(seconds=5),
        # Also covers the upload of one part: 8 MiB in two minutes is a slow connection.
        "read_timeout": timedelta(minutes=2),
        # For a whole response: the default of 30 s would cut off slow downloads.
        "timeout": timedelta(days=1),
    }


def _retries() -> "RetryConfig":
    # Jobs are retried anyway; a request should not wait for minutes before it fails.
    return {"max_retries": 4, "retry_timeout": timedelta(seconds=60)}


class _TrackedSource:
    """Passes chunks on, and records errors of their source, which are not errors of the store."""

    def __init__(self, chunks: AsyncIterator[bytes]) -> None:
        self._chunks = chunks
        self.failure: Exception | None = None

    def __aiter__(self) -> "_TrackedSource":
        return self

    async def __anext__(self) -> bytes:
        try:
            return await anext(self._chunks)
        except StopAsyncIteration:
            raise
        except Exception as error:
            self.failure = error
            raise


@contextmanager
def _read_errors(key: str, *, doing: str = "read") -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise BlobNotFound(f"No blob is stored under {key!r}.", key=key) from error
    except (BaseError, OSError) as error:
        raise _unavailable(doing, key, error) from error


@contextmanager
def _write_errors(key: str) -> Iterator[None]:
    try:
        yield
    except (BaseError, OSError) as error:
        # Includes FileNotFoundError, which a write raises for a missing bucket.
        raise _unavailable("write", key, error) from error


def _unavailable(doing: str, key: str, error: Exception) -> StorageUnavailable:
    return StorageUnavailable(
        f"Could not {doing} {key!r} in the blob store: {_first_line(error)}", key=key
    )


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0][:300]


def _link(blob: Path, path: Path) -> bool:
    """Hard-link a file to `path`, replacing what is there; return False if that is impossible.

    It is impossible across file systems. The link has the mode of the blob, which stays unchanged.
    """
    part = path.with_name(f"{path.name}.{uuid4().hex}.part")
    try:
        mode = blob.lstat().st_mode
        # Confined children of root are another user; those of others have the same user id.
        is_readable = mode & stat.S_IROTH or os.geteuid() != 0
        if not (stat.S_ISREG(mode) and is_readable):
            return False
        os.link(blob, part)
        part.replace(path)
    except OSError:
        # Reading the blob gives a better error.
        return False
    finally:
        # Still present if both are names of one file: then replacing does nothing.
        part.unlink(missing_ok=True)
    return True


def _is_usable(folder: Path) -> bool:
    return folder.is_dir() and os.access(folder, os.R_OK | os.W_OK | os.X_OK)


def _info(meta: "ObjectMeta") -> BlobInfo:
    return BlobInfo(
        key=meta["path"],
        size_bytes=meta["size"],
        etag=meta["e_tag"],
        modified_at=meta["last_modified"],
    )
