"""What people do with review tasks, and what happens when nobody does."""

from dataclasses import replace
from typing import Final

from framekiln.db.pool import Database
from framekiln.jobs.ending import Failure
from framekiln.kit.clock import Clock
from framekiln.kit.ids import OrganizationId
from framekiln.pipelines.errors import (
    ReviewConflict,
    ReviewExpired,
    ReviewNotFound,
    ReviewNotPending,
)
from framekiln.pipelines.model.ids import ReviewId
from framekiln.pipelines.model.listing import Stretch
from framekiln.pipelines.model.review import Decision, Review, ReviewStatus
from framekiln.pipelines.model.run import UnitName
from framekiln.pipelines.outputs.output import Output
from framekiln.pipelines.running.advance import Advance
from framekiln.pipelines.running.events import review_event
from framekiln.pipelines.running.held import HeldRun
from framekiln.pipelines.states.statuses import StepStatus
from framekiln.pipelines.tables.review import store
from framekiln.pipelines.tables.review.store import ReviewFilter

_EXPIRED_AT_A_TIME: Final = 500
_NOBODY_DECIDED: Final = Failure(ReviewExpired.code, "nobody decided in time")
_AFTER_EXPIRY: Final = {
    "approve": StepStatus.SUCCEEDED,
    "reject": StepStatus.SKIPPED,
    "fail": StepStatus.FAILED,
}


class Reviews:
    """The review tasks of all organizations."""

    def __init__(self, database: Database, *, advance: Advance, clock: Clock) -> None:
        self._database = database
        self._advance = advance
        self._clock = clock

    async def get(self, organization_id: OrganizationId, review_id: ReviewId) -> Review:
        """Return a task of the organization."""
        async with self._database.connection() as connection:
            review = await store.find(connection, organization_id, review_id)
        if review is None:
            raise ReviewNotFound(f"there is no review {review_id}")
        return review

    async def page(
        self, organization_id: OrganizationId, wanted: ReviewFilter, stretch: Stretch
    ) -> list[Review]:
        """Return a page of tasks, newest first."""
        async with self._database.connection() as connection:
            return await store.list_newest(connection, organization_id, wanted, stretch=stretch)

    async def decide(
        self, organization_id: OrganizationId, review_id: ReviewId, decision: Decision
    ) -> Review:
        """Decide a task; the same decision again returns what was recorded."""
        known = await self.get(organization_id, review_id)
        async with self._advance.hold(known.run_id) as held:
            review = await self._current(held, known)
            if held is not None and review.status is ReviewStatus.PENDING:
                if review.expires_at <= held.frame.now:
                    await _expire(held, review)
                else:
                    await _decide(held, review, decision)
        decided = await self.get(organization_id, review_id)
        _check_agrees(decided, decision)
        return decided

    async def expire_due(self) -> int:
        """Do for tasks that nobody decided in time what they say; return how many."""
        async with self._database.connection() as connection:
            due = await store.list_expired(
                connection, now=self._clock.now(), limit=_EXPIRED_AT_A_TIME
            )
        for organization_id, review_id in due:
            known = await self.get(organization_id, review_id)
            async with self._advance.hold(known.run_id) as held:
                review = await self._current(held, known)
                if held is not None and review.status is ReviewStatus.PENDING:
                    await _expire(held, review)
        return len(due)

    async def _current(self, held: HeldRun | None, known: Review) -> Review:
        """Return a task as it stands now that nobody else can decide it."""
        if held is None:
            return known
        current = await store.find(held.connection, known.organization_id, known.id)
        return current or known


async def _decide(held: HeldRun, review: Review, decision: Decision) -> None:
    decided = replace(
        review,
        status=decision.status,
        decided_by=decision.decided_by,
        reason=decision.reason,
        correction=decision.correction,
        decided_at=held.frame.now,
    )
    is_approved = decision.status is ReviewStatus.APPROVED
    await _end(held, decided, StepStatus.SUCCEEDED if is_approved else StepStatus.SKIPPED)
    held.told.append(review_event(decided, "pipeline_review.decided"))


async def _expire(held: HeldRun, review: Review) -> None:
    expired = replace(review, status=ReviewStatus.EXPIRED, decided_at=held.frame.now)
    await _end(held, expired, _AFTER_EXPIRY[review.on_expiry])
    held.told.append(review_event(expired, "pipeline_review.expired"))


async def _end(held: HeldRun, review: Review, status: StepStatus) -> None:
    if not await store.save(held.connection, review):
        return
    failure = _NOBODY_DECIDED if status is StepStatus.FAILED else None
    held.end(UnitName(held.run.id, review.step_key), status, failure)
    if status is StepStatus.SUCCEEDED:
        await held.write(review.step_key, _output(review))


def _output(review: Review) -> Output:
    """Return what later steps may read. Corrections are applied to what they correct instead."""
    by, correction = review.decided_by, review.correction
    metadata = {
        "decision": str(review.status),
        "reason": review.reason,
        "decided_by": {"type": by.type, "id": str(by.id)} if by else None,
        "corrected_kinds": sorted(correction.kinds) if correction else [],
    }
    return Output(metadata)


def _check_agrees(review: Review, decision: Decision) -> None:
    """Raise unless a task was decided like this, now or before."""
    if review.is_same(decision):
        return
    if review.status is ReviewStatus.EXPIRED:
        raise ReviewExpired(f"review {review.id} expired at {review.expires_at.isoformat()}")
    if review.status in (ReviewStatus.PENDING, ReviewStatus.CANCELLED):
        raise ReviewNotPending(f"review {review.id} is not wanted any more: its run was stopped")
    raise ReviewConflict(
        f"review {review.id} was {review.status} already, otherwise", status=str(review.status)
    )
