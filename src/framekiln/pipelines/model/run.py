"""Runs, their steps, windows and outputs, as they are stored."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, ClassVar, Final
from uuid import UUID

from framekiln.jobs.failures import Failure
from framekiln.kit.ids import ApiKeyId, FileId, OrganizationId
from framekiln.pipelines.definition.windows import Window
from framekiln.pipelines.model.pipeline import BatchId, PipelineId, RunId, StepRunId
from framekiln.pipelines.scheduling.run_state import StepState, WindowState
from framekiln.pipelines.scheduling.status import RunStatus, StepStatus

MAX_ATTEMPTS: Final = 3
FIRST_DELAY_S: Final = 10
MAX_DELAY_S: Final = 600
MAX_RETRY_AFTER_S: Final = 3600


@dataclass(frozen=True, kw_only=True)
class Run:
    """One version of a pipeline, run on one file."""

    id: RunId
    position: int
    organization_id: OrganizationId
    api_key_id: ApiKeyId | None
    pipeline_id: PipelineId
    pipeline_version: int
    file_id: FileId
    batch_id: BatchId | None
    external_id: str | None
    status: RunStatus
    is_admitted: bool
    sequence: int
    """The number of its last event."""
    failure: Failure | None
    failed_step_key: str | None
    cancel_requested_at: datetime | None
    created_at: datetime
    started_at: datetime | None
    completed_at: datetime | None


def backoff_s(failures: int) -> int:
    """Return the delay after this many failed attempts; it doubles each time."""
    return min(FIRST_DELAY_S << (failures - 1), MAX_DELAY_S)


@dataclass(frozen=True)
class AttemptCount:
    """The attempts of a step or window, and the delays between them.

    Attempts are numbered from 1, also across retries of the run: the number is part of the
    idempotency key that an endpoint gets, so none is used twice.
    """

    made: int = 0
    made_before: int = 0
    """Those before the last retry of the run."""

    def incremented(self) -> "AttemptCount":
        """Return the attempts with one more."""
        return replace(self, made=self.made + 1)

    def after_retry(self) -> "AttemptCount":
        """Return the attempts after a retry of the run, which allows as many again."""
        return replace(self, made_before=self.made)

    def delay_s(self, *, is_retryable: bool, retry_after_s: int = 0) -> int | None:
        """Return the delay after a failed attempt; None if the step has failed.

        `retry_after_s` is the delay that the endpoint requested.
        """
        failures = self.made - self.made_before
        if not is_retryable or failures >= MAX_ATTEMPTS:
            return None
        return max(backoff_s(failures), min(retry_after_s, MAX_RETRY_AFTER_S))


@dataclass(frozen=True, kw_only=True)
class UnitFields:
    """The fields that a step and a window share: their attempts, and who works on them."""

    attempts: AttemptCount = field(default_factory=AttemptCount)
    fence: int = 0
    """Incremented by every take; only the holder of the latest fence may write."""
    takes: int = 0
    """Takes of the current attempt since it was last postponed: more than one if workers died."""
    taken_by: int | None = None
    """The job that works on it now."""
    due_at: datetime | None = None
    """When it must be queued; None if it is queued already, or need not be."""
    note: Mapping[str, Any] | None = None
    """What its runner saved for the next call in the same attempt."""
    failure: Failure | None = None


@dataclass(frozen=True)
class WindowRun(WindowState, UnitFields):
    """A window of a segment step of a run."""

    def entered(self) -> "WindowRun":
        """Return the window with the fields that its new status implies."""
        if self.status is StepStatus.PENDING:
            attempts = self.attempts.after_retry()
            return replace(self, attempts=attempts, takes=0, failure=None)
        if self.status.is_terminal:
            return replace(self, due_at=None, taken_by=None, note=None)
        return self


@dataclass(frozen=True, kw_only=True)
class StepRun(StepState, UnitFields):
    """A step of a run. The attempts and the failure of a segment step are those of its windows."""

    window_type: ClassVar[type[WindowState]] = WindowRun

    id: StepRunId
    key: str
    windows: tuple[WindowRun, ...] = ()
    ready_at: datetime | None = None
    started_at: datetime | None = None
    completed_at: datetime | None = None
    deadline_at: datetime | None = None
    progress_reported_at: datetime | None = None
    """When its progress was last reported to webhooks."""

    def find_window(self, number: int) -> WindowRun | None:
        """Return a window above the watermark."""
        return next((each for each in self.windows if each.window.index == number), None)

    def entered(self, now: datetime) -> "StepRun":
        """Return the step with the times and fields that its new status implies."""
        if self.status is StepStatus.PENDING:
            fresh = replace(self, attempts=self.attempts.after_retry(), takes=0, failure=None)
            return replace(fresh, ready_at=None, started_at=None, completed_at=None)
        if self.status is StepStatus.READY:
            return replace(self, ready_at=now, deadline_at=None)
        if not self.status.is_terminal:
            return replace(self, started_at=self.started_at or now)
        failure = self.failure
        if self.status is StepStatus.FAILED and failure is None:
            failure = next((each.failure for each in self.windows if each.failure), None)
        ended = replace(self, due_at=None, taken_by=None, note=None, failure=failure)
        return replace(ended, completed_at=now, deadline_at=None)


WorkUnit = StepRun | WindowRun
"""What is attempted as one: a whole-file step, or a window of a segment step."""


@dataclass(frozen=True)
class UnitKey:
    """Identifies a unit: a step of a run, and the window number if the step has windows."""

    run_id: RunId
    step_key: str
    window_number: int | None = None


@dataclass(frozen=True)
class TakenUnit:
    """A unit taken by a worker or an endpoint; `fence` proves that it is still theirs."""

    key: UnitKey
    window: Window | None
    attempt: int
    fence: int
    note: Mapping[str, Any] | None


@dataclass(frozen=True)
class RunFilter:
    """Filters of a list of runs; None matches all."""

    status: RunStatus | None = None
    pipeline_id: UUID | None = None
    file_id: UUID | None = None
    batch_id: UUID | None = None


@dataclass(frozen=True)
class StoredOutput:
    """An output in a list; `output` is plain JSON."""

    number: int
    """-1 for a whole-file step."""
    window: Window | None
    output: dict[str, Any]


@dataclass(frozen=True)
class LatestOutput:
    """The step run that wrote last to a namespace of a file."""

    namespace: str
    step_run_id: StepRunId
    run_id: RunId
    step_key: str
    written_at: datetime
