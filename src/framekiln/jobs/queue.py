"""The job queue: queues jobs in the caller's transaction, lists, cancels and retries them.

Procrastinate's SQL functions do the work; only this package knows them. A job may run twice, so
handlers must be idempotent. Nothing here is periodic: the schedule calls `sweep_stalled`.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import psycopg
import structlog
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from framekiln.db.pool import Connection, Database
from framekiln.jobs import worker
from framekiln.jobs.model import (
    STALLED_AFTER_S,
    Handler,
    JobAlreadyQueued,
    JobNotFailed,
    JobNotFound,
    JobRecord,
    JobStatus,
    NewJob,
    QueueDepth,
    RunningLimit,
    WorkerPool,
    WorkerTiming,
    limits_json,
)
from framekiln.kit.ids import OrganizationId

MAX_CONNECTIONS = 2

DEFER_JOBS: Final = "procrastinate_defer_jobs_v1(%(jobs)s::procrastinate_job_to_defer_v1[])"
"""An expression that queues jobs as part of a store's statement; `jobs` are their `job_rows`."""
DEFER: Final = f"SELECT unnest({DEFER_JOBS}) AS id"
# A server that was down received no heartbeats: after its start, workers get the full time.
FIND_DEAD_WORKERS = """
SELECT id FROM procrastinate_workers
WHERE last_heartbeat < now() - %(older_than_s)s * interval '1 second'
  AND pg_postmaster_start_time() < now() - %(older_than_s)s * interval '1 second'
FOR UPDATE SKIP LOCKED
"""
FIND_STALLED = """
SELECT id, queueing_lock, abort_requested FROM procrastinate_jobs
WHERE status = 'doing' AND (worker_id IS NULL OR worker_id = ANY(%(workers)s))
FOR UPDATE SKIP LOCKED
"""
# Rows have no creation time; their events do.
DEPTHS = """
SELECT queue_name AS queue,
       count(*) FILTER (WHERE status = 'todo') AS todo,
       count(*) FILTER (WHERE status = 'doing') AS doing,
       count(*) FILTER (WHERE status = 'failed') AS failed,
       count(DISTINCT job.owner) FILTER (WHERE status = 'todo') AS waiting_organizations,
       coalesce(extract(epoch FROM now() - min(waits_since)), 0)::float AS oldest_age_s
FROM procrastinate_jobs AS job
LEFT JOIN LATERAL (
    SELECT greatest(max(at), job.scheduled_at) AS waits_since FROM procrastinate_events
    WHERE job_id = job.id AND type IN ('deferred', 'deferred_for_retry', 'retried')
) AS wait ON job.status = 'todo' AND (job.scheduled_at IS NULL OR job.scheduled_at <= now())
GROUP BY queue_name ORDER BY queue_name
"""
LIST = """
SELECT id, task_name, queue_name, status, args, attempts, priority, queueing_lock, scheduled_at
FROM procrastinate_jobs
WHERE status IN ('todo', 'doing', 'failed')
  AND (%(queue)s::text IS NULL OR queue_name = %(queue)s)
  AND (%(kind)s::text IS NULL OR task_name = %(kind)s)
  AND (%(status)s::procrastinate_job_status IS NULL OR status = %(status)s)
ORDER BY id DESC LIMIT %(limit)s
"""
IS_WAITING = """
SELECT EXISTS (
    SELECT FROM procrastinate_jobs
    WHERE status = 'todo' AND queue_name = %(queue)s AND owner = %(owner)s
      AND task_name = %(kind)s AND priority = %(priority)s AND args @> %(args)s
) AS found
"""
# Others wait in vain if they have no running job, or at least two fewer than this organization.
# With a difference of one, both would only change places.
SHOULD_YIELD = """
SELECT EXISTS (
    SELECT FROM job_waiting_owners(ARRAY[%(queue)s], %(limits)s) AS other
    WHERE other.owner <> %(owner)s AND (other.running = 0 OR other.running + 1 < (
        SELECT count(*) FROM procrastinate_jobs AS mine
        WHERE mine.status = 'doing' AND mine.queue_name = %(queue)s AND mine.owner = %(owner)s
    ))
) AS found
"""
# Not Procrastinate's function: that counts the failed run a second time.
RETRY_FAILED = """
UPDATE procrastinate_jobs SET status = 'todo', scheduled_at = NULL, abort_requested = false
WHERE id = %s AND status = 'failed' RETURNING id
"""

