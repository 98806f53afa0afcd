"""What may be done to a unit of a held run: take it, end it well or badly, have it wait.

A unit is a whole-file step or a window of a segment step. All is safe to be done twice: whoever
has lost a unit, because another took it on or its run was stopped, is told so and changes nothing.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final

from framekiln.jobs.ending import Failure
from framekiln.pipelines.errors import StepKillsWorkers
from framekiln.pipelines.model.run import TakenUnit, Unit, UnitName
from framekiln.pipelines.outputs.output import Output
from framekiln.pipelines.running.held import HeldRun
from framekiln.pipelines.states.run_state import Work
from framekiln.pipelines.states.statuses import StepStatus

MAX_TAKES: Final = 5
"""A unit that took this many workers down with it in one attempt is poison."""

_KILLS_WORKERS: Final = Failure(
    StepKillsWorkers.code, f"{MAX_TAKES} workers died while they were at it"
)


def has(held: HeldRun, taken: TakenUnit) -> bool:
    """Whether a unit is still in the hands of who took it."""
    return _unit_of(held, taken) is not None


def take(
    held: HeldRun, name: UnitName, *, job_id: int | None, deadline_at: datetime
) -> TakenUnit | None:
    """Give a unit to a worker; None when there is nothing to do for this one.

    `job_id` is None for an attempt at an endpoint, where no job has the unit.
    """
    unit = held.find(name)
    if unit is None or held.run.status.is_terminal or not _may_take(held, unit, job_id):
        return None
    is_new = unit.status is StepStatus.READY
    unit = replace(
        unit,
        status=StepStatus.RUNNING,
        attempts=unit.attempts.begun() if is_new else unit.attempts,
        fence=unit.fence + 1,
        takes=unit.takes + 1 if unit.taken_by is not None else 1,
        taken_by=job_id,
        due_at=None,
        note=None if is_new else unit.note,
        failure=None,
    )
    held.put(name, unit)
    if unit.takes > MAX_TAKES:
        held.end(name, StepStatus.FAILED, _KILLS_WORKERS)
        return None
    return _begun(held, name, unit, deadline_at)


async def succeed(held: HeldRun, taken: TakenUnit, output: Output) -> bool:
    """End a unit well and keep its output; False when it was lost."""
    if not has(held, taken):
        return False
    await held.write(taken.name.step_key, output, taken.window)
    held.end(taken.name, StepStatus.SUCCEEDED)
    return True


def fail(
    held: HeldRun,
    taken: TakenUnit,
    failure: Failure,
    *,
    is_retryable: bool,
    retry_after_s: int = 0,
) -> bool:
    """End an attempt badly: there is another one later, or the unit has failed. False: lost."""
    unit = _unit_of(held, taken)
    if unit is None:
        return False
    delay_s = unit.attempts.delay_s(is_retryable=is_retryable, retry_after_s=retry_after_s)
    if delay_s is None:
        held.end(taken.name, StepStatus.FAILED, failure)
        return True
    held.put(
        taken.name,
        replace(
            unit,
            status=StepStatus.READY,
            due_at=held.frame.now + timedelta(seconds=delay_s),
            taken_by=None,
            note=None,
            failure=failure,
        ),
    )
    held.again.append(Work(taken.name.step_key, taken.window))
    return True


def wait(held: HeldRun, taken: TakenUnit, *, after_s: float) -> bool:
    """Have a unit asked again later, in the same attempt; False when it was lost."""
    unit = _unit_of(held, taken)
    if unit is None:
        return False
    due_at = held.frame.now + timedelta(seconds=after_s)
    held.put(taken.name, replace(unit, taken_by=None, due_at=due_at))
    return True


def await_callback(held: HeldRun, taken: TakenUnit, *, deadline_at: datetime) -> bool:
    """An endpoint has accepted the work, or says that it goes on; False when it was lost."""
    unit = _unit_of(held, taken)
    if unit is None:
        return False
    held.put(taken.name, replace(unit, status=StepStatus.WAITING_EXTERNAL))
    step = held.steps[taken.name.step_key]
    held.steps[step.key] = replace(step, deadline_at=deadline_at)
    return True


def remember(held: HeldRun, taken: TakenUnit, note: Mapping[str, Any]) -> bool:
    """Keep a note with a unit; False when it was lost."""
    unit = _unit_of(held, taken)
    if unit is None:
        return False
    held.put(taken.name, replace(unit, note=note))
    return True


def note_queued(held: HeldRun, name: UnitName) -> bool:
    """Note that a unit is queued that was due; False when it is not due (any more)."""
    unit = held.find(name)
    is_open = unit is not None and unit.status in (StepStatus.READY, StepStatus.RUNNING)
    if unit is None or not is_open or unit.due_at is None or unit.due_at > held.frame.now:
        return False
    held.put(name, replace(unit, due_at=None))
    return True


def _unit_of(held: HeldRun, taken: TakenUnit) -> Unit | None:
    unit = held.find(taken.name)
    if unit is None or unit.fence != taken.fence or held.run.status.is_terminal:
        return None
    return unit if unit.status.is_active else None


def _may_take(held: HeldRun, unit: Unit, job_id: int | None) -> bool:
    if unit.status is StepStatus.READY:
        return unit.due_at is None or unit.due_at <= held.frame.now
    # Nobody is at it, or the job that was has come back because its worker died.
    return unit.status is StepStatus.RUNNING and unit.taken_by in (None, job_id)


def _begun(held: HeldRun, name: UnitName, unit: Unit, deadline_at: datetime) -> TakenUnit:
    step = replace(held.steps[name.step_key], deadline_at=deadline_at)
    window = None
    if name.window_number is not None:
        window = step.windows[name.window_number].window
        made = max(step.unit.attempts.made, unit.attempts.made)
        attempts = replace(step.unit.attempts, made=made)
        step = replace(step, unit=replace(step.unit, attempts=attempts))
    held.steps[step.key] = step
    return TakenUnit(
        name=name,
        step_run_id=step.id,
        window=window,
        attempt=unit.attempts.made,
        fence=unit.fence,
        note=unit.note,
        deadline_at=deadline_at,
    )
