"""Runs with their steps, and what of them is attempted as one."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from framekiln.jobs.failures import Failure
from framekiln.kit.ids import ApiKeyId, FileId, OrganizationId
from framekiln.pipelines.definition.windows import Window
from framekiln.pipelines.model.ids import BatchId, PipelineId, RunId, StepRunId
from framekiln.pipelines.scheduling.attempts import AttemptCount
from framekiln.pipelines.scheduling.status import RunStatus, StepStatus


@dataclass(frozen=True, kw_only=True)
class Run:
    """One version over one file."""

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
    """How many events of it there were."""
    failure: Failure | None
    failed_step_key: str | None
    cancel_requested_at: datetime | None
    created_at: datetime
    started_at: datetime | None
    completed_at: datetime | None


@dataclass(frozen=True)
class WorkUnit:
    """What is attempted as one: a whole-file step, or a window of a segment step."""

    status: StepStatus = StepStatus.PENDING
    attempts: AttemptCount = field(default_factory=AttemptCount)
    fence: int = 0
    """Counts all who took it on; only the last one may write."""
    takes: int = 0
    """How many took this attempt on: more than one if workers died."""
    taken_by: int | None = None
    """The job that has it now."""
    due_at: datetime | None = None
    """When it is to be queued; None when it is queued, or need not be."""
    note: Mapping[str, Any] | None = None
    """What its runner wants to know when it is asked again."""
    failure: Failure | None = None


@dataclass(frozen=True)
class WindowRun:
    """A window of a segment step of a run."""

    window: Window
    unit: WorkUnit = field(default_factory=WorkUnit)


@dataclass(frozen=True)
class StepRun:
    """A step of a run. The unit of a segment step only has its status, attempts and failure."""

    id: StepRunId
    key: str
    unit: WorkUnit = field(default_factory=WorkUnit)
    windows: Mapping[int, WindowRun] = field(default_factory=dict)
    """By number; those up to the watermark are left out."""
    has_all_windows: bool = False
    watermark_ms: int | None = None
    """Up to where it is done; of a whole-file step it is only shown."""
    ready_at: datetime | None = None
    started_at: datetime | None = None
    completed_at: datetime | None = None
    deadline_at: datetime | None = None
    told_at: datetime | None = None
    """When its progress was last told to webhooks."""

    @property
    def status(self) -> StepStatus:
        """Where it stands."""
        return self.unit.status

    def with_status(self, status: StepStatus, now: datetime) -> "StepRun":
        """Return the step as it stands differently from now on."""
        if status is self.status:
            return self
        after = replace(self, unit=replace(self.unit, status=status))
        if status is StepStatus.PENDING:
            fresh = replace(after.unit, failure=None)
            return replace(after, unit=fresh, ready_at=None, started_at=None, completed_at=None)
        if status is StepStatus.READY:
            return replace(after, ready_at=now, deadline_at=None)
        if status.is_terminal:
            ended = replace(after.unit, due_at=None, taken_by=None, note=None)
            return replace(after, unit=ended, completed_at=now, deadline_at=None)
        return replace(after, started_at=self.started_at or now)


@dataclass(frozen=True)
class UnitKey:
    """Which unit: a step of a run, and the number of its window if it has windows."""

    run_id: RunId
    step_key: str
    window_number: int | None = None


@dataclass(frozen=True)
class TakenUnit:
    """A unit in somebody's hands; `fence` proves that it still is theirs."""

    key: UnitKey
    step_run_id: StepRunId
    window: Window | None
    attempt: int
    fence: int
    note: Mapping[str, Any] | None
    deadline_at: datetime


@dataclass(frozen=True)
class RunFilter:
    """Which runs are wanted; None means: whatever."""

    status: RunStatus | None = None
    pipeline_id: UUID | None = None
    file_id: UUID | None = None
    batch_id: UUID | None = None
