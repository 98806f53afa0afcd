"""Killed workers, a killed database and lost answers: no job is lost, none is ended twice."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from framekiln.db import pool
from framekiln.db.migrate import migrate
from framekiln.db.pool import Database
from framekiln.jobs.model import JobStatus, WorkerTiming
from framekiln.jobs.queue import JobQueue
from tests.support.failing_tables import failing_table
from tests.support.jobs import (
    FAST_TIMING,
    BlockingHandler,
    RecordingHandler,
    defer,
    expire_heartbeats,
    is_empty,
    job,
    open_database,
    open_queue,
    running_worker,
    sweep_dead,
    sweep_recovers,
    wait_until,
    worker_ids,
)
from tests.support.lossy_proxy import LossyProxy
from tests.support.postgres import PostgresServer
from tests.support.timeouts import TIMEOUT_S

WORKER_PROCESS = """
import asyncio, sys
from framekiln.jobs.model import WorkerPool, WorkerTiming
from framekiln.jobs.queue import JobQueue

async def hold(job):
    print("started", job.attempt, flush=True)
    await asyncio.sleep(600)

asyncio.run(JobQueue(sys.argv[1]).run_worker(
    {"hold": hold}, WorkerPool(("work",), 1), name="victim",
    timing=WorkerTiming(heartbeat_s=0.2, poll_s=0.1),
))
"""


@pytest.fixture
def restarted_postgres(fragile_postgres: PostgresServer) -> PostgresServer:
    """A server to be crashed, with the queue in its main database."""
    migrate(fragile_postgres.conninfo)
    return fragile_postgres


class TestCrashes:
    async def test_the_job_of_a_killed_worker_is_requeued(
        self, queue: JobQueue, database: Database, conninfo: str
    ) -> None:
        await defer(queue, database, job("hold"))
        victim = await asyncio.to_thread(_start_and_kill_worker, conninfo)
        assert victim == "started 1"
        dead = await worker_ids(database)
        notebook = RecordingHandler()
        async with running_worker(queue, hold=notebook):
            assert notebook.runs == []
            await wait_until(sweep_recovers(queue, database, dead))
            await wait_until(is_empty(queue))
        assert [run.attempt for run in notebook.runs] == [2]

    @pytest.mark.parametrize("condition", ["disk_full", "read_only_sql_transaction"])
    async def test_a_worker_waits_while_the_database_refuses_to_write(
        self, queue: JobQueue, database: Database, condition: str
    ) -> None:
        handler = BlockingHandler()
        await defer(queue, database, job(n=1))
        async with running_worker(queue, concurrency=2, note=handler):
            await handler.has_started()
            with capture_logs() as lines:

                async def both_wait() -> bool:
                    return sum(line["event"] == "worker.waiting_for_database" for line in lines) > 3

                async with failing_table(
                    database, "procrastinate_jobs", on="UPDATE", condition=condition
                ):
                    await defer(queue, database, job(n=2))
                    handler.release.set()
                    await wait_until(both_wait)
            await wait_until(is_empty(queue))
        assert [run.attempt for run in handler.runs] == [1, 1]

    async def test_living_worker_is_not_swept(self, queue: JobQueue, database: Database) -> None:
        stuck = BlockingHandler()
        await defer(queue, database, job())
        async with running_worker(queue, note=stuck):
            await stuck.has_started()
            await expire_heartbeats(database, await worker_ids(database))
            await wait_until(_all_are_heard(database))
            assert await sweep_dead(queue, database, dead=[]) == 0
            stuck.release.set()
            await wait_until(is_empty(queue))
        assert len(stuck.runs) == 1

    async def test_a_worker_presumed_dead_changes_nothing_and_continues(
        self, queue: JobQueue, database: Database
    ) -> None:
        """Its job runs elsewhere as attempt 2; the first run's end must not end the second."""
        zombie, heir = BlockingHandler(), BlockingHandler()
        slow = WorkerTiming(heartbeat_s=600, poll_s=0.1)
        await defer(queue, database, job(n=1))
        async with running_worker(queue, pace=slow, note=zombie):
            await zombie.has_started()
            dead = await worker_ids(database)
            async with running_worker(queue, note=heir):
                await wait_until(sweep_recovers(queue, database, dead))
                await heir.has_started()
                zombie.release.set()
                # The zombie is free again: as it has one slot, its next job proves it.
                zombie_next = await defer(queue, database, job(n=2))
                await wait_until(zombie.has(2))
                (record,) = [r for r in await queue.list_jobs() if r.job_id not in zombie_next]
                assert (record.status, record.attempts) == (JobStatus.DOING, 1)
                heir.release.set()
                await wait_until(is_empty(queue))
        assert [run.attempt for run in heir.runs] == [2]

    async def test_sweep_drops_a_job_whose_dedupe_key_is_queued_again(
        self, queue: JobQueue, database: Database, conninfo: str
    ) -> None:
        await defer(queue, database, job("hold", dedupe_key="k"))
        await asyncio.to_thread(_start_and_kill_worker, conninfo)
        (twin,) = await defer(queue, database, job("hold", dedupe_key="k"))
        dead = await worker_ids(database)

        async def only_the_twin_is_left() -> bool:
            assert await sweep_dead(queue, database, dead) == 0
            return [record.job_id for record in await queue.list_jobs()] == [twin]

        await wait_until(only_the_twin_is_left)

    async def test_database_crash_while_idle(self, restarted_postgres: PostgresServer) -> None:
        notebook = RecordingHandler()
        async with (
            open_queue(restarted_postgres.conninfo) as queue,
            open_database(restarted_postgres.conninfo) as database,
            running_worker(queue, note=notebook),
        ):
            await defer(queue, database, job(n=1))
            await wait_until(is_empty(queue))
            await asyncio.to_thread(restarted_postgres.kill)
            await asyncio.sleep(FAST_TIMING.heartbeat_s * 5)
            await asyncio.to_thread(restarted_postgres.start)
            await wait_until(database.is_ready)
            await defer(queue, database, job(n=2))
            await wait_until(is_empty(queue))
        assert [run.args["n"] for run in notebook.runs] == [1, 2]

    async def test_job_that_ends_while_the_database_is_away_is_recorded_once(
        self, restarted_postgres: PostgresServer
    ) -> None:
        ending, lasting = BlockingHandler(), BlockingHandler()
        async with (
            open_queue(restarted_postgres.conninfo) as queue,
            open_database(restarted_postgres.conninfo) as database,
            running_worker(queue, concurrency=2, ending=ending, lasting=lasting),
        ):
            await defer(queue, database, job("ending"), job("lasting"))
            await ending.has_started()
            await lasting.has_started()
            await asyncio.to_thread(restarted_postgres.kill)
            ending.release.set()
            await asyncio.sleep(FAST_TIMING.heartbeat_s * 5)
            await asyncio.to_thread(restarted_postgres.start)
            await wait_until(database.is_ready)
            # Its heartbeats could not be heard: that does not make the worker dead.
            await expire_heartbeats(database, await worker_ids(database))
            assert await queue.sweep_stalled(TIMEOUT_S) == 0
            lasting.release.set()
            await wait_until(is_empty(queue))
        assert [run.attempt for run in ending.runs + lasting.runs] == [1, 1]

    @pytest.mark.parametrize("lost", [b"job_take", b"procrastinate_finish_job"])
    async def test_a_lost_database_response_neither_loses_nor_repeats_the_job(
        self, queue: JobQueue, database: Database, conninfo: str, tmp_path: Path, lost: bytes
    ) -> None:
        notebook = RecordingHandler()
        await defer(queue, database, job(n=1), job(n=2))
        async with LossyProxy(conninfo, tmp_path, lost) as proxy:
            async with running_worker(JobQueue(proxy.conninfo), note=notebook):
                await wait_until(is_empty(queue))
            assert proxy.has_lost
        assert [(run.args["n"], run.attempt) for run in notebook.runs] == [(1, 1), (2, 1)]

    async def test_stopping_while_the_database_is_away(
        self, restarted_postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        stuck = BlockingHandler()
        async with (
            open_queue(restarted_postgres.conninfo) as queue,
            open_database(restarted_postgres.conninfo) as database,
        ):
            with monkeypatch.context() as hasty:
                async with running_worker(queue, note=stuck):
                    await defer(queue, database, job())
                    await stuck.has_started()
                    await asyncio.to_thread(restarted_postgres.kill)
                    hasty.setattr(pool, "ACQUIRE_TIMEOUT_S", 0.2)
            assert stuck.cancelled == 1
            await asyncio.to_thread(restarted_postgres.start)
            await wait_until(database.is_ready)
            await wait_until(sweep_recovers(queue, database, await worker_ids(database)))


def _all_are_heard(database: Database) -> Callable[[], Awaitable[bool]]:
    async def answer() -> bool:
        async with database.connection() as connection:
            cursor = await connection.execute(
                "SELECT id FROM procrastinate_workers"
                " WHERE last_heartbeat < now() - interval '30 minutes'"
            )
            return not await cursor.fetchall()

    return answer


def _start_and_kill_worker(conninfo: str) -> str:
    """Run a worker process until its handler has started, kill it -9, return what it said."""
    source = Path(__file__).parents[2] / "src"
    with subprocess.Popen(
        [sys.executable, "-c", WORKER_PROCESS, conninfo],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(source)},
    ) as process:
        assert process.stdout is not None
        said = ""
        while not said.startswith("started"):
            said = process.stdout.readline()
            assert said, "the worker process ended"
        process.send_signal(signal.SIGKILL)
    return said.strip()
