"""endpoint: the caller's own work, asked for over HTTP.

A unit is an attempt that waits for its turn at the endpoint; `endpoints` sends it.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Final
from uuid import UUID

from framekiln.kit.ids import new_uuid
from framekiln.pipelines.definition.model import Step, StepSettings
from framekiln.pipelines.execution.locked_run import LockedRun
from framekiln.pipelines.execution.step_type import StepType
from framekiln.pipelines.model.endpoint import archived_failure
from framekiln.pipelines.model.pipeline import AttemptId, EndpointId
from framekiln.pipelines.model.run import StepRun, UnitKey
from framekiln.pipelines.scheduling.status import StepStatus
from framekiln.pipelines.schema.field_types import AnyUuid, IntegerBetween
from framekiln.pipelines.stores import attempt as attempt_store
from framekiln.pipelines.stores import endpoint as endpoint_store
from framekiln.pipelines.stores.attempt import NewAttempt


@dataclass(frozen=True, kw_only=True)
class EndpointSettings(StepSettings):
    """`with` of an endpoint step."""

    endpoint_id: Annotated[UUID, AnyUuid()]
    max_concurrency: Annotated[int, IntegerBetween(1, 1024)] = 8
    """How many requests this step may have open at a time, over all runs."""


class EndpointStep(StepType):
    """Has attempts at an endpoint."""

    name = "endpoint"
    settings = EndpointSettings
    segmentable = True

    def endpoint_id(self, step: Step) -> EndpointId:
        """Return the endpoint that is set."""
        return EndpointId(_settings(step).endpoint_id)

    async def start(self, locked: LockedRun, unit_key: UnitKey) -> None:
        """Let an attempt wait for its turn."""
        await _queue_attempt(locked, unit_key, due_at=locked.context.now)

    async def retry(self, locked: LockedRun, unit_key: UnitKey) -> None:
        """Let the next attempt wait until it is due."""
        unit = locked.find_unit(unit_key)
        if unit is None or unit.due_at is None:
            return
        # From now on the attempt knows when it is due.
        locked.set_unit(unit_key, replace(unit, due_at=None))
        await _queue_attempt(locked, unit_key, due_at=unit.due_at)

    async def cancel_obsolete(self, locked: LockedRun, step: StepRun) -> None:
        """End the attempts at units that have ended; others may take their turns."""
        locked.endpoint_ids |= await attempt_store.end_except(
            locked.connection, step.id, live=_open_windows(step), now=locked.context.now
        )


STEP_TYPE: Final = EndpointStep()


def _settings(step: Step) -> EndpointSettings:
    assert isinstance(step.settings, EndpointSettings)
    return step.settings


async def _queue_attempt(locked: LockedRun, unit_key: UnitKey, *, due_at: datetime) -> None:
    settings = _settings(locked.context.definition.steps[unit_key.step_key])
    endpoint_id, run = EndpointId(settings.endpoint_id), locked.run
    found = await endpoint_store.find(locked.connection, run.organization_id, endpoint_id)
    if found is None or found.archived_at is not None:
        locked.end_unit(unit_key, StepStatus.FAILED, archived_failure(endpoint_id))
        return
    unit, step = locked.find_unit(unit_key), locked.steps[unit_key.step_key]
    assert unit is not None
    number = unit.attempts.made + 1
    await attempt_store.end_by_unit(
        locked.connection, step.id, unit_key.window_number, now=locked.context.now
    )
    await attempt_store.insert(
        locked.connection,
        NewAttempt(
            id=AttemptId(new_uuid()),
            run_id=run.id,
            step_run_id=step.id,
            window_number=unit_key.window_number,
            endpoint_id=endpoint_id,
            pipeline_id=run.pipeline_id,
            pipeline_version=run.pipeline_version,
            step_key=step.key,
            step_max_concurrency=settings.max_concurrency,
            number=number,
            idempotency_key=_idempotency_key(step, unit_key.window_number, number),
            due_at=due_at,
            created_at=locked.context.now,
        ),
    )
    locked.endpoint_ids.add(endpoint_id)


def _idempotency_key(step: StepRun, window_number: int | None, number: int) -> str:
    """The same for every delivery of an attempt, and for no other attempt."""
    # Without dots: it is the id of a signed message, and those are joined with dots.
    window = "" if window_number is None else f"_{window_number}"
    return f"{step.id}{window}_{number}"


def _open_windows(step: StepRun) -> list[int]:
    """Return the windows whose attempts go on; -1 for a whole-file step that does."""
    if step.windows:
        return [each.window.index for each in step.windows if not each.status.is_terminal]
    return [] if step.status.is_terminal else [-1]
