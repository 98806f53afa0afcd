"""Work beside a test, such as that of a worker."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any


@asynccontextmanager
async def in_background(work: Coroutine[Any, Any, Any]) -> AsyncIterator[None]:
    """Run work during the block, then cancel it; it must not have ended before."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        assert not task.done(), task.exception()
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
