"""Runs job handlers: Procrastinate's worker with our retries, cancellation and leases.

It reaches the database through our own pool and listening connection.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final, LiteralString, NoReturn

import psycopg
import structlog
from procrastinate import App
from procrastinate.connector import BaseAsyncConnector, Notify
from procrastinate.exceptions import JobAborted, NoResult
from procrastinate.job_context import AbortReason
from procrastinate.job_context import JobContext as RunningJob
from procrastinate.jobs import Job
from procrastinate.manager import get_channel_for_queues
from procrastinate.retry import BaseRetryStrategy, RetryDecision
from psycopg.types.json import Jsonb

from framekiln.db.notify import listen
from framekiln.db.pool import Database, DatabaseUnavailable
from framekiln.jobs.leases import LeaseManager, returns_of
from framekiln.jobs.model import (
    STALLED_AFTER_S,
    Handler,
    JobContext,
    RetryPolicy,
    RunningLimit,
    WorkerPool,
    WorkerTiming,
    is_return,
)
from framekiln.kit.clock import SystemClock
from framekiln.kit.errors import FramekilnError

# Beside one for each pool. They fetch, send heartbeats and record results; handlers have their own.
_MORE_CONNECTIONS: Final = 2
# Jobs are found by notifications, and by one search for all pools.
_FETCH_EVERY_S: Final = 60.0
DUE_QUEUES: LiteralString = """
SELECT queue FROM unnest(%(queues)s::text[]) AS queue
WHERE EXISTS (
    SELECT FROM procrastinate_jobs
    WHERE status = 'todo' AND queue_name = queue
      AND (scheduled_at IS NULL OR scheduled_at <= now())
)
"""
_WAKE: Final = '{"type": "job_inserted", "job_id": 0}'

log = structlog.get_logger(__name__)


class SharedConnector(BaseAsyncConnector):
    """What the pools of a process share: connections, notifications, and the search for due jobs.

    A lost connection surfaces as `DatabaseUnavailable`.
    """

    def __init__(self, database: Database, conninfo: str) -> None:
        self._database = database
        self._conninfo = conninfo
        self._listeners: dict[str, Notify] = {}

    async def execute_query_async(self, query: LiteralString, **arguments: Any) -> None:
        """Run a query whose rows do not matter."""
        async with self._database.connection() as connection:
            await connection.execute(query, _adapted(arguments))

    async def execute_query_one_async(
        self, query: LiteralString, **arguments: Any
    ) -> dict[str, Any]:
        """Return the first row."""
        rows = await self.execute_query_all_async(query, **arguments)
        if not rows:
            raise NoResult
        return rows[0]

    async def execute_query_all_async(
        self, query: LiteralString, **arguments: Any
    ) -> list[dict[str, Any]]:
        """Return all rows."""
        async with self._database.connection() as connection:
            cursor = await connection.execute(query, _adapted(arguments))
            return await cursor.fetchall()

    async def listen_notify(self, on_notification: Notify, channels: Iterable[str]) -> None:
        """Pass notifications on until cancelled."""
        names = list(channels)
        self._listeners |= dict.fromkeys(names, on_notification)
        try:
            await asyncio.Event().wait()
        finally:
            for name in names:
                del self._listeners[name]

    async def listen(self, queues: Sequence[str]) -> NoReturn:
        """Listen for all pools; polling finds what is missed while reconnecting."""
        channels = get_channel_for_queues(queues)
        await listen(self._conninfo, channels, on_listening=lambda: None, on_notify=self._on_notify)

    async def poll(self, queues: Sequence[str], every_s: float) -> NoReturn:
        """Wake the pools whose queues have jobs that are due."""
        while True:
            await asyncio.sleep(every_s)
            try:
                due = await self.execute_query_all_async(DUE_QUEUES, queues=list(queues))
            except (DatabaseUnavailable, psycopg.Error) as error:
                log.warning("worker.poll_failed", error=str(error))
                continue
            for channel in get_channel_for_queues(row["queue"] for row in due):
                if (wake := self._listeners.get(channel)) is not None:
                    await wake(channel=channel, payload=_WAKE)

    async def _on_notify(self, notification: psycopg.Notify) -> None:
        if (pass_on := self._listeners.get(notification.channel)) is not None:
            await pass_on(channel=notification.channel, payload=notification.payload)


def _adapted(arguments: dict[str, Any]) -> dict[str, Any]:
    return {
        name: Jsonb(value) if isinstance(value, dict) else value
        for name, value in arguments.items()
    }


class HandlerCancelledItself(FramekilnError):
    """A handler was cancelled although neither a user nor the worker requested it."""

    code = "handler_cancelled_itself"
    retryable = True


async def run_worker(
    conninfo: str,
    handlers: Mapping[str, Handler],
    pools: Sequence[WorkerPool],
    *,
    name: str,
    timing: WorkerTiming | None = None,
    limits: Sequence[RunningLimit] = (),
) -> None:
    """Work until cancelled; then cancel the running handlers and give their jobs back at once.

    It waits while the database is down, except at the start, where it raises
    `DatabaseUnavailable`.
    """
    timing = timing or WorkerTiming()
    queues = [queue for pool in pools for queue in pool.queues]
    database = Database(conninfo, max_connections=len(pools) + _MORE_CONNECTIONS)
    await database.open()
    try:
        connector = SharedConnector(database, conninfo)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(connector.listen(queues))
            tasks.create_task(connector.poll(queues, timing.poll_s))
            for pool in pools:
                leases = LeaseManager(connector, limits=limits, unreserved_slots=pool.concurrency)
                tasks.create_task(
                    _run_pool(connector, leases, handlers, pool, name=name, timing=timing)
                )
    finally:
        await database.close()


async def _run_pool(
    connector: SharedConnector,
    leases: LeaseManager,
    handlers: Mapping[str, Handler],
    pool: WorkerPool,
    *,
    name: str,
    timing: WorkerTiming,
) -> None:
    app = App(connector=connector)
    app.job_manager = leases
    for kind, handler in handlers.items():
        _register(app, kind, handler=handler, retries=_Retries(timing.retries, leases))
    running = asyncio.create_task(
        app.run_worker_async(
            queues=list(pool.queues),
            concurrency=pool.concurrency + pool.reserved,
            name=f"{name}:{','.join(pool.queues)}",
            fetch_job_polling_interval=_FETCH_EVERY_S,
            abort_job_polling_interval=timing.heartbeat_s,
            update_heartbeat_interval=timing.heartbeat_s,
            stalled_worker_timeout=STALLED_AFTER_S,
            shutdown_graceful_timeout=0,
            delete_jobs="successful",
            install_signal_handlers=False,
        ),
        name=f"worker {name} {pool.queues}",
    )
    await _until_cancelled(running, leases)


async def _until_cancelled(running: asyncio.Task[None], leases: LeaseManager) -> None:
    try:
        await asyncio.shield(running)
    except asyncio.CancelledError:
        leases.stop_waiting()
        running.cancel()
        await asyncio.wait([running])
        if not running.cancelled() and (error := running.exception()):
            # The sweep finds jobs that could not be released.
            log.warning("worker.shutdown_failed", error=str(error))
        raise


def _register(app: App, kind: str, *, handler: Handler, retries: "_Retries") -> None:
    async def run(running: RunningJob, /, args: Mapping[str, Any], **_: object) -> None:
        job_id, attempts, returns = running.job.id, running.job.attempts, returns_of(running.job)
        assert job_id is not None
        job = JobContext(
            job_id,
            kind,
            args,
            attempt=attempts + 1 - returns.count,
            returns=returns.count,
            was_returned=returns.count > 0 and returns.last == attempts,
            retries=retries.policy,
        )
        with structlog.contextvars.bound_contextvars(
            job_id=job.job_id, job_kind=job.kind, attempt=job.attempt
        ):
            await _run_handler(handler, job, running)

    app.task(name=kind, pass_context=True, retry=retries)(run)


async def _run_handler(handler: Handler, job: JobContext, running: RunningJob) -> None:
    log.info("job.started")
    try:
        await handler(job)
    except asyncio.CancelledError as error:
        reason = running.abort_reason()
        if reason is None:
            log.warning("job.cancelled_itself")
            raise HandlerCancelledItself(
                f"the handler of {job.kind} was cancelled, but nobody requested it"
            ) from error
        log.info("job.cancelled", reason=reason.value)
        if reason is AbortReason.USER_REQUEST:
            raise JobAborted from error
        raise
    except Exception as error:
        log.warning("job.raised", error=repr(error), exc_info=not isinstance(error, FramekilnError))
        raise
    log.info("job.succeeded")


class _Retries(BaseRetryStrategy):
    """Adapts our retry policy to Procrastinate."""

    def __init__(self, policy: RetryPolicy, leases: LeaseManager) -> None:
        self.policy = policy
        self._leases = leases

    def get_retry_decision(self, *, exception: BaseException, job: Job) -> RetryDecision | None:
        if isinstance(exception, asyncio.CancelledError):
            # Only a worker that stops gets here: the job is queued again at once.
            self._leases.note_return(job)
            return RetryDecision()
        returns = returns_of(job).count
        attempt = job.attempts + 1 - returns
        delay_s = self.policy.delay_s(exception, attempt, returns=returns)
        if delay_s is None:
            log.warning("job.failed", job_id=job.id, job_kind=job.task_name)
            return None
        if is_return(exception):
            self._leases.note_return(job)
        return RetryDecision(retry_at=SystemClock().now() + timedelta(seconds=delay_s))
