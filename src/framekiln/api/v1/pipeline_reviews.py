"""/api/v1/pipeline-reviews: review tasks that people decide (spec 3.3)."""

from datetime import timedelta
from typing import Any, Final

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from framekiln.api.auth import services_of
from framekiln.api.bodies import json_body, read_json, read_json_value
from framekiln.api.review_links import review_target
from framekiln.api.v1.links import LinkInfo, LinkScope, describe_link, new_link
from framekiln.api.v1.pipeline_access import (
    MAX_BODY_BYTES,
    PipelineCaller,
    ReviewAccess,
    ReviewCaller,
    parse_path_id,
)
from framekiln.api.v1.pipeline_pages import ReviewParameters
from framekiln.api.v1.review_bodies import ReviewInfo, ReviewInputsInfo, ReviewList
from framekiln.links.model import MAX_LIFETIME
from framekiln.pipelines.errors import ReviewNotFound, ReviewNotPending, invalid_request
from framekiln.pipelines.model.pipeline import ReviewId
from framekiln.pipelines.model.review import Decision, ReviewStatus
from framekiln.pipelines.outputs.corrections import Correction, check_correction
from framekiln.pipelines.outputs.model import MAX_OUTPUT_BYTES
from framekiln.pipelines.services.requests import ApproveRequest, RejectRequest, read_body

router = APIRouter(prefix="/api/v1", tags=["pipelines"])

_DEFAULT_LIFETIME: Final = timedelta(days=7)


class CreateReviewLink(BaseModel):
    """How long a link for a reviewer is valid."""

    model_config = ConfigDict(extra="forbid")

    expires_in_s: int = Field(
        default=int(_DEFAULT_LIFETIME.total_seconds()),
        ge=1,
        le=int(MAX_LIFETIME.total_seconds()),
        description="Seconds until the link expires.",
    )
    scope: LinkScope = "api_key"


@router.get("/pipeline-reviews", summary="List review tasks")
async def list_reviews(
    request: Request, caller: PipelineCaller, query: ReviewParameters
) -> ReviewList:
    """Return a page of tasks, newest first."""
    found = await services_of(request).pipelines.reviews.page(
        caller.organization.id, query.filter, query.page_request
    )
    page, next_cursor = query.page_of(found, lambda each: each.position)
    return ReviewList(reviews=[ReviewInfo.of(each) for each in page], next_cursor=next_cursor)


@router.get("/pipeline-reviews/{review_id}", summary="Show a review task")
async def get_review(request: Request, access: ReviewCaller) -> ReviewInfo:
    """Return a review task and its decision."""
    reviews = services_of(request).pipelines.reviews
    return ReviewInfo.of(await reviews.get(access.organization_id, access.review_id))


@router.get("/pipeline-reviews/{review_id}/inputs", summary="Show what a review task is about")
async def get_inputs(request: Request, access: ReviewCaller) -> ReviewInputsInfo:
    """Return the file and the annotations of the steps before, with earlier corrections."""
    services = services_of(request)
    inputs = await services.pipelines.reviews.inputs(access.organization_id, access.review_id)
    file = await services.files.get(access.organization_id, inputs.file_id)
    return ReviewInputsInfo.describe(inputs, file)


@router.post(
    "/pipeline-reviews/{review_id}/links",
    status_code=201,
    openapi_extra=json_body(CreateReviewLink, names_unknown=False),
    summary="Make a link for a reviewer",
)
async def create_review_link(
    request: Request, response: Response, caller: PipelineCaller, *, review_id: str
) -> LinkInfo:
    """Make a link to the page of this task, for somebody who has no account."""
    services = services_of(request)
    body = await read_json(request, CreateReviewLink, max_bytes=MAX_BODY_BYTES)
    found = ReviewId(parse_path_id(review_id, ReviewNotFound, "there is no review"))
    review = await services.pipelines.reviews.get(caller.organization.id, found)
    if review.status is not ReviewStatus.PENDING:
        raise ReviewNotPending(f"review {review.id} is {review.status}: nothing is left to decide")
    target = review_target(review.id)
    new = new_link(caller, target, expires_in_s=body.expires_in_s, scope=body.scope)
    response.headers["Cache-Control"] = "no-store"
    return await describe_link(services, await services.links.create(new))


@router.post(
    "/pipeline-reviews/{review_id}/approve",
    openapi_extra=json_body(ApproveRequest, names_unknown=False),
    summary="Approve a review task, with optional corrections",
)
async def approve_review(request: Request, access: ReviewCaller) -> ReviewInfo:
    """Continue the run, with corrected annotations if there are any."""
    body = await read_json_value(request, max_bytes=2 * MAX_OUTPUT_BYTES)
    decision = Decision(ReviewStatus.APPROVED, access.reviewer, _correction(body))
    return await _decide(request, access, decision)


@router.post(
    "/pipeline-reviews/{review_id}/reject",
    openapi_extra=json_body(RejectRequest, names_unknown=False),
    summary="Reject a review task",
)
async def reject_review(request: Request, access: ReviewCaller) -> ReviewInfo:
    """End the run: all later steps are skipped."""
    rejection = read_body(RejectRequest, await read_json_value(request, max_bytes=MAX_BODY_BYTES))
    decision = Decision(ReviewStatus.REJECTED, access.reviewer, reason=rejection.reason)
    return await _decide(request, access, decision)


async def _decide(request: Request, access: ReviewAccess, decision: Decision) -> ReviewInfo:
    reviews = services_of(request).pipelines.reviews
    return ReviewInfo.of(await reviews.decide(access.organization_id, access.review_id, decision))


def _correction(body: Any) -> Correction | None:
    """Return the reviewer's corrections, or raise; None without a patch."""
    patch = read_body(ApproveRequest, body).metadata_patch
    if patch is None:
        return None
    checked = check_correction(patch)
    if isinstance(checked, Correction):
        return checked
    raise invalid_request(checked)
