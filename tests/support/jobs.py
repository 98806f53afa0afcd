"""Handlers, workers and waits, for tests of jobs on a real PostgreSQL."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

from framekiln.db.pool import Database
from framekiln.jobs.model import (
    Handler,
    JobContext,
    JobStatus,
    NewJob,
    RetryPolicy,
    RunningLimit,
    WorkerPool,
    WorkerTiming,
)
from framekiln.jobs.queue import JobQueue
from tests.support.background import in_background
from tests.support.timeouts import TIMEOUT_S

FAST_TIMING = WorkerTiming(heartbeat_s=0.2, poll_s=0.1, retries=RetryPolicy(first_delay_s=0.01))


def job(kind: str = "note", *, dedupe_key: str | None = None, **args: object) -> NewJob:
    return NewJob(kind=kind, args=args, queue="work", dedupe_key=dedupe_key)


class RecordingHandler:
    """A handler that records its runs."""

    def __init__(self) -> None:
        self.runs: list[JobContext] = []

    async def __call__(self, context: JobContext) -> None:
        self.runs.append(context)

    def has(self, count: int) -> Callable[[], Awaitable[bool]]:
        async def reached() -> bool:
            return len(self.runs) >= count

        return reached


class BlockingHandler(RecordingHandler):
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

    async def has_started(self) -> None:
        """Wait for the first run."""
        async with asyncio.timeout(TIMEOUT_S):
            await self.started.wait()


@asynccontextmanager
async def running_worker(
    queue: JobQueue, *, concurrency: int = 1, pace: WorkerTiming = FAST_TIMING, **handlers: Handler
) -> AsyncIterator[None]:
    """Run a worker during the block, and stop it as a shutdown would."""
    async with in_background(
        queue.run_worker(handlers, WorkerPool(("work",), concurrency), name="test", timing=pace)
    ):
        yield


@asynccontextmanager
async def open_queue(
    conninfo: str, *, limits: Sequence[RunningLimit] = ()
) -> AsyncIterator[JobQueue]:
    queue = JobQueue(conninfo, limits=limits)
    await queue.open()
    try:
        yield queue
    finally:
        await queue.close()


@asynccontextmanager
async def open_database(conninfo: str, *, max_connections: int = 8) -> AsyncIterator[Database]:
    database = Database(conninfo, max_connections=max_connections)
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


async def wait_until(is_true: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(TIMEOUT_S):
        while not await is_true():  # noqa: ASYNC110 - what is asked lives in the database
            await asyncio.sleep(0.05)


async def wait_for_blocked(database: Database) -> None:
    """Return when somebody waits for a lock in this database."""

    async def is_anybody_blocked() -> bool:
        async with database.connection() as connection:
            cursor = await connection.execute(
                "SELECT FROM pg_stat_activity"
                " WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0"
            )
            return await cursor.fetchone() is not None

    await wait_until(is_anybody_blocked)


async def worker_ids(database: Database) -> list[int]:
    """Return the ids of all workers, alive or dead."""
    async with database.connection() as connection:
        cursor = await connection.execute("SELECT id FROM procrastinate_workers")
        return [row["id"] for row in await cursor.fetchall()]


async def expire_heartbeats(database: Database, workers: list[int]) -> None:
    """Make workers look as if their last heartbeat was an hour ago.

    Workers that are alive recover with their next heartbeat.
    """
    async with database.connection() as connection:
        await connection.execute(
            "UPDATE procrastinate_workers SET last_heartbeat = now() - interval '1 hour'"
            " WHERE id = ANY(%s)",
            (workers,),
        )


async def sweep_dead(queue: JobQueue, database: Database, dead: list[int]) -> int:
    """Sweep these workers, but none that is alive; return the number of requeued jobs.

    The sweep takes workers without a heartbeat since the server was started: however late
    heartbeats are on this machine, those of living workers are newer. The server may still hide
    jobs of a killed process for a moment, so repeat this until they are found.
    """
    await expire_heartbeats(database, dead)
    async with database.connection() as connection:
        cursor = await connection.execute(
            "SELECT extract(epoch FROM now() - pg_postmaster_start_time())::float AS age_s"
        )
        row = await cursor.fetchone()
    assert row is not None
    return await queue.sweep_stalled(row["age_s"])


def sweep_recovers(
    queue: JobQueue, database: Database, dead: list[int]
) -> Callable[[], Awaitable[bool]]:
    async def answer() -> bool:
        return await sweep_dead(queue, database, dead) > 0

    return answer


def has_jobs_left(queue: JobQueue, count: int) -> Callable[[], Awaitable[bool]]:
    async def answer() -> bool:
        return len(await queue.list_jobs()) == count

    return answer


def is_empty(queue: JobQueue) -> Callable[[], Awaitable[bool]]:
    return has_jobs_left(queue, 0)


def is_failed(queue: JobQueue) -> Callable[[], Awaitable[bool]]:
    async def answer() -> bool:
        return [record.status for record in await queue.list_jobs()] == [JobStatus.FAILED]

    return answer


async def end_attempts(database: Database, count: int) -> None:
    """Count attempts for every waiting job, as if their workers had died."""
    async with database.connection() as connection:
        await connection.execute("UPDATE procrastinate_jobs SET attempts = %s", (count,))
