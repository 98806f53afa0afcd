"""review: a person approves, corrects or rejects what the steps before it found."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Final, Literal

from framekiln.kit.ids import new_uuid
from framekiln.pipelines.definition.model import StepSettings
from framekiln.pipelines.execution.locked_run import LockedRun
from framekiln.pipelines.execution.step_type import StepType
from framekiln.pipelines.execution.unit_transitions import start_without_worker
from framekiln.pipelines.model.pipeline import ReviewId
from framekiln.pipelines.model.review import Review
from framekiln.pipelines.model.run import StepRun, UnitKey
from framekiln.pipelines.scheduling.status import StepStatus
from framekiln.pipelines.schema.field_types import IntegerBetween, Text
from framekiln.pipelines.stores import review as review_store

_MINUTE_MS = 60_000
_DAY_MS = 86_400_000


@dataclass(frozen=True, kw_only=True)
class ReviewSettings(StepSettings):
    """`with` of a review step."""

    instructions: Annotated[str | None, Text(maximum=2000)] = None
    expires_after_ms: Annotated[int, IntegerBetween(_MINUTE_MS, 30 * _DAY_MS)] = 7 * _DAY_MS
    on_expiry: Literal["approve", "reject", "fail"] = "fail"


class ReviewStep(StepType):
    """Opens a task for a person, and takes it back when nobody needs it any more."""

    name = "review"
    settings = ReviewSettings

    async def start(self, locked: LockedRun, unit_key: UnitKey) -> None:
        """Open a task."""
        key, definition, now = unit_key.step_key, locked.context.definition, locked.context.now
        settings = definition.steps[key].settings
        assert isinstance(settings, ReviewSettings)
        expires_at = now + timedelta(milliseconds=settings.expires_after_ms)
        attempt = start_without_worker(
            locked, unit_key, StepStatus.WAITING_REVIEW, deadline_at=expires_at
        )
        task = Review(
            id=ReviewId(new_uuid()),
            organization_id=locked.run.organization_id,
            run_id=locked.run.id,
            step_run_id=locked.steps[key].id,
            step_key=key,
            attempt=attempt,
            instructions=settings.instructions,
            input_namespaces=tuple(each.namespace for each in definition.upstream(key)),
            on_expiry=settings.on_expiry,
            created_at=now,
            expires_at=expires_at,
        )
        await review_store.insert(locked.connection, task)
        locked.reviews[key] = task.id

    async def cancel_obsolete(self, locked: LockedRun, step: StepRun) -> None:
        """Take back the task of a step that was cancelled."""
        was_open = locked.steps_before[step.key].status is StepStatus.WAITING_REVIEW
        if was_open and step.status is StepStatus.CANCELLED:
            await review_store.cancel(locked.connection, locked.run.id, step.key)


STEP_TYPE: Final = ReviewStep()
