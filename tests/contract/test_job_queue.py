"""Deferring, sharing, order, retries and cancellation, with real workers and PostgreSQL."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from framekiln.db.pool import Database, DatabaseUnavailable
from framekiln.jobs import failures
from framekiln.jobs.model import (
    JobAlreadyQueued,
    JobContext,
    JobNotFailed,
    JobNotFound,
    JobStatus,
    NaiveRunAt,
    NewJob,
    RetryPolicy,
    WorkerPool,
)
from framekiln.jobs.queue import JobQueue
from framekiln.kit.errors import CompositionFailed, RemoteFailed
from framekiln.storage.errors import StorageUnavailable
from tests.support.jobs import (
    FAST_TIMING,
    BlockingHandler,
    RecordingHandler,
    defer,
    has_jobs_left,
    is_empty,
    is_failed,
    job,
    running_worker,
    wait_until,
)

LISTENING = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND query LIKE 'LISTEN %'
"""


class TestDefer:
    async def test_commits_and_rolls_back_with_the_caller(
        self, queue: JobQueue, database: Database
    ) -> None:
        async def defer_and_fail() -> None:
            async with database.transaction() as connection:
                assert await queue.defer(connection, job(n=1))
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await defer_and_fail()
        assert await queue.list_jobs() == []

        async with database.transaction() as connection:
            job_id = await queue.defer(connection, job(n=2))
            assert await queue.list_jobs() == []
        (record,) = await queue.list_jobs()
        assert (record.job_id, record.kind, record.args) == (job_id, "note", {"n": 2})
        assert (record.status, record.attempts) == (JobStatus.TODO, 0)

    async def test_waiting_dedupe_key_is_not_queued_twice(
        self, queue: JobQueue, database: Database
    ) -> None:
        async with database.transaction() as connection:
            first = await queue.defer(connection, job(dedupe_key="run:1"))
            assert await queue.defer(connection, job(dedupe_key="run:1")) is None
            # The caller's transaction is still good.
            other = await queue.defer(connection, job(dedupe_key="run:2"))
        assert {record.job_id for record in await queue.list_jobs()} == {first, other}

    async def test_many_keep_their_order(self, queue: JobQueue, database: Database) -> None:
        async with database.transaction() as connection:
            await queue.defer(connection, job(dedupe_key="b"))
            ids = await queue.defer_many(
                connection, [job(n=0), job(dedupe_key="a", n=1), job(dedupe_key="b"), job(n=3)]
            )
        args = {record.job_id: record.args for record in await queue.list_jobs()}
        assert ids[2] is None
        assert [args[i] for i in ids if i is not None] == [{"n": 0}, {"n": 1}, {"n": 3}]

    async def test_no_jobs_at_all(self, queue: JobQueue, database: Database) -> None:
        async with database.transaction() as connection:
            assert await queue.defer_many(connection, []) == []

    def test_run_at_without_a_zone_is_refused(self) -> None:
        with pytest.raises(NaiveRunAt, match="note"):
            NewJob("note", {}, "work", run_at=datetime(2030, 1, 1))  # noqa: DTZ001


