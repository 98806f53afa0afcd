"""Response bodies of review tasks."""

from typing import Any
from uuid import UUID

from pydantic import BaseModel, Field

from framekiln.api.v1.pipeline_bodies import Instant
from framekiln.files.model import File
from framekiln.pipelines.model.review import (
    Review,
    ReviewStatus,
    describe_review,
)
from framekiln.pipelines.services.reviews import ReviewInputs


class Decider(BaseModel):
    """An API key, a user or a review link."""

    type: str
    id: UUID


class DecisionInfo(BaseModel):
    """The decision and who made it; null when the review expired."""

    decision: ReviewStatus
    decided_by: Decider | None
    reason: str | None


class ReviewInfo(BaseModel):
    """A review task."""

    id: UUID
    run_id: UUID
    pipeline_run_id: UUID
    step_run_id: UUID
    step_key: str
    attempt: int
    status: ReviewStatus
    instructions: str | None
    input_namespaces: list[str]
    on_expiry: str
    decision: DecisionInfo | None
    metadata_patch: dict[str, Any] | None
    created_at: Instant
    expires_at: Instant
    decided_at: Instant | None

    @classmethod
    def of(cls, review: Review) -> "ReviewInfo":
        """Return the response for a review task."""
        correction = review.correction
        return cls(
            **describe_review(review),
            instructions=review.instructions,
            on_expiry=review.on_expiry,
            metadata_patch=None if correction is None else correction.to_json(),
        )


class ReviewList(BaseModel):
    """A page of tasks, newest first."""

    reviews: list[ReviewInfo]
    next_cursor: str | None


class ReviewedFile(BaseModel):
    """The file that a review task is about."""

    id: UUID
    filename: str
    width: int | None
    height: int | None
    duration_ms: int | None


class ReviewedOutput(BaseModel):
    """What a step before the review found."""

    namespace: str
    annotations: list[dict[str, Any]]


class ReviewInputsInfo(BaseModel):
    """What a review task is about."""

    file: ReviewedFile
    redacted_kinds: list[str] = Field(description="What later steps hide or mute.")
    outputs: list[ReviewedOutput]

    @classmethod
    def describe(cls, inputs: ReviewInputs, file: File) -> "ReviewInputsInfo":
        """Return the response for what a task is about."""
        return cls(
            file=ReviewedFile(
                id=file.id,
                filename=file.filename,
                width=file.width_px,
                height=file.height_px,
                duration_ms=file.duration_ms,
            ),
            redacted_kinds=sorted(inputs.redacted_kinds),
            outputs=[
                ReviewedOutput(namespace=name, annotations=output.to_json()["annotations"])
                for name, output in inputs.outputs.items()
            ],
        )
