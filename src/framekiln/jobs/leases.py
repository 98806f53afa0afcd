"""Fetches, finishes and releases the jobs of a worker, also across database outages.

Procrastinate's own manager raises when PostgreSQL is down or its disk is full, which would end the
worker and leave finished jobs unrecorded. This one waits and retries. It also handles lost
responses: a job whose fetch response was lost is adopted, and only the attempt that holds a job can
finish it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final, LiteralString, TypeVar, cast

import psycopg
import structlog
from procrastinate.connector import BaseAsyncConnector
from procrastinate.jobs import Job, Status
from procrastinate.manager import JobManager

from framekiln.db.pool import DatabaseUnavailable
from framekiln.jobs.model import RunningLimit, limits_json

PAUSE_S = 0.5
OUTAGES = (DatabaseUnavailable, psycopg.OperationalError, psycopg.errors.ReadOnlySqlTransaction)
"""Errors of the server that pass: it is down, its disk is full, it became a standby."""

# Procrastinate's own query takes the oldest job; this one lets organizations take turns.
TAKE: LiteralString = """
SELECT * FROM job_take(%(queues)s::text[], %(worker_id)s, %(limits)s) WHERE id IS NOT NULL
"""

# Both do nothing if the job was swept and belongs to another attempt, so they can be repeated
# when the first response was lost.
FINISH: LiteralString = """
WITH mine AS (
    SELECT id FROM procrastinate_jobs
    WHERE id = %(job_id)s AND status = 'doing'
      AND worker_id = %(worker_id)s AND attempts = %(attempts)s
    FOR UPDATE
)
SELECT id, procrastinate_finish_job_v1(
    id, %(status)s::procrastinate_job_status, %(delete_job)s
) FROM mine
"""
RETRY: LiteralString = """
WITH mine AS (
    SELECT id FROM procrastinate_jobs
    WHERE id = %(job_id)s AND status = 'doing'
      AND worker_id = %(worker_id)s AND attempts = %(attempts)s
    FOR UPDATE
)
SELECT id, procrastinate_retry_job_v2(id, %(retry_at)s::timestamptz, NULL, NULL, NULL) FROM mine
"""
# Beside the arguments, so that it needs no column in Procrastinate's table.
RETURNED: Final = "returned"
NOTE_RETURN: LiteralString = """
UPDATE procrastinate_jobs SET args = args || %(returned)s
WHERE id = %(job_id)s AND status = 'doing'
  AND worker_id = %(worker_id)s AND attempts = %(attempts)s