class TestWorkers:
    async def test_two_workers_share_jobs_and_delete_finished_ones(
        self, queue: JobQueue, database: Database
    ) -> None:
        left, right = BlockingHandler(), BlockingHandler()
        async with running_worker(queue, note=left), running_worker(queue, note=right):
            await defer(queue, database, *(job(n=n) for n in range(2)))
            await left.has_started()
            await right.has_started()
            left.release.set()
            right.release.set()
            await defer(queue, database, *(job(n=n) for n in range(2, 20)))
            await wait_until(is_empty(queue))
        assert sorted(run.args["n"] for run in left.runs + right.runs) == list(range(20))

    async def test_priority_queue_and_time_decide(
        self, queue: JobQueue, database: Database
    ) -> None:
        tomorrow = datetime.now(UTC) + timedelta(days=1)
        await defer(
            queue,
            database,
            NewJob("note", {"n": "low"}, "work"),
            NewJob("note", {"n": "high"}, "work", priority=5),
            NewJob("note", {"n": "later"}, "work", run_at=tomorrow),
            NewJob("note", {"n": "elsewhere"}, "other"),
        )
        notebook = RecordingHandler()
        async with running_worker(queue, note=notebook):
            # A worker that is stopped gives a job back until its end is recorded.
            await wait_until(has_jobs_left(queue, 2))
        assert [run.args["n"] for run in notebook.runs] == ["high", "low"]
        depths = {depth.queue: depth for depth in await queue.depths()}
        assert (depths["work"].todo, depths["work"].oldest_age_s) == (1, 0)
        assert depths["other"].todo == 1
        assert depths["other"].oldest_age_s > 0

    async def test_pools_of_a_process_share_connections_and_find_jobs_that_are_due(
        self, queue: JobQueue, database: Database
    ) -> None:
        pools = [WorkerPool((f"pool {n}",), 1) for n in range(6)]
        note = RecordingHandler()
        worker = asyncio.create_task(
            queue.run_worker({"note": note}, *pools, name="test", timing=FAST_TIMING)
        )
        try:
            soon = datetime.now(UTC) + timedelta(seconds=0.5)
            jobs = [NewJob("note", {}, queue=each.queues[0], run_at=soon) for each in pools]
            async with database.transaction() as connection:
                await queue.defer_many(connection, jobs)
            await wait_until(note.has(len(pools)))
            async with database.connection() as connection:
                cursor = await connection.execute(LISTENING)
                assert [row["count"] for row in await cursor.fetchall()] == [1]
        finally:
            worker.cancel()
            await asyncio.wait([worker])

    async def test_context_has_any_argument(self, queue: JobQueue, database: Database) -> None:
        notebook = RecordingHandler()
        args = {"running": 1, "self": [2], "job_id": {"a": None}}
        (job_id,) = await defer(queue, database, NewJob("note", args, "work"))
        async with running_worker(queue, note=notebook):
            await wait_until(is_empty(queue))
        assert notebook.runs == [JobContext(job_id, "note", args, attempt=1)]

    async def test_unknown_kind_fails(self, queue: JobQueue, database: Database) -> None:
        await defer(queue, database, job("nobody"))
        async with running_worker(queue, note=RecordingHandler()):
            await wait_until(is_failed(queue))


