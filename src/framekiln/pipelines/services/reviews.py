"""Review tasks: decisions by people, and expiry."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from framekiln.audit.log import record
from framekiln.db.pool import Database
from framekiln.jobs.failures import Failure
from framekiln.kit.clock import Clock
from framekiln.kit.ids import FileId, OrganizationId
from framekiln.pipelines.errors import (
    ReviewConflict,
    ReviewExpired,
    ReviewNotFound,
    ReviewNotPending,
)
from framekiln.pipelines.execution.coordinator import RunCoordinator
from framekiln.pipelines.execution.events import review_event
from framekiln.pipelines.execution.locked_run import LockedRun
from framekiln.pipelines.execution.step_inputs import read_inputs
from framekiln.pipelines.model.pipeline import PageRequest, ReviewId
from framekiln.pipelines.model.review import Decision, Review, ReviewFilter, ReviewStatus
from framekiln.pipelines.model.run import UnitKey
from framekiln.pipelines.outputs.model import StepOutput
from framekiln.pipelines.scheduling.status import StepStatus
from framekiln.pipelines.stores import review as review_store
from framekiln.pipelines.stores import run as run_store

_EXPIRED_AT_A_TIME: Final = 500
_EXPIRED_FAILURE: Final = Failure(ReviewExpired.code, "the review was not decided in time")
_STATUS_AFTER_EXPIRY: Final = {
    "approve": StepStatus.SUCCEEDED,
    "reject": StepStatus.SKIPPED,
    "fail": StepStatus.FAILED,
}


@dataclass(frozen=True)
class ReviewInputs:
    """What a reviewer looks at: a file, and what earlier steps found in it, by namespace."""

    file_id: FileId
    redacted_kinds: frozenset[str]
    """What later steps hide or mute."""
    outputs: Mapping[str, StepOutput]


class Reviews:
    """The review tasks of all organizations."""

    def __init__(self, database: Database, *, coordinator: RunCoordinator, clock: Clock) -> None:
        self._database = database
        self._coordinator = coordinator
        self._clock = clock

    async def get(self, organization_id: OrganizationId, review_id: ReviewId) -> Review:
        """Return a task of the organization."""
        async with self._database.connection() as connection:
            review = await review_store.find(connection, organization_id, review_id)
        if review is None:
            raise _not_found(review_id)
        return review

    async def inputs(self, organization_id: OrganizationId, review_id: ReviewId) -> ReviewInputs:
        """Return what a task is about."""
        review = await self.get(organization_id, review_id)
        async with self._database.connection() as connection:
            run = await run_store.find(connection, organization_id, review.run_id)
            if run is None:
                raise _not_found(review_id)
            version = await self._coordinator.versions.get(
                connection, run.pipeline_id, run.pipeline_version
            )
            definition, key = version.definition, review.step_key
            found = await read_inputs(connection, run.id, definition, key=key)
        later = (
            step
            for step in definition.steps.values()
            if any(each.key == key for each in definition.upstream(step.key))
        )
        types = self._coordinator.step_types
        kinds = (types[step.type].redacted_kinds(step) for step in later)
        return ReviewInputs(run.file_id, frozenset().union(*kinds), found)

    async def find_open_file(
        self, organization_id: OrganizationId, review_id: ReviewId
    ) -> FileId | None:
        """Return the file of a task that waits for a decision; None for any other."""
        async with self._database.connection() as connection:
            review = await review_store.find(connection, organization_id, review_id)
            if review is None or review.status is not ReviewStatus.PENDING:
                return None
            run = await run_store.find(connection, organization_id, review.run_id)
        is_over = review.expires_at <= self._clock.now()
        return None if run is None or is_over else run.file_id

    async def is_file_open(self, organization_id: OrganizationId, file_id: FileId) -> bool:
        """Whether a task about this file waits for a decision."""
        async with self._database.connection() as connection:
            return await review_store.is_file_pending(
                connection, organization_id, file_id, now=self._clock.now()
            )

    async def page(
        self, organization_id: OrganizationId, wanted: ReviewFilter, page_request: PageRequest
    ) -> list[Review]:
        """Return a page of tasks, newest first."""
        async with self._database.connection() as connection:
            return await review_store.list_newest(
                connection, organization_id, wanted, page_request=page_request
            )

    async def decide(
        self, organization_id: OrganizationId, review_id: ReviewId, decision: Decision
    ) -> Review:
        """Decide a task; the same decision again returns what was recorded."""
        known = await self.get(organization_id, review_id)
        async with self._coordinator.lock_run(known.run_id) as locked:
            review = await self._current(locked, known)
            if locked is not None and review.status is ReviewStatus.PENDING:
                if review.expires_at <= locked.context.now:
                    await _expire(locked, review)
                else:
                    await _decide(locked, review, decision)
                    await record(
                        locked.connection,
                        organization_id,
                        "review.decided",
                        resource=review_id,
                        now=locked.context.now,
                        decision=decision.status,
                    )
        decided = await self.get(organization_id, review_id)
        _check_same_decision(decided, decision)
        return decided

    async def expire_due(self) -> int:
        """Apply `on_expiry` to tasks that were not decided in time; return how many."""
        async with self._database.connection() as connection:
            due = await review_store.list_expired(
                connection, now=self._clock.now(), limit=_EXPIRED_AT_A_TIME
            )
        for organization_id, review_id in due:
            known = await self.get(organization_id, review_id)
            async with self._coordinator.lock_run(known.run_id) as locked:
                review = await self._current(locked, known)
                if locked is not None and review.status is ReviewStatus.PENDING:
                    await _expire(locked, review)
        return len(due)

    async def _current(self, locked: LockedRun | None, known: Review) -> Review:
        """Return a task as it is now, under the lock of its run."""
        if locked is None:
            return known
        current = await review_store.find(locked.connection, known.organization_id, known.id)
        return current or known


def _not_found(review_id: ReviewId) -> ReviewNotFound:
    return ReviewNotFound(f"there is no review {review_id}")


async def _decide(locked: LockedRun, review: Review, decision: Decision) -> None:
    decided = replace(
        review,
        status=decision.status,
        decided_by=decision.decided_by,
        reason=decision.reason,
        correction=decision.correction,
        decided_at=locked.context.now,
    )
    is_approved = decision.status is ReviewStatus.APPROVED
    await _end(locked, decided, StepStatus.SUCCEEDED if is_approved else StepStatus.SKIPPED)
    locked.extra_events.append(review_event(decided, "pipeline_review.decided"))


async def _expire(locked: LockedRun, review: Review) -> None:
    expired = replace(review, status=ReviewStatus.EXPIRED, decided_at=locked.context.now)
    await _end(locked, expired, _STATUS_AFTER_EXPIRY[review.on_expiry])
    locked.extra_events.append(review_event(expired, "pipeline_review.expired"))


async def _end(locked: LockedRun, review: Review, status: StepStatus) -> None:
    if not await review_store.save(locked.connection, review):
        return
    failure = _EXPIRED_FAILURE if status is StepStatus.FAILED else None
    locked.end_unit(UnitKey(locked.run.id, review.step_key), status, failure)
    if status is StepStatus.SUCCEEDED:
        await locked.save_output(review.step_key, _output(review))


def _output(review: Review) -> StepOutput:
    """Return the output of the step. Corrections are applied to the outputs that they correct."""
    by, correction = review.decided_by, review.correction
    metadata = {
        "decision": str(review.status),
        "reason": review.reason,
        "decided_by": {"type": by.type, "id": str(by.id)} if by else None,
        "corrected_kinds": sorted(correction.kinds) if correction else [],
    }
    return StepOutput(metadata)


def _check_same_decision(review: Review, decision: Decision) -> None:
    """Raise unless a task has this decision, made now or before."""
    if review.has_decision(decision):
        return
    if review.status is ReviewStatus.EXPIRED:
        raise ReviewExpired(f"review {review.id} expired at {review.expires_at.isoformat()}")
    if review.status in (ReviewStatus.PENDING, ReviewStatus.CANCELLED):
        raise ReviewNotPending(f"review {review.id} was cancelled with its run")
    raise ReviewConflict(
        f"review {review.id} is already {review.status}; a decision is final",
        status=str(review.status),
    )
