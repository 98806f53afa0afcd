"""Stores the output of a render, and finds out what events say about it."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from framekiln.jobs.failures import retry_while_database_down
from framekiln.kit.cancellation import check_cancelled, run_cancellable
from framekiln.renders.model import Render, output_key
from framekiln.storage.keys import TrackedKey
from framekiln.storage.new_blobs import NewBlobs

_CHUNK_BYTES: Final = 1 << 20


@dataclass(frozen=True)
class OutputFacts:
    """What is known of the bytes of an output."""

    byte_size: int
    md5: str


@dataclass(frozen=True)
class OutputBlob(OutputFacts):
    """An output under its key, which a row still has to name."""

    key: TrackedKey


async def store_output(render: Render, path: Path, new_blobs: NewBlobs) -> OutputBlob:
    """Store the output of a render under a new key."""
    facts = await read_output_facts(path)
    new = output_key(render)
    [key] = await retry_while_database_down(lambda: new_blobs.register(new))
    await new_blobs.blobs.put_file(key, path)
    return OutputBlob(facts.byte_size, facts.md5, key)


async def read_output_facts(path: Path) -> OutputFacts:
    """Return the facts of a file."""
    return await run_cancellable(_read_facts, path)


def _read_facts(path: Path) -> OutputFacts:
    md5, byte_size = hashlib.md5(usedforsecurity=False), 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            check_cancelled()
            md5.update(chunk)
            byte_size += len(chunk)
    return OutputFacts(byte_size, md5.hexdigest())
