"""Sends a local file in chunks, going on at the byte that is missing whenever something breaks."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, Final

from framekiln.client.connection import Connection, Json, as_json
from framekiln.client.errors import LocalFileUnusable

CHUNK_BYTES: Final = 8 << 20

OnBytes = Callable[[int, int], None]
"""Gets how many bytes are there, and how many there will be."""


def md5_of(path: Path) -> str:
    """Return the sum of a local file, by which the service knows it again."""
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False))
    except OSError as error:
        raise LocalFileUnusable(f"cannot read {path}: {error.strerror}") from error
    return digest.hexdigest()


def size_of(path: Path) -> int:
    """Return how large a local file is; an empty one cannot be uploaded."""
    try:
        size_bytes = path.stat().st_size
    except OSError as error:
        raise LocalFileUnusable(f"cannot read {path}: {error.strerror}") from error
    if not path.is_file() or size_bytes == 0:
        raise LocalFileUnusable(f"{path} is empty, or is no file")
    return size_bytes


def send_file(connection: Connection, address: str, path: Path, on_bytes: OnBytes) -> Json:
    """Send what is missing of a file to its upload address; return the last answer."""
    size_bytes = size_of(path)
    with path.open("rb") as file:
        for patience in connection.patiently():
            # Whatever broke, the service knows best how much it has.
            with patience:
                state = as_json(connection.ask_once("GET", address))
                while not state["complete"]:
                    on_bytes(state["next_byte"], size_bytes)
                    before = state["next_byte"]
                    state = _send_chunk(connection, address, file, before, size_bytes)
                    if state["next_byte"] > before:
                        patience.worked()
                on_bytes(size_bytes, size_bytes)
                return state
    raise AssertionError("patience ends with an error")


def _send_chunk(
    connection: Connection, address: str, file: BinaryIO, next_byte: int, size_bytes: int
) -> Json:
    # All bytes may be there and yet not be put together: the last one asks for that.
    start = min(next_byte, size_bytes - 1)
    file.seek(start)
    data = file.read(min(CHUNK_BYTES, size_bytes - start))
    end = start + len(data)
    if end < min(start + CHUNK_BYTES, size_bytes):
        raise LocalFileUnusable(f"{file.name} became shorter while it was sent")
    headers = {"Content-Range": f"bytes {start}-{end - 1}/{size_bytes}"}
    return as_json(connection.ask_once("POST", address, content=data, headers=headers))
