"""Transitions of one unit of a locked run: take, succeed, fail, postpone, release.

A unit is a whole-file step or a window of a segment step. Every transition may be repeated: for a
unit that is lost, because another job took it or its run has ended, it returns False and changes
nothing.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final

from framekiln.jobs.failures import Failure
from framekiln.pipelines.errors import StepKillsWorkers
from framekiln.pipelines.execution.locked_run import LockedRun
from framekiln.pipelines.model.run import TakenUnit, UnitKey, WindowRun, WorkUnit
from framekiln.pipelines.outputs.model import StepOutput
from framekiln.pipelines.scheduling.status import StepStatus

MAX_TAKES: Final = 5
"""A unit fails if this many workers died in one attempt."""

_KILLS_WORKERS: Final = Failure(
    StepKillsWorkers.code, f"{MAX_TAKES} workers died while they ran this step"
)


def is_current(locked: LockedRun, taken: TakenUnit) -> bool:
    """Whether a unit is still taken by the same job or endpoint."""
    return _current_unit(locked, taken) is not None


def take(
    locked: LockedRun, unit_key: UnitKey, *, job_id: int, deadline_at: datetime
) -> TakenUnit | None:
    """Give a unit to a job; None if there is nothing to do for it."""
    unit = locked.find_unit(unit_key)
    if unit is None or locked.run.status.is_terminal or not _may_take(locked, unit, job_id):
        return None
    is_new = unit.status is StepStatus.READY
    unit = replace(
        unit,
        status=StepStatus.RUNNING,
        attempts=unit.attempts.incremented() if is_new else unit.attempts,
        fence=unit.fence + 1,
        takes=1 if is_new else unit.takes + 1,
        taken_by=job_id,
        due_at=None,
        note=None if is_new else unit.note,
        failure=None,
    )
    locked.set_unit(unit_key, unit)
    if unit.takes > MAX_TAKES:
        locked.end_unit(unit_key, StepStatus.FAILED, _KILLS_WORKERS)
        return None
    return _start_attempt(locked, unit_key, unit, deadline_at)


def start_without_worker(
    locked: LockedRun, unit_key: UnitKey, status: StepStatus, *, deadline_at: datetime | None = None
) -> int:
    """Count one more attempt at a whole-file step that no worker takes; return its number."""
    step = locked.steps[unit_key.step_key]
    attempts = step.attempts.incremented()
    locked.set_unit(unit_key, replace(step, status=status, attempts=attempts))
    locked.steps[step.key] = replace(locked.steps[step.key], deadline_at=deadline_at)
    return attempts.made


async def succeed(locked: LockedRun, taken: TakenUnit, output: StepOutput) -> bool:
    """End a unit as succeeded and store its output; False if it was lost."""
    if not is_current(locked, taken):
        return False
    await locked.save_output(taken.key.step_key, output, taken.window)
    locked.end_unit(taken.key, StepStatus.SUCCEEDED)
    return True


def fail(
    locked: LockedRun,
    taken: TakenUnit,
    failure: Failure,
    *,
    is_retryable: bool,
    retry_after_s: int = 0,
) -> bool:
    """End an attempt as failed, with a retry or without; False if it was lost."""
    unit = _current_unit(locked, taken)
    if unit is None:
        return False
    delay_s = unit.attempts.delay_s(is_retryable=is_retryable, retry_after_s=retry_after_s)
    if delay_s is None:
        locked.end_unit(taken.key, StepStatus.FAILED, failure)
        return True
    locked.set_unit(
        taken.key,
        replace(
            unit,
            status=StepStatus.READY,
            due_at=locked.context.now + timedelta(seconds=delay_s),
            taken_by=None,
            note=None,
            failure=failure,
        ),
    )
    locked.retries.append(taken.key)
    return True


def postpone(locked: LockedRun, taken: TakenUnit, *, after_s: float) -> bool:
    """Continue a unit later, in the same attempt; False if it was lost."""
    unit = _current_unit(locked, taken)
    if unit is None:
        return False
    due_at = locked.context.now + timedelta(seconds=after_s)
    locked.set_unit(taken.key, replace(unit, takes=0, taken_by=None, due_at=due_at))
    return True


def release(locked: LockedRun, taken: TakenUnit) -> bool:
    """Let another job take a unit, in the same attempt; False if it was lost."""
    unit = _current_unit(locked, taken)
    if unit is None:
        return False
    locked.set_unit(taken.key, replace(unit, taken_by=None))
    return True


def await_callback(locked: LockedRun, taken: TakenUnit, *, deadline_at: datetime) -> bool:
    """Wait for a callback: the endpoint accepted the work, or goes on; False if it was lost."""
    unit = _current_unit(locked, taken)
    if unit is None:
        return False
    locked.set_unit(taken.key, replace(unit, status=StepStatus.WAITING_EXTERNAL))
    step = locked.steps[taken.key.step_key]
    locked.steps[step.key] = replace(step, deadline_at=deadline_at)
    return True


def save_note(locked: LockedRun, taken: TakenUnit, note: Mapping[str, Any]) -> bool:
    """Store a note with a unit; False if it was lost."""
    unit = _current_unit(locked, taken)
    if unit is None:
        return False
    locked.set_unit(taken.key, replace(unit, note=note))
    return True


def mark_queued(locked: LockedRun, unit_key: UnitKey) -> bool:
    """Record that a due unit is queued; False if it is not due."""
    unit = locked.find_unit(unit_key)
    is_open = unit is not None and unit.status in (StepStatus.READY, StepStatus.RUNNING)
    if unit is None or not is_open or unit.due_at is None or unit.due_at > locked.context.now:
        return False
    locked.set_unit(unit_key, replace(unit, due_at=None))
    return True


def _current_unit(locked: LockedRun, taken: TakenUnit) -> WorkUnit | None:
    unit = locked.find_unit(taken.key)
    if unit is None or unit.fence != taken.fence or locked.run.status.is_terminal:
        return None
    return unit if unit.status.is_active else None


def _may_take(locked: LockedRun, unit: WorkUnit, job_id: int) -> bool:
    if unit.status is StepStatus.READY:
        return unit.due_at is None or unit.due_at <= locked.context.now
    # No job has it, or the same job runs again because its worker died.
    return unit.status is StepStatus.RUNNING and unit.taken_by in (None, job_id)


def _start_attempt(
    locked: LockedRun, unit_key: UnitKey, unit: WorkUnit, deadline_at: datetime
) -> TakenUnit:
    step = replace(locked.steps[unit_key.step_key], deadline_at=deadline_at)
    window = None
    if isinstance(unit, WindowRun):
        window = unit.window
        made = max(step.attempts.made, unit.attempts.made)
        step = replace(step, attempts=replace(step.attempts, made=made))
    locked.steps[step.key] = step
    return TakenUnit(
        key=unit_key, window=window, attempt=unit.attempts.made, fence=unit.fence, note=unit.note
    )
