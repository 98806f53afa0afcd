"""Types of the job queue: new jobs, the context of a handler, records for operators."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from framekiln.kit.errors import Conflict, FramekilnError, InvalidInput, NotFound, Outage

STALLED_AFTER_S = 20.0
"""A worker without a heartbeat for this long counts as dead; by default it missed four."""


class JobStatus(StrEnum):
    """The status of a job; a job that succeeded or was cancelled is deleted."""

    TODO = "todo"
    DOING = "doing"
    FAILED = "failed"


class NaiveRunAt(InvalidInput):
    """`run_at` has no time zone."""

    code = "naive_run_at"


class JobNotFound(NotFound):
    """There is no such job, or it was deleted."""

    code = "job_not_found"


class JobNotFailed(Conflict):
    """Only a failed job can be retried."""

    code = "job_not_failed"


class JobAlreadyQueued(Conflict):
    """A job with the same dedupe key is waiting."""

    code = "job_already_queued"


@dataclass(frozen=True)
class NewJob:
    """A job to be queued. It is not added while one with the same `dedupe_key` waits."""

    kind: str
    args: Mapping[str, Any]
    queue: str
    priority: int = 0
    """Higher runs first."""
    dedupe_key: str | None = None
    run_at: datetime | None = None

    def __post_init__(self) -> None:
        if self.run_at is not None and self.run_at.tzinfo is None:
            raise NaiveRunAt(f"run_at of the {self.kind} job has no time zone; use UTC")


@dataclass(frozen=True)
class RetryPolicy:
    """How often a job that raised is retried, and after which delays."""

    max_attempts: int = 3
    first_delay_s: float = 1.0
    max_delay_s: float = 60.0
    max_returns: int = 1500
    """So an outage may last a day."""

    def delay_s(self, error: BaseException, attempt: int, *, returns: int = 0) -> float | None:
        """Return the delay before the next attempt, or None if there is none."""
        if isinstance(error, FramekilnError) and not error.retryable:
            return None
        is_last = returns >= self.max_returns if is_return(error) else attempt >= self.max_attempts
        if is_last:
            return None
        # The exponent is capped: 2**1024 overflows a float.
        exponent = min(attempt + returns - 1, 60)
        return float(min(self.max_delay_s, self.first_delay_s * 2**exponent))


def is_return(error: BaseException) -> bool:
    """Whether the error is not the fault of the job, and costs it no attempt.

    A server that the service needs is away, or the worker stops.
    """
    return isinstance(error, Outage | asyncio.CancelledError)


@dataclass(frozen=True)
class JobContext:
    """The argument of a handler. `attempt` starts at 1; each retry or take-over adds one.

    An attempt that was returned (`is_return`) is not counted in `attempt`, but in `returns`.
    """

    job_id: int
    kind: str
    args: Mapping[str, Any]
    attempt: int
    returns: int = 0
    was_returned: bool = False
    """Whether the attempt before this one was returned, so that it ended in order."""
    retries: RetryPolicy = field(default_factory=RetryPolicy, compare=False)

    def will_retry(self, error: BaseException) -> bool:
        """Whether the job runs again if its handler raises this error."""
        return self.retries.delay_s(error, self.attempt, returns=self.returns) is not None


Handler = Callable[[JobContext], Awaitable[None]]


@dataclass(frozen=True)
class JobRecord:
    """A job as operators see it. `attempts` counts the attempts that have ended."""

    job_id: int
    kind: str
    queue: str
    status: JobStatus
    args: Mapping[str, Any]
    attempts: int
    priority: int
    dedupe_key: str | None
    run_at: datetime | None


@dataclass(frozen=True)
class QueueDepth:
    """Jobs of a queue by status. `oldest_age_s` is the age of the oldest job that could run."""

    queue: str
    todo: int
    doing: int
    failed: int
    waiting_organizations: int
    oldest_age_s: float


@dataclass(frozen=True)
class RunningLimit:
    """How many jobs of an organization may run at the same time in a queue; further ones wait."""

    queue: str
    quota: str
    """The name under which an organization may have a limit of its own."""
    default: int | None
    """None: no limit."""


def limits_json(limits: Sequence[RunningLimit]) -> dict[str, Any]:
    """Return the limits as the functions of the database take them."""
    return {each.queue: {"quota": each.quota, "default": each.default} for each in limits}


@dataclass(frozen=True)
class WorkerPool:
    """Queues whose jobs share slots."""

    queues: tuple[str, ...]
    concurrency: int
    reserved: int = 0
    """Further slots, for organizations without a running job."""


@dataclass(frozen=True)
class WorkerTiming:
    """How often a worker sends a heartbeat and polls for jobs."""

    heartbeat_s: float = 5.0
    poll_s: float = 1.0
    """New jobs are notified; retries, take-overs and scheduled jobs are found by polling."""
    retries: RetryPolicy = field(default_factory=RetryPolicy)