log = structlog.get_logger(__name__)


class JobQueue:
    """The queue through which all other packages queue and run jobs."""

    def __init__(self, conninfo: str, *, limits: Sequence[RunningLimit] = ()) -> None:
        self._conninfo = conninfo
        self._limits = limits
        self._database = Database(conninfo, max_connections=MAX_CONNECTIONS)

    async def open(self) -> None:
        """Connect, or raise `DatabaseUnavailable` after a timeout."""
        await self._database.open()

    async def close(self) -> None:
        """Close the connections; closing twice is harmless."""
        await self._database.close()

    async def defer(self, connection: Connection, job: NewJob) -> int | None:
        """Queue a job in the caller's transaction; None if one with its dedupe key waits."""
        return (await self.defer_many(connection, [job]))[0]

    async def defer_many(self, connection: Connection, jobs: Sequence[NewJob]) -> list[int | None]:
        """Queue jobs in the caller's transaction; return what `defer` returns for each."""
        plain = [job for job in jobs if job.dedupe_key is None]
        plain_ids = iter(await _insert(connection, plain) if plain else [])
        ids: list[int | None] = []
        for job in jobs:
            is_plain = job.dedupe_key is None
            ids.append(next(plain_ids) if is_plain else await _insert_unique(connection, job))
        return ids

    async def is_waiting(self, connection: Connection, job: NewJob) -> bool:
        """Whether an equal job of an organization waits; it may have further arguments."""
        filters = {
            "queue": job.queue,
            "owner": job.args["organization_id"],
            "kind": job.kind,
            "priority": job.priority,
            "args": Jsonb(dict(job.args)),
        }
        row = await (await connection.execute(IS_WAITING, filters)).fetchone()
        return row is not None and bool(row["found"])

    async def cancel(self, job_id: int, *, connection: Connection | None = None) -> bool:
        """Remove a waiting job, or cancel the handler of a running one; False when there is none.

        With a connection, it is part of the caller's transaction.
        """
        if connection is None:
            async with self._database.transaction() as own:
                return await self.cancel(job_id, connection=own)
        cursor = await connection.execute(
            "SELECT procrastinate_cancel_job_v1(%s, true, true) AS id", (job_id,)
        )
        row = await cursor.fetchone()
        return row is not None and row["id"] is not None

    async def retry(self, job_id: int) -> None:
        """Queue a failed job again."""
        async with self._database.transaction() as connection:
            cursor = await connection.execute(
                "SELECT status FROM procrastinate_jobs WHERE id = %s FOR UPDATE", (job_id,)
            )
            row = await cursor.fetchone()
            if row is None:
                raise JobNotFound(f"there is no job {job_id}; jobs that succeeded are deleted")
            if row["status"] != JobStatus.FAILED:
                raise JobNotFailed(
                    f"job {job_id} is {row['status']}; only failed jobs can be retried"
                )
            try:
                await connection.execute(RETRY_FAILED, (job_id,))
            except psycopg.errors.UniqueViolation as error:
                raise JobAlreadyQueued(
                    f"job {job_id} is not retried: a job with the same dedupe key is waiting"
                ) from error

    async def sweep_stalled(self, older_than_s: float = STALLED_AFTER_S) -> int:
        """Return the jobs of workers without a heartbeat to their queues; return how many."""
        async with self._database.transaction() as connection:
            cursor = await connection.execute(FIND_DEAD_WORKERS, {"older_than_s": older_than_s})
            workers = [row["id"] for row in await cursor.fetchall()]
            cursor = await connection.execute(FIND_STALLED, {"workers": workers})
            stalled = await cursor.fetchall()
            released = [job["id"] for job in stalled if await _release(connection, job)]
            await connection.execute(
                "DELETE FROM procrastinate_workers WHERE id = ANY(%s)", (workers,)
            )
        if stalled:
            log.warning("job.taken_over", job_ids=released, dead_workers=workers)
        return len(released)

    async def depths(self) -> list[QueueDepth]:
        """Return the depth of each queue that has jobs."""
        async with self._database.connection() as connection:
            rows = await (await connection.execute(DEPTHS)).fetchall()
        return [QueueDepth(**row) for row in rows]

    async def should_yield(self, queue: str, organization_id: OrganizationId) -> bool:
        """Whether a long job should end early, because it is the turn of another organization."""
        filters = {
            "queue": queue,
            "owner": str(organization_id),
            "limits": Jsonb(limits_json(self._limits)),
        }
        async with self._database.connection() as connection:
            row = await (await connection.execute(SHOULD_YIELD, filters)).fetchone()
        return row is not None and bool(row["found"])

    async def list_jobs(
        self,
        *,
        queue: str | None = None,
        kind: str | None = None,
        status: JobStatus | None = None,
        limit: int = 100,
    ) -> list[JobRecord]:
        """Return the newest jobs that match, newest first."""
        filters = {"queue": queue, "kind": kind, "status": status, "limit": limit}
        async with self._database.connection() as connection:
            rows = await (await connection.execute(LIST, filters)).fetchall()
        return [_record(row) for row in rows]

    async def run_worker(
        self,
        handlers: Mapping[str, Handler],
        *pools: WorkerPool,
        name: str,
        timing: WorkerTiming | None = None,
    ) -> None:
        """Run jobs until cancelled; see `worker.run_worker`. Needs no open()."""
        await worker.run_worker(
            self._conninfo, handlers, pools, name=name, timing=timing, limits=self._limits
        )


