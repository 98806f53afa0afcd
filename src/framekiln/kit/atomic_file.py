"""Writes a local file atomically, without blocking the event loop."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from framekiln.kit.ids import new_uuid

# For files that confined children read, possibly as another user; their folder keeps others out.
READABLE_BY_ALL: Final = 0o644

Write = Callable[[bytes], Awaitable[object]]


@asynccontextmanager
async def atomic_file(path: Path) -> AsyncIterator[Write]:
    """Yield a function that appends bytes; `path` is complete once the block has ended.

    If the block raises, the previous content of `path` stays unchanged.
    """
    part = path.with_name(f"{path.name}.{new_uuid().hex}.part")
    try:
        with await asyncio.to_thread(part.open, "wb") as file:
            yield lambda chunk: asyncio.to_thread(file.write, chunk)
        await asyncio.to_thread(part.replace, path)
    finally:
        part.unlink(missing_ok=True)