class TestRetries:
    @pytest.mark.parametrize("error", [RuntimeError("bug"), RemoteFailed("their server")])
    async def test_retryable_errors_until_attempts_are_used_up(
        self, queue: JobQueue, database: Database, error: Exception
    ) -> None:
        notebook = RecordingHandler()

        async def fail(context: JobContext) -> None:
            await notebook(context)
            raise error

        await defer(queue, database, job())
        async with running_worker(queue, note=fail):
            await wait_until(is_failed(queue))
        assert [run.attempt for run in notebook.runs] == [1, 2, 3]

    async def test_other_errors_fail_at_once(self, queue: JobQueue, database: Database) -> None:
        notebook = RecordingHandler()

        async def fail(context: JobContext) -> None:
            await notebook(context)
            raise CompositionFailed("the page is broken")

        await defer(queue, database, job())
        async with running_worker(queue, note=fail):
            await wait_until(is_failed(queue))
        assert [run.attempt for run in notebook.runs] == [1]

    async def test_self_cancelled_handler_is_an_error(
        self, queue: JobQueue, database: Database
    ) -> None:
        notebook = RecordingHandler()

        async def cancel_itself(context: JobContext) -> None:
            await notebook(context)
            raise asyncio.CancelledError

        await defer(queue, database, job())
        async with running_worker(queue, note=cancel_itself):
            await wait_until(is_failed(queue))
        assert [run.attempt for run in notebook.runs] == [1, 2, 3]

    async def test_operator_retries_a_failed_job(self, queue: JobQueue, database: Database) -> None:
        notebook = RecordingHandler()

        async def fail_once(context: JobContext) -> None:
            await notebook(context)
            if context.attempt == 1:
                raise CompositionFailed("not yet")

        (job_id,) = await defer(queue, database, job())
        with pytest.raises(JobNotFailed, match="todo"):
            await queue.retry(job_id)
        async with running_worker(queue, note=fail_once):
            await wait_until(is_failed(queue))
            await queue.retry(job_id)
            await wait_until(is_empty(queue))
        assert [run.attempt for run in notebook.runs] == [1, 2]
        with pytest.raises(JobNotFound):
            await queue.retry(job_id)

    async def test_operator_retry_is_refused_while_its_dedupe_key_is_queued(
        self, queue: JobQueue, database: Database
    ) -> None:
        async def fail(context: JobContext) -> None:
            raise CompositionFailed("broken")

        (job_id,) = await defer(queue, database, job(dedupe_key="k"))
        async with running_worker(queue, note=fail):
            await wait_until(is_failed(queue))
        await defer(queue, database, job(dedupe_key="k"))
        with pytest.raises(JobAlreadyQueued):
            await queue.retry(job_id)

    async def test_a_retry_is_dropped_when_its_dedupe_key_is_queued_again(
        self, queue: JobQueue, database: Database
    ) -> None:
        """While one runs, another with its dedupe key may be queued; both cannot wait."""
        stuck = BlockingHandler()

        async def fail_after_release(context: JobContext) -> None:
            await stuck(context)
            if context.args["n"] == 1:
                raise RemoteFailed("try again")

        await defer(queue, database, job(dedupe_key="k", n=1))
        async with running_worker(queue, note=fail_after_release):
            await stuck.has_started()
            await defer(queue, database, job(dedupe_key="k", n=2))
            stuck.release.set()
            await wait_until(is_empty(queue))
        assert [run.args["n"] for run in stuck.runs] == [1, 2]

    def test_delays_double_up_to_the_limit(self) -> None:
        policy = RetryPolicy(max_attempts=2000)
        delays_s = [policy.delay_s(RuntimeError(), attempt) for attempt in (1, 2, 3, 7, 1999)]
        assert delays_s == [1, 2, 4, 60, 60]
        assert policy.delay_s(RuntimeError(), 2000) is None

    async def test_a_long_outage_raises_database_unavailable(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Anything else would be counted against the job, and its run would wait for ever."""
        monkeypatch.setattr(failures, "DATABASE_TIMEOUT_S", 0.01)
        nowhere = Database("host=/nowhere")
        with pytest.raises(DatabaseUnavailable, match="not available for"):
            await failures.retry_while_database_down(nowhere.connection().__aenter__)

    def test_an_outage_is_waited_for_up_to_a_day(self) -> None:
        """A job that was taken over twice has had three tries, and did nothing wrong."""
        for outage in (DatabaseUnavailable("away"), StorageUnavailable("away")):
            delays_s = [RetryPolicy().delay_s(outage, 3, returns=n) for n in (0, 2, 30, 1499, 1500)]
            assert delays_s == [4, 16, 60, 60, None]

    async def test_an_outage_of_the_bucket_costs_no_attempt(
        self, queue: JobQueue, database: Database
    ) -> None:
        """Eleven seconds of it failed every film and upload that was in progress."""
        errors = [*(StorageUnavailable("away") for _ in range(5)), RemoteFailed("later")]
        runs = RecordingHandler()

        async def fail(context: JobContext) -> None:
            await runs(context)
            if errors:
                raise errors.pop(0)

        await defer(queue, database, job(n=1))
        async with running_worker(queue, note=fail):
            await wait_until(is_empty(queue))
        assert [run.attempt for run in runs.runs] == [1, 1, 1, 1, 1, 1, 2]
        assert [run.was_returned for run in runs.runs] == [False, *[True] * 5, False]
        assert {str(run.args) for run in runs.runs} == {"{'n': 1}"}


class TestCancellation:
    async def test_waiting_job_is_removed(self, queue: JobQueue, database: Database) -> None:
        (job_id,) = await defer(queue, database, job())
        assert await queue.cancel(job_id)
        assert await queue.list_jobs() == []
        assert not await queue.cancel(job_id)

    async def test_cancelling_rolls_back_with_the_caller(
        self, queue: JobQueue, database: Database
    ) -> None:
        (job_id,) = await defer(queue, database, job())

        async def cancel_and_fail() -> None:
            async with database.transaction() as connection:
                assert await queue.cancel(job_id, connection=connection)
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await cancel_and_fail()
        assert [record.job_id for record in await queue.list_jobs()] == [job_id]

    async def test_running_handler_is_cancelled_and_not_retried(
        self, queue: JobQueue, database: Database
    ) -> None:
        stuck = BlockingHandler()
        (job_id,) = await defer(queue, database, job())
        async with running_worker(queue, note=stuck):
            await stuck.has_started()
            assert await queue.cancel(job_id)
            await wait_until(is_empty(queue))
        assert (len(stuck.runs), stuck.cancelled) == (1, 1)

    async def test_stopping_worker_gives_its_jobs_back_at_once(
        self, queue: JobQueue, database: Database
    ) -> None:
        first, second = BlockingHandler(), RecordingHandler()
        await defer(queue, database, job())
        async with running_worker(queue, note=first):
            await first.has_started()
        (record,) = await queue.list_jobs()
        assert (record.status, record.attempts, first.cancelled) == (JobStatus.TODO, 1, 1)
        async with running_worker(queue, note=second):
            await wait_until(is_empty(queue))
        assert [(run.attempt, run.was_returned) for run in second.runs] == [(1, True)]
