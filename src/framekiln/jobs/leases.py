"""How a worker takes, keeps and gives back jobs while the database comes and goes.

Procrastinate's own manager raises when PostgreSQL is away, which would silence the heartbeat and
leave finished jobs unrecorded. This one waits, and knows what to do about answers that were lost:
a job fetched by a lost answer is adopted, and a job is only ended by the run that holds it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime
from typing import Any, LiteralString, TypeVar

import psycopg
import structlog
from procrastinate.connector import BaseAsyncConnector
from procrastinate.jobs import Job, Status
from procrastinate.manager import JobManager

from framekiln.db.pool import DatabaseUnavailable

PAUSE_S = 0.5

# Both end nothing when the job was swept and belongs to another run by now, and may be
# repeated when the answer to the first try was lost.
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
# An upsert: whoever took us for dead has deleted the row.
BEAT: LiteralString = """
INSERT INTO procrastinate_workers (id, last_heartbeat) OVERRIDING SYSTEM VALUE
VALUES (%(worker_id)s, now())
ON CONFLICT (id) DO UPDATE SET last_heartbeat = now()
"""

T = TypeVar("T")

log = structlog.get_logger(__name__)


class LeaseManager(JobManager):
    """Procrastinate's job manager for one worker, patient with the database."""

    def __init__(self, connector: BaseAsyncConnector) -> None:
        super().__init__(connector)
        # The runs begun and not yet recorded, as (job id, attempts before it).
        self._held: set[tuple[int, int]] = set()
        self._in_hurry = False

    def hurry(self) -> None:
        """Stop waiting for the database: the process is about to end."""
        self._in_hurry = True

    async def prune_stalled_workers(self, seconds_since_heartbeat: float) -> list[int]:
        """Leave that to the sweep, which gives the jobs back in the same transaction."""
        return []

    async def register_worker(self) -> int:
        """Return the id of a new worker."""
        return await self._patiently(super().register_worker)

    async def update_heartbeat(self, worker_id: int) -> None:
        """Show that the worker is alive; a beat that fails is made up for by the next."""
        try:
            await self.connector.execute_query_async(BEAT, worker_id=worker_id)
        except (DatabaseUnavailable, psycopg.Error) as error:
            log.warning("worker.heartbeat_failed", worker_id=worker_id, error=str(error))

    async def fetch_job(self, queues: Iterable[str] | None, worker_id: int) -> Job | None:
        """Take the next job, or one that was taken for us by an answer that got lost."""
        is_answer_lost = False
        while True:
            try:
                job = await self._find_unheld(worker_id) if is_answer_lost else None
                job = job or await super().fetch_job(queues, worker_id)
                return self._hold(job) if job else None
            except DatabaseUnavailable as error:
                is_answer_lost = True
                await self._pause(error)
            except psycopg.errors.ForeignKeyViolation:
                log.warning("worker.was_taken_for_dead", worker_id=worker_id)
                await self.update_heartbeat(worker_id)

    async def finish_job(self, job: Job, status: Status, delete_job: bool) -> None:
        """Record the end of a run; a cancelled job leaves no row."""
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
        """Give the job back to its queue, at once when `retry_at` is None."""
        try:
            await self._end(job, RETRY, retry_at=retry_at)
        except psycopg.errors.UniqueViolation:
            # One with the same dedupe key was queued meanwhile: it does this one's work.
            log.info("job.superseded", job_id=job.id, dedupe_key=job.queueing_lock)
            await self._end(job, FINISH, status=Status.FAILED.value, delete_job=True)

    def _hold(self, job: Job) -> Job:
        self._held.add(_run_of(job))
        # Wrapped: they become keyword arguments, and a name like "self" would not do as one.
        return job.evolve(task_kwargs={"args": job.task_kwargs})

    async def _find_unheld(self, worker_id: int) -> Job | None:
        jobs = await self.list_jobs_async(worker_id=worker_id, status=Status.DOING.value)
        return next((job for job in jobs if _run_of(job) not in self._held), None)

    async def _end(self, job: Job, query: LiteralString, **arguments: Any) -> None:
        rows = await self._patiently(
            lambda: self.connector.execute_query_all_async(
                query,
                job_id=job.id,
                worker_id=job.worker_id,
                attempts=job.attempts,
                **arguments,
            )
        )
        self._held.discard(_run_of(job))
        if not rows:
            log.warning("job.not_ours_to_end", job_id=job.id, attempt=job.attempts + 1)

    async def _patiently(self, work: Callable[[], Awaitable[T]]) -> T:
        while True:
            try:
                return await work()
            except DatabaseUnavailable as error:
                await self._pause(error)

    async def _pause(self, error: DatabaseUnavailable) -> None:
        if self._in_hurry:
            raise error
        log.warning("worker.waits_for_database", error=error.message)
        await asyncio.sleep(PAUSE_S)


def _run_of(job: Job) -> tuple[int, int]:
    assert job.id is not None
    return job.id, job.attempts
