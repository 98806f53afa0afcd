"""Handlers, workers and waiting, for tests of jobs on a real PostgreSQL."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

from framekiln.db.pool import Database
from framekiln.jobs.model import Handler, JobContext, JobStatus, NewJob, RetryPolicy, WorkerPace
from framekiln.jobs.queue import JobQueue

# Longer than anything takes; only a failing test waits this long.
PATIENCE_S = 30.0
QUICK = WorkerPace(heartbeat_s=0.2, poll_s=0.1, retries=RetryPolicy(first_delay_s=0.01))


def job(kind: str = "note", *, dedupe_key: str | None = None, **args: object) -> NewJob:
    return NewJob(kind=kind, args=args, queue="work", dedupe_key=dedupe_key)


class Notebook:
    """A handler that notes what it ran."""

    def __init__(self) -> None:
        self.runs: list[JobContext] = []

    async def __call__(self, context: JobContext) -> None:
        self.runs.append(context)

    def has(self, count: int) -> Callable[[], Awaitable[bool]]:
        async def reached() -> bool:
            return len(self.runs) >= count

        return reached


class Stuck(Notebook):
    """A handler that only ends when released or cancelled."""

    def __init__(self) -> None:
        super().__init__()
        self.started = asyncio.Event()
        self.release = asyncio.Event()
        self.cancelled = 0

    async def __call__(self, context: JobContext) -> None:
        await super().__call__(context)
        self.started.set()
        try:
            await self.release.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise


@asynccontextmanager
async def working(
    queue: JobQueue, *, concurrency: int = 1, pace: WorkerPace = QUICK, **handlers: Handler
) -> AsyncIterator[None]:
    """Run a worker during the block, and stop it as a shutdown would."""
    task = asyncio.create_task(
        queue.run_worker(handlers, queues=["work"], concurrency=concurrency, name="test", pace=pace)
    )
    try:
        yield
    finally:
        assert not task.done(), task.exception()
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@asynccontextmanager
async def opened_queue(conninfo: str) -> AsyncIterator[JobQueue]:
    queue = JobQueue(conninfo)
    await queue.open()
    try:
        yield queue
    finally:
        await queue.close()


@asynccontextmanager
async def opened_database(conninfo: str) -> AsyncIterator[Database]:
    database = Database(conninfo)
    await database.open()
    try:
        yield database
    finally:
        await database.close()


async def defer(queue: JobQueue, database: Database, *jobs: NewJob) -> list[int]:
    async with database.transaction() as connection:
        ids = await queue.defer_many(connection, jobs)
    assert None not in ids
    return [job_id for job_id in ids if job_id is not None]


async def eventually(is_true: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not await is_true():  # noqa: ASYNC110 - what is asked lives in the database
            await asyncio.sleep(0.05)


def is_empty(queue: JobQueue) -> Callable[[], Awaitable[bool]]:
    async def answer() -> bool:
        return await queue.list_jobs() == []

    return answer


def is_failed(queue: JobQueue) -> Callable[[], Awaitable[bool]]:
    async def answer() -> bool:
        return [record.status for record in await queue.list_jobs()] == [JobStatus.FAILED]

    return answer
