"""Where runs and steps stand, and the one table of allowed changes for each (spec 3.3)."""

from enum import StrEnum


class RunStatus(StrEnum):
    """Where a run stands."""

    PENDING = "pending"
    """Nothing of it has begun: it waits for its batch or for media."""
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    FILTERED = "filtered"
    """It ended well, but some steps were skipped."""
    CANCELLED = "cancelled"

    @property
    def is_terminal(self) -> bool:
        """Whether nothing more happens by itself."""
        return self not in (RunStatus.PENDING, RunStatus.RUNNING)

    @property
    def is_retryable(self) -> bool:
        """Whether a caller may have it done again."""
        return self in (RunStatus.FAILED, RunStatus.CANCELLED)


class StepStatus(StrEnum):
    """Where a step stands, or one window of a segment step."""

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
    """Its predicate or reviewer said no, or so it was with a step it needs; or that one failed."""
    CANCELLED = "cancelled"
    """Stopped, or never begun, because the run was cancelled or has failed elsewhere."""

    @property
    def is_terminal(self) -> bool:
        """Whether nothing more happens to it, unless the run is retried."""
        return self in (
            StepStatus.SUCCEEDED,
            StepStatus.FAILED,
            StepStatus.SKIPPED,
            StepStatus.CANCELLED,
        )

    @property
    def is_active(self) -> bool:
        """Whether work on it is under way that will come to an end by itself."""
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
    # A segment step begins where a retry left it, or ends at once when there is no media.
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


def steps_before(after: StepStatus) -> list[str]:
    """Return the statuses from which `after` may be entered, for the guard of an update."""
    return [str(status) for status, changes in STEP_CHANGES.items() if after in changes]
