"""A review task, and the decision about it."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from framekiln.identity.model import Caller
from framekiln.kit.clock import iso
from framekiln.kit.ids import OrganizationId
from framekiln.pipelines.model.pipeline import ReviewId, RunId, StepRunId
from framekiln.pipelines.outputs.corrections import Correction


class ReviewStatus(StrEnum):
    """The status of a task."""

    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    """Its run ended before a decision."""


@dataclass(frozen=True)
class Reviewer:
    """Who decided: an API key or a user."""

    type: str
    id: UUID

    @classmethod
    def of(cls, caller: Caller) -> "Reviewer":
        """Return the reviewer for a caller."""
        if caller.user is not None:
            return cls("user", caller.user.id)
        assert caller.api_key is not None, "a caller is somebody"
        return cls("api_key", caller.api_key.id)


@dataclass(frozen=True)
class Decision:
    """A decision about a task."""

    status: ReviewStatus
    """Approved or rejected."""
    decided_by: Reviewer
    correction: Correction | None = None
    reason: str | None = None


@dataclass(frozen=True, kw_only=True)
class Review:
    """One task, as stored."""

    id: ReviewId
    position: int = 0
    """Set by the database."""
    organization_id: OrganizationId
    run_id: RunId
    step_run_id: StepRunId
    step_key: str
    attempt: int
    status: ReviewStatus = ReviewStatus.PENDING
    instructions: str | None
    input_namespaces: tuple[str, ...]
    on_expiry: str
    decided_by: Reviewer | None = None
    reason: str | None = None
    correction: Correction | None = None
    created_at: datetime
    expires_at: datetime
    decided_at: datetime | None = None

    def has_decision(self, decision: Decision) -> bool:
        """Whether the task has this decision, by whichever reviewer."""
        return (
            self.status is decision.status
            and self.correction == decision.correction
            and (self.status is not ReviewStatus.REJECTED or self.reason == decision.reason)
        )


def describe_review(review: Review) -> dict[str, Any]:
    """Return a task as JSON for callers and webhooks."""
    by = review.decided_by
    decided = review.status not in (ReviewStatus.PENDING, ReviewStatus.CANCELLED)
    decision = {
        "decision": str(review.status),
        "decided_by": {"type": by.type, "id": str(by.id)} if by else None,
        "reason": review.reason,
    }
    return {
        "id": str(review.id),
        "run_id": str(review.run_id),
        "pipeline_run_id": str(review.run_id),
        "input_namespaces": list(review.input_namespaces),
        "step_run_id": str(review.step_run_id),
        "step_key": review.step_key,
        "attempt": review.attempt,
        "status": str(review.status),
        "decision": decision if decided else None,
        "created_at": review.created_at.isoformat(),
        "expires_at": review.expires_at.isoformat(),
        "decided_at": iso(review.decided_at),
    }


@dataclass(frozen=True)
class ReviewFilter:
    """Filters of a list of tasks; None matches all."""

    status: ReviewStatus | None = None
    run_id: UUID | None = None
