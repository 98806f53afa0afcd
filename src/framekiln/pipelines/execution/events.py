"""Webhook events of runs, steps and batches (spec 6)."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, Final

from framekiln.db.pool import Connection
from framekiln.jobs.failures import Failure
from framekiln.kit.clock import iso
from framekiln.pipelines.execution.locked_run import LockedRun, PendingEvent
from framekiln.pipelines.model.pipeline import Batch
from framekiln.pipelines.model.review import Review, describe_review
from framekiln.pipelines.model.run import Run, StepRun
from framekiln.pipelines.scheduling.status import RunStatus, StepStatus
from framekiln.webhooks.model import Event
from framekiln.webhooks.outbox import Outbox

PROGRESS_INTERVAL: Final = timedelta(seconds=10)

_RUN_TOPICS: Final = {
    RunStatus.RUNNING: "pipeline_run.started",
    RunStatus.SUCCEEDED: "pipeline_run.completed",
    RunStatus.FAILED: "pipeline_run.failed",
    RunStatus.FILTERED: "pipeline_run.filtered",
    RunStatus.CANCELLED: "pipeline_run.cancelled",
}
_STEP_TOPICS: Final = {
    StepStatus.READY: "pipeline_step.retrying",
    StepStatus.RUNNING: "pipeline_step.started",
    StepStatus.WAITING_EXTERNAL: "pipeline_step.waiting_external",
    StepStatus.WAITING_REVIEW: "pipeline_step.waiting_review",
    StepStatus.SUCCEEDED: "pipeline_step.completed",
    StepStatus.FAILED: "pipeline_step.failed",
    StepStatus.SKIPPED: "pipeline_step.skipped",
    StepStatus.CANCELLED: "pipeline_step.cancelled",
}


async def record_events(outbox: Outbox, locked: LockedRun) -> int:
    """Record the events of a run since it was locked; return the last sequence number."""
    sequence = locked.run.sequence
    for topic, data in _pending_events(locked):
        sequence += 1
        event = Event(
            locked.run.organization_id,
            locked.run.api_key_id,
            topic,
            locked.run.id,
            {**data, "sequence": sequence},
        )
        await outbox.record(locked.connection, event)
    return sequence


async def record_batch_event(
    connection: Connection, outbox: Outbox, batch: Batch, topic: str
) -> None:
    """Record that a batch was created or completed."""
    event = Event(batch.organization_id, batch.api_key_id, topic, batch.id, _batch_data(batch))
    await outbox.record(connection, event)


def review_event(review: Review, topic: str) -> PendingEvent:
    """Return the event of a review task that was decided or has expired."""
    return topic, {**describe_review(review), "run_metadata": {}}


def is_progress_due(step: StepRun, now: datetime) -> bool:
    """Whether progress may be reported again."""
    return step.progress_reported_at is None or now - step.progress_reported_at >= PROGRESS_INTERVAL


def _pending_events(locked: LockedRun) -> Iterator[PendingEvent]:
    # An event shows the run before what follows from it: a created run is pending.
    previous = locked.run_retried or locked.run_before
    # No event was recorded yet, so the run is new.
    if locked.run.sequence == 0:
        yield "pipeline_run.created", _run_data(locked, locked.run_before)
    if locked.run_retried is not None:
        yield "pipeline_run.retried", _run_data(locked, locked.run_retried)
    after = locked.run.status
    if after is RunStatus.RUNNING and previous.status is not after:
        yield _RUN_TOPICS[after], _run_data(locked, locked.run)
    yield from locked.extra_events
    for key in locked.context.definition.steps:
        yield from _step_events(locked, key)
    if after.is_terminal and previous.status is not after:
        yield _RUN_TOPICS[after], _run_data(locked, locked.run)


def _step_events(locked: LockedRun, key: str) -> Iterator[PendingEvent]:
    before, after = locked.steps_before[key], locked.steps[key]
    if after.progress_reported_at != before.progress_reported_at:
        yield "pipeline_step.progress", _step_data(locked, after)
    if after.status is before.status or after.status is StepStatus.PENDING:
        return
    # No event for becoming ready the first time.
    if after.status is StepStatus.READY and not before.status.is_active:
        return
    yield _STEP_TOPICS[after.status], _step_data(locked, after)


def _run_data(locked: LockedRun, run: Run) -> dict[str, Any]:
    return {
        "id": str(run.id),
        "pipeline_id": str(run.pipeline_id),
        "pipeline_version": run.pipeline_version,
        "pipeline_digest": locked.context.digest,
        "batch_id": str(run.batch_id) if run.batch_id else None,
        "file_id": str(run.file_id),
        "external_id": run.external_id,
        "metadata": {},
        "status": str(run.status),
        "created_at": run.created_at.isoformat(),
        "completed_at": iso(run.completed_at),
        "error": _error(run.failure),
    }


def _step_data(locked: LockedRun, step: StepRun) -> dict[str, Any]:
    defined = locked.context.definition.steps[step.key]
    review_id = locked.reviews.get(step.key)
    return {
        "id": str(step.id),
        "pipeline_run_id": str(locked.run.id),
        "run_metadata": {},
        "step_key": step.key,
        "namespace": defined.namespace,
        "type": defined.type,
        "status": str(step.status),
        "attempt": step.attempts.made,
        "started_at": iso(step.started_at),
        "completed_at": iso(step.completed_at),
        "watermark_ms": step.watermark_ms,
        "review_task_id": str(review_id) if review_id else None,
        "error": _error(step.failure),
    }


def _batch_data(batch: Batch) -> dict[str, Any]:
    """Return the data of a batch event."""
    counts = batch.counts
    return {
        "id": str(batch.id),
        "pipeline_id": str(batch.pipeline_id),
        "pipeline_version": batch.pipeline_version,
        "external_id": None,
        "metadata": {},
        "status": batch.status,
        "runs": {
            "total": counts.runs,
            "succeeded": counts.succeeded,
            "failed": counts.failed,
            "filtered": counts.filtered,
            "cancelled": counts.cancelled,
        },
        "created_at": batch.created_at.isoformat(),
        "completed_at": iso(batch.completed_at),
    }


def _error(failure: Failure | None) -> dict[str, str] | None:
    return {"code": failure.code, "message": failure.message} if failure else None