"""
# An upsert: the sweep deletes the row of a worker that it considers dead.
BEAT: LiteralString = """
INSERT INTO procrastinate_workers (id, last_heartbeat) OVERRIDING SYSTEM VALUE
VALUES (%(worker_id)s, now())
ON CONFLICT (id) DO UPDATE SET last_heartbeat = now()
"""

T = TypeVar("T")

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Returns:
    """The attempts of a job that are not counted against it."""

    count: int = 0
    last: int = 0
    """How many attempts there were with the last of them."""

    def with_one_more(self, attempts_before: int) -> "Returns":
        """Return them with the current attempt, which has `attempts_before`."""
        return Returns(self.count + 1, attempts_before + 1)


def returns_of(job: Job) -> Returns:
    """Return the returned attempts of a job that a `LeaseManager` has fetched."""
    return Returns(**cast("dict[str, int]", job.task_kwargs[RETURNED]))


class LeaseManager(JobManager):
    """Procrastinate's job manager for one worker; it waits while the database fails."""

    def __init__(
        self,
        connector: BaseAsyncConnector,
        *,
        limits: Sequence[RunningLimit] = (),
        unreserved_slots: int | None = None,
    ) -> None:
        super().__init__(connector)
        self._limits = limits_json(limits)
        self._unreserved_slots = unreserved_slots
        # Attempts that were started and not yet recorded, as (job id, attempts before it).
        self._running: set[tuple[int, int]] = set()
        self._returning: set[tuple[int, int]] = set()
        self._is_stopping = False

    def note_return(self, job: Job) -> None:
        """Do not count the attempt that is about to be retried against the job."""
        self._returning.add(_attempt_of(job))

    def stop_waiting(self) -> None:
        """Do not wait for the database any more: the process is about to end."""
        self._is_stopping = True

    async def prune_stalled_workers(self, seconds_since_heartbeat: float) -> list[int]:
        """Do nothing: the sweep does it, and releases the jobs in the same transaction."""
        return []

    async def register_worker(self) -> int:
        """Return the id of a new worker."""
        return await self._retry_while_failing(super().register_worker)

    async def update_heartbeat(self, worker_id: int) -> None:
        """Send a heartbeat; if it fails, the next one makes up for it."""
        try:
            await self.connector.execute_query_async(BEAT, worker_id=worker_id)
        except (DatabaseUnavailable, psycopg.Error) as error:
            log.warning("worker.heartbeat_failed", worker_id=worker_id, error=str(error))

    async def fetch_job(self, queues: Iterable[str] | None, worker_id: int) -> Job | None:
        """Fetch the next job, or one that was fetched before but whose response was lost."""
        is_response_lost = False
        while True:
            try:
                job = await self._find_unknown(worker_id) if is_response_lost else None
                job = job or await self._take(queues, worker_id)
                return self._track(job) if job else None
            except OUTAGES as error:
                is_response_lost = True
                await self._pause(error)
            except psycopg.errors.ForeignKeyViolation:
                log.warning("worker.was_considered_dead", worker_id=worker_id)
                await self.update_heartbeat(worker_id)

    async def finish_job(self, job: Job, status: Status, delete_job: bool) -> None:
        """Record the end of an attempt; the row of a cancelled job is deleted."""
        await self._end(
            job, FINISH, status=status.value, delete_job=delete_job or status is Status.ABORTED
        )

    async def retry_job(
        self,
        job: Job,
        retry_at: datetime | None = None,
        priority: int | None = None,
        queue: str | None = None,
        lock: str | None = None,
    ) -> None:
        """Return the job to its queue, at once if `retry_at` is None."""
        try:
            await self._record_return(job)
            await self._end(job, RETRY, retry_at=retry_at)
        except psycopg.errors.UniqueViolation:
            # A job with the same dedupe key was queued meanwhile and does this work.
            log.info("job.superseded", job_id=job.id, dedupe_key=job.queueing_lock)
            await self._end(job, FINISH, status=Status.FAILED.value, delete_job=True)

    async def _take(self, queues: Iterable[str] | None, worker_id: int) -> Job | None:
        assert queues is not None, "every worker names its queues"
        limits = self._limits
        if self._unreserved_slots is not None and len(self._running) >= self._unreserved_slots:
            limits = {queue: {**limits.get(queue, {}), "most": 1} for queue in queues}
        rows = await self.connector.execute_query_all_async(
            TAKE, queues=list(queues), worker_id=worker_id, limits=limits
        )
        return Job.from_row(rows[0]) if rows else None

    def _track(self, job: Job) -> Job:
        self._running.add(_attempt_of(job))
        args = dict(job.task_kwargs)
        returned = args.pop(RETURNED, {})
        # Wrapped, because they become keyword arguments, and a name like "self" would clash.
        return job.evolve(task_kwargs={"args": args, RETURNED: returned})

    async def _find_unknown(self, worker_id: int) -> Job | None:
        jobs = await self.list_jobs_async(worker_id=worker_id, status=Status.DOING.value)
        return next((job for job in jobs if _attempt_of(job) not in self._running), None)

    async def _record_return(self, job: Job) -> None:
        """Record it in a statement of its own: repeating it, or dying after it, does no harm."""
        if _attempt_of(job) not in self._returning:
            return
        self._returning.discard(_attempt_of(job))
        returns = returns_of(job).with_one_more(job.attempts)
        await self._retry_while_failing(
            lambda: self.connector.execute_query_async(
                NOTE_RETURN,
                job_id=job.id,
                worker_id=job.worker_id,
                attempts=job.attempts,
                returned={RETURNED: asdict(returns)},
            )
        )

    async def _end(self, job: Job, query: LiteralString, **arguments: Any) -> None:
        rows = await self._retry_while_failing(
            lambda: self.connector.execute_query_all_async(
                query,
                job_id=job.id,
                worker_id=job.worker_id,
                attempts=job.attempts,
                **arguments,
            )
        )
        self._running.discard(_attempt_of(job))
        if not rows:
            log.warning("job.lost", job_id=job.id, attempt=job.attempts + 1)

    async def _retry_while_failing(self, work: Callable[[], Awaitable[T]]) -> T:
        while True:
            try:
                return await work()
            except OUTAGES as error:
                await self._pause(error)

    async def _pause(self, error: Exception) -> None:
        if self._is_stopping:
            raise error
        log.warning("worker.waiting_for_database", error=str(error))
        await asyncio.sleep(PAUSE_S)


def _attempt_of(job: Job) -> tuple[int, int]:
    assert job.id is not None
    return job.id, job.attempts
