"""Statuses of runs and steps, with the table of allowed changes of each (spec 3.3)."""

from enum import StrEnum


class RunStatus(StrEnum):
    """The status of a run."""

    PENDING = "pending"
    """Nothing has started: it waits for its batch or for media."""
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    FILTERED = "filtered"
    """It succeeded, but some steps were skipped."""
    CANCELLED = "cancelled"

    @property
    def is_terminal(self) -> bool:
        """Whether it has ended; only a retry leads on."""
        return self not in (RunStatus.PENDING, RunStatus.RUNNING)

    @property
    def is_retryable(self) -> bool:
        """Whether a caller may retry it."""
        return self in (RunStatus.FAILED, RunStatus.CANCELLED)


class StepStatus(StrEnum):
    """The status of a step, or of one window of a segment step."""

    PENDING = "pending"
    READY = "ready"
    """It may start, now or at the time of its next attempt."""
    RUNNING = "running"
    WAITING_EXTERNAL = "waiting_external"
    """An endpoint has accepted the work and will call back."""
    WAITING_REVIEW = "waiting_review"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    SKIPPED = "skipped"
    """Its predicate was false, its review rejected, or a step it needs was skipped or failed."""
    CANCELLED = "cancelled"
    """Stopped, or never started, because the run was cancelled or another step failed."""

    @property
    def is_terminal(self) -> bool:
        """Whether it has ended; only a retry of the run leads on."""
        return self in (
            StepStatus.SUCCEEDED,
            StepStatus.FAILED,
            StepStatus.SKIPPED,
            StepStatus.CANCELLED,
        )

    @property
    def is_active(self) -> bool:
        """Whether work is in progress that will end by itself."""
        return self in (StepStatus.RUNNING, StepStatus.WAITING_EXTERNAL)


RUN_CHANGES: dict[RunStatus, frozenset[RunStatus]] = {
    RunStatus.PENDING: frozenset(RunStatus) - {RunStatus.PENDING},
    RunStatus.RUNNING: frozenset(RunStatus) - {RunStatus.PENDING, RunStatus.RUNNING},
    RunStatus.SUCCEEDED: frozenset(),
    # Only a retry leads on from these.
    RunStatus.FAILED: frozenset({RunStatus.PENDING}),
    RunStatus.CANCELLED: frozenset({RunStatus.PENDING}),
    RunStatus.FILTERED: frozenset(),
}

_ENDS = frozenset(status for status in StepStatus if status.is_terminal)

STEP_CHANGES: dict[StepStatus, frozenset[StepStatus]] = {
    # A segment step may continue after a retry, or end at once if there is no media.
    StepStatus.PENDING: _ENDS | {StepStatus.READY, StepStatus.RUNNING},
    StepStatus.READY: _ENDS | {StepStatus.RUNNING, StepStatus.WAITING_REVIEW},
    # Back to ready for another attempt.
    StepStatus.RUNNING: _ENDS
    | {StepStatus.READY, StepStatus.WAITING_EXTERNAL, StepStatus.WAITING_REVIEW},
    StepStatus.WAITING_EXTERNAL: _ENDS - {StepStatus.SKIPPED} | {StepStatus.READY},
    StepStatus.WAITING_REVIEW: _ENDS,
    StepStatus.SUCCEEDED: frozenset(),
    # Only a retry leads on from these.
    StepStatus.FAILED: frozenset({StepStatus.PENDING}),
    StepStatus.SKIPPED: frozenset({StepStatus.PENDING}),
    StepStatus.CANCELLED: frozenset({StepStatus.PENDING}),
}
