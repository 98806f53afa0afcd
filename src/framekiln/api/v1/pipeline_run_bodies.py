"""Response bodies of runs and their steps."""

from typing import Any
from uuid import UUID

from pydantic import BaseModel

from framekiln.api.v1.pipeline_bodies import Instant
from framekiln.jobs.failures import Failure
from framekiln.kit.clock import iso
from framekiln.pipelines.definition.model import Step
from framekiln.pipelines.model.endpoint import AttemptTimes
from framekiln.pipelines.model.run import StepRun
from framekiln.pipelines.scheduling.status import RunStatus, StepStatus
from framekiln.pipelines.services.runs import RunDetail


class StepError(BaseModel):
    """Why a step, or its last attempt, failed."""

    message: str
    code: str

    @classmethod
    def of(cls, failure: Failure | None) -> "StepError | None":
        """Return the error for a failure, if there is one."""
        return cls(message=failure.message, code=failure.code) if failure else None


class RunError(StepError):
    """Why a run failed; without a step, the file failed."""

    step_key: str | None


class StepInfo(BaseModel):
    """A step of a run; it has no id until it is scheduled."""

    id: UUID | None
    step_key: str
    namespace: str
    type: str
    status: StepStatus
    attempt: int
    watermark_ms: int | None
    error: StepError | None
    ready_at: Instant | None
    started_at: Instant | None
    completed_at: Instant | None
    deadline_at: Instant | None

    @classmethod
    def of(cls, defined: Step, step: StepRun) -> "StepInfo":
        """Return the response for a step."""
        return cls(
            id=None if step.status is StepStatus.PENDING else step.id,
            step_key=step.key,
            namespace=defined.namespace,
            type=defined.type,
            status=step.status,
            attempt=step.attempts.made,
            watermark_ms=step.watermark_ms,
            error=StepError.of(step.failure),
            ready_at=iso(step.ready_at),
            started_at=iso(step.started_at),
            completed_at=iso(step.completed_at),
            deadline_at=iso(step.deadline_at),
        )


class RunInfo(BaseModel):
    """A run with all its steps, each after those it needs."""

    id: UUID
    status: RunStatus
    pipeline_id: UUID
    pipeline_version: int
    file_id: UUID
    batch_id: UUID | None
    external_id: str | None
    error: RunError | None
    cancel_requested_at: Instant | None
    created_at: Instant
    started_at: Instant | None
    completed_at: Instant | None
    steps: list[StepInfo]

    @classmethod
    def of(cls, detail: RunDetail) -> "RunInfo":
        """Return the response for a run."""
        return cls(**_run(detail))


class RunCreated(RunInfo):
    """A run, twice: at the top level and under `run`, for both kinds of clients."""

    run: RunInfo
    created: bool

    @classmethod
    def describe(cls, detail: RunDetail, *, is_new: bool) -> "RunCreated":
        """Return the response to the creation of a run."""
        return cls(**_run(detail), run=RunInfo.of(detail), created=is_new)


class RunList(BaseModel):
    """A page of runs, newest first."""

    runs: list[RunInfo]
    next_cursor: str | None


class EndpointAttemptInfo(BaseModel):
    """One attempt of an endpoint step."""

    step_key: str
    window: int | None
    number: int
    state: str
    created_at: Instant
    sent_at: Instant | None
    ended_at: Instant | None

    @classmethod
    def of(cls, attempt: AttemptTimes) -> "EndpointAttemptInfo":
        """Describe an attempt."""
        return cls(
            step_key=attempt.step_key,
            window=attempt.window_number,
            number=attempt.number,
            state=attempt.state,
            created_at=attempt.created_at.isoformat(),
            sent_at=iso(attempt.sent_at),
            ended_at=iso(attempt.ended_at),
        )


class EndpointAttemptList(BaseModel):
    """The attempts of a run's endpoint steps, oldest first."""

    attempts: list[EndpointAttemptInfo]


def _run(detail: RunDetail) -> dict[str, Any]:
    run, failure = detail.run, detail.run.failure
    error = None
    if failure is not None:
        error = RunError(message=failure.message, code=failure.code, step_key=run.failed_step_key)
    steps = detail.definition.steps.values()
    return {
        "id": run.id,
        "status": run.status,
        "pipeline_id": run.pipeline_id,
        "pipeline_version": run.pipeline_version,
        "file_id": run.file_id,
        "batch_id": run.batch_id,
        "external_id": run.external_id,
        "error": error,
        "cancel_requested_at": iso(run.cancel_requested_at),
        "created_at": iso(run.created_at),
        "started_at": iso(run.started_at),
        "completed_at": iso(run.completed_at),
        "steps": [StepInfo.of(step, detail.steps[step.key]) for step in steps],
    }