async def _insert(connection: Connection, jobs: Sequence[NewJob]) -> list[int]:
    cursor = await connection.execute(DEFER, {"jobs": job_rows(jobs)})
    return [row["id"] for row in await cursor.fetchall()]


def job_rows(jobs: Iterable[NewJob]) -> list[tuple[Any, ...]]:
    """Return jobs as the parameter of `DEFER_JOBS`; there must be none with their dedupe key."""
    return [
        (job.queue, job.kind, job.priority, None, job.dedupe_key, Jsonb(dict(job.args)), job.run_at)
        for job in jobs
    ]


async def _insert_unique(connection: Connection, job: NewJob) -> int | None:
    try:
        # A savepoint, so that the violation does not abort the caller's transaction.
        async with connection.transaction():
            return (await _insert(connection, [job]))[0]
    except psycopg.errors.UniqueViolation:
        return None


async def _release(connection: Connection, job: DictRow) -> bool:
    """Return the job to its queue; False if it was cancelled or superseded, and deleted."""
    if not job["abort_requested"]:
        try:
            async with connection.transaction():
                await connection.execute(
                    "SELECT procrastinate_retry_job_v2(%s, NULL, NULL, NULL, NULL)", (job["id"],)
                )
            return True
        except psycopg.errors.UniqueViolation:
            # A job with the same dedupe key was queued meanwhile and does this work.
            log.info("job.superseded", job_id=job["id"], dedupe_key=job["queueing_lock"])
    await connection.execute("SELECT procrastinate_finish_job_v1(%s, 'failed', true)", (job["id"],))
    return False


def _record(row: Mapping[str, Any]) -> JobRecord:
    return JobRecord(
        job_id=row["id"],
        kind=row["task_name"],
        queue=row["queue_name"],
        status=JobStatus(row["status"]),
        args=row["args"],
        attempts=row["attempts"],
        priority=row["priority"],
        dedupe_key=row["queueing_lock"],
        run_at=row["scheduled_at"],
    )
