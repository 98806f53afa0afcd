"""The words of the job port: what is deferred, what a handler gets, what an operator sees."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from framekiln.db.pool import DatabaseUnavailable
from framekiln.kit.errors import Conflict, FramekilnError, InvalidInput, NotFound

STALLED_AFTER_S = 20.0
"""A worker silent for so long is taken for dead; four heartbeats by default."""


class JobStatus(StrEnum):
    """Where a job stands; one that succeeded or was cancelled is gone."""

    TODO = "todo"
    DOING = "doing"
    FAILED = "failed"


class NaiveRunAt(InvalidInput):
    """`run_at` has no time zone."""

    code = "naive_run_at"


class JobNotFound(NotFound):
    """There is no such job, or no longer."""

    code = "job_not_found"


class JobNotFailed(Conflict):
    """Only a failed job can be retried."""

    code = "job_not_failed"


class JobAlreadyQueued(Conflict):
    """A job with the same dedupe key is waiting."""

    code = "job_already_queued"


@dataclass(frozen=True)
class NewJob:
    """Work to be done later. While one with the same `dedupe_key` waits, it is not added."""

    kind: str
    args: Mapping[str, Any]
    queue: str
    priority: int = 0
    """Higher runs first."""
    dedupe_key: str | None = None
    run_at: datetime | None = None

    def __post_init__(self) -> None:
        if self.run_at is not None and self.run_at.tzinfo is None:
            raise NaiveRunAt(f"run_at of the {self.kind} job has no time zone; give it in UTC.")


@dataclass(frozen=True)
class RetryPolicy:
    """How often, and after how long, a job that raised runs again."""

    max_attempts: int = 3
    first_delay_s: float = 1.0
    max_delay_s: float = 60.0

    def delay_s(self, error: BaseException, attempt: int) -> float | None:
        """Return how long to wait before the next attempt, or None to fail for good."""
        if isinstance(error, FramekilnError) and not error.retryable:
            return None
        # A database that is away is nobody's fault, however many workers died before.
        if attempt >= self.max_attempts and not isinstance(error, DatabaseUnavailable):
            return None
        # The exponent is capped: 2**1024 is more than a float holds.
        return float(min(self.max_delay_s, self.first_delay_s * 2 ** min(attempt - 1, 60)))


@dataclass(frozen=True)
class JobContext:
    """What a handler gets. `attempt` is 1 at first, one more for each retry or take-over."""

    job_id: int
    kind: str
    args: Mapping[str, Any]
    attempt: int
    retries: RetryPolicy = field(default_factory=RetryPolicy, compare=False)

    def will_retry(self, error: BaseException) -> bool:
        """Tell whether the job runs again if its handler raises this."""
        return self.retries.delay_s(error, self.attempt) is not None


Handler = Callable[[JobContext], Awaitable[None]]


@dataclass(frozen=True)
class JobRecord:
    """A job as an operator sees it. `attempts` counts the runs that have ended."""

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
    """How much waits, runs and has failed. `oldest_age_s` is of the longest runnable wait."""

    queue: str
    todo: int
    doing: int
    failed: int
    oldest_age_s: float


@dataclass(frozen=True)
class WorkerTiming:
    """How often a worker shows that it is alive and looks for work by itself."""

    heartbeat_s: float = 5.0
    poll_s: float = 1.0
    """New jobs are notified; retries, take-overs and scheduled jobs are found by looking."""
    retries: RetryPolicy = field(default_factory=RetryPolicy)
