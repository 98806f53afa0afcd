"""Random pauses where a busy machine is slow, so that what depends on speed fails.

`make test PAUSES=1` makes them in the processes of the tests: around each use of the database,
before stored files are read or changed, and around each job. Services that run in processes of
their own have none.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from functools import wraps
from random import Random
from typing import Any, Final

from framekiln.db.pool import Connection, Database
from framekiln.jobs.model import Handler, JobContext
from framekiln.jobs.queue import JobQueue
from framekiln.storage.blob_store import BlobStore

_SHARE: Final = 0.2
_MAX_PAUSE_S: Final = 0.4
# Hypothesis seeds the shared one, and refuses tests that use it.
_DICE: Final = Random()


def pause_at_random() -> None:
    """Add the pauses to the classes of this process, for good."""
    Database.connection = _paused_connection(Database.connection)  # type: ignore[method-assign]
    for name in ("put", "create", "get", "delete"):
        setattr(BlobStore, name, _paused_before(getattr(BlobStore, name)))
    JobQueue.run_worker = _with_paused_jobs(JobQueue.run_worker)  # type: ignore[method-assign]


async def _pause() -> None:
    if _DICE.random() < _SHARE:
        await asyncio.sleep(_DICE.random() * _MAX_PAUSE_S)


def _paused_connection(connection: Callable[[Database], Any]) -> Any:
    @asynccontextmanager
    async def paused(self: Database) -> AsyncIterator[Connection]:
        await _pause()
        async with connection(self) as opened:
            yield opened
        await _pause()

    return paused


def _paused_before(method: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    @wraps(method)
    async def paused(*args: Any, **more: Any) -> Any:
        await _pause()
        return await method(*args, **more)

    return paused


def _with_paused_jobs(run_worker: Callable[..., Awaitable[None]]) -> Any:
    @wraps(run_worker)
    async def paused(
        self: JobQueue, handlers: Mapping[str, Handler], *args: Any, **more: Any
    ) -> None:
        around = {kind: _paused_job(handler) for kind, handler in handlers.items()}
        await run_worker(self, around, *args, **more)

    return paused


def _paused_job(handler: Handler) -> Handler:
    async def paused(job: JobContext) -> None:
        await _pause()
        await handler(job)
        await _pause()

    return paused
