"""Joins the parts of an upload into a local file or a blob, with constant memory."""

import asyncio
import hashlib
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from pathlib import Path

from framekiln.files.errors import Md5Mismatch
from framekiln.files.model import File, normalize_md5
from framekiln.files.part_store import Part
from framekiln.kit.atomic_file import atomic_file
from framekiln.storage.blob_store import BlobStore


async def write_joined(
    blobs: BlobStore,
    parts: Sequence[Part],
    path: Path,
    *,
    on_bytes: Callable[[int], None] = lambda _: None,
) -> str:
    """Write all parts to a local file and return its MD5; calls `on_bytes` with the byte count."""
    md5, written = hashlib.md5(usedforsecurity=False), 0
    async with atomic_file(path) as write, aclosing(stream_parts(blobs, parts)) as chunks:
        async for chunk in chunks:
            await write(chunk)
            await asyncio.to_thread(md5.update, chunk)
            written += len(chunk)
            on_bytes(written)
    return md5.hexdigest()


async def stream_parts(blobs: BlobStore, parts: Sequence[Part]) -> AsyncGenerator[bytes, None]:
    """Yield the bytes of all parts, in order."""
    for part in parts:
        async with aclosing(blobs.stream(part.blob_key)) as chunks:
            async for chunk in chunks:
                yield chunk


def check_md5(file: File, found: str) -> None:
    """Raise `Md5Mismatch` when the caller declared another MD5."""
    if file.md5 is not None and normalize_md5(file.md5) != found:
        raise Md5Mismatch(
            f"the content of {file.filename[:100]!r} has the md5 {found}, but {file.md5} was"
            " declared: create the file again and repeat the upload",
            md5=found,
        )
