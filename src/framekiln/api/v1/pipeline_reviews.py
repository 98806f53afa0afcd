"""/api/v1/pipeline-reviews: review tasks that people decide (spec 3.3)."""

from typing import Any

from fastapi import APIRouter, Request

from framekiln.api.auth import services_of
from framekiln.api.bodies import json_body, read_json_value
from framekiln.api.v1.pipeline_access import MAX_BODY_BYTES, PipelineCaller, parse_path_id
from framekiln.api.v1.pipeline_bodies import ReviewInfo, ReviewList
from framekiln.api.v1.pipeline_pages import ReviewParameters
from framekiln.pipelines.errors import ReviewNotFound, invalid_request
from framekiln.pipelines.model.pipeline import ReviewId
from framekiln.pipelines.model.review import Decision, Reviewer, ReviewStatus
from framekiln.pipelines.outputs.corrections import Correction, check_correction
from framekiln.pipelines.outputs.model import MAX_OUTPUT_BYTES
from framekiln.pipelines.services.requests import ApproveRequest, RejectRequest, read_body

router = APIRouter(prefix="/api/v1", tags=["pipelines"])


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
async def get_review(request: Request, caller: PipelineCaller, review_id: str) -> ReviewInfo:
    """Return a review task and its decision."""
    reviews = services_of(request).pipelines.reviews
    return ReviewInfo.of(await reviews.get(caller.organization.id, _review_id(review_id)))


@router.post(
    "/pipeline-reviews/{review_id}/approve",
    openapi_extra=json_body(ApproveRequest, names_unknown=False),
    summary="Approve a review task, with optional corrections",
)
async def approve_review(request: Request, caller: PipelineCaller, review_id: str) -> ReviewInfo:
    """Continue the run, with corrected annotations if there are any."""
    body = await read_json_value(request, max_bytes=2 * MAX_OUTPUT_BYTES)
    decision = Decision(ReviewStatus.APPROVED, Reviewer.of(caller), _correction(body))
    return await _decide(request, caller, review_id, decision=decision)


@router.post(
    "/pipeline-reviews/{review_id}/reject",
    openapi_extra=json_body(RejectRequest, names_unknown=False),
    summary="Reject a review task",
)
async def reject_review(request: Request, caller: PipelineCaller, review_id: str) -> ReviewInfo:
    """End the run: all later steps are skipped."""
    rejection = read_body(RejectRequest, await read_json_value(request, max_bytes=MAX_BODY_BYTES))
    decision = Decision(ReviewStatus.REJECTED, Reviewer.of(caller), reason=rejection.reason)
    return await _decide(request, caller, review_id, decision=decision)


async def _decide(
    request: Request, caller: PipelineCaller, review_id: str, *, decision: Decision
) -> ReviewInfo:
    reviews, found = services_of(request).pipelines.reviews, _review_id(review_id)
    return ReviewInfo.of(await reviews.decide(caller.organization.id, found, decision))


def _correction(body: Any) -> Correction | None:
    """Return the reviewer's corrections, or raise; None without a patch."""
    patch = read_body(ApproveRequest, body).metadata_patch
    if patch is None:
        return None
    checked = check_correction(patch)
    if isinstance(checked, Correction):
        return checked
    raise invalid_request(checked)


def _review_id(text: str) -> ReviewId:
    return ReviewId(parse_path_id(text, ReviewNotFound, "there is no review"))
