"""/api/v1/pipeline-reviews: review tasks that people decide (spec 3.3)."""

from typing import Any

from fastapi import APIRouter, Request

from framekiln.api.auth import services_of
from framekiln.api.bodies import read_json_value
from framekiln.api.v1.pipeline_access import MAX_BODY_BYTES, PipelineCaller, parse_path_id
from framekiln.api.v1.pipeline_bodies import ReviewInfo, ReviewList
from framekiln.api.v1.pipeline_pages import ReviewParameters
from framekiln.api.v1.pipeline_schemas import described_body, record_body
from framekiln.pipelines.errors import ReviewNotFound, invalid_request
from framekiln.pipelines.model.ids import ReviewId
from framekiln.pipelines.model.review import Decision, Reviewer, ReviewStatus
from framekiln.pipelines.outputs.corrections import Correction, check_correction
from framekiln.pipelines.outputs.model import MAX_OUTPUT_BYTES
from framekiln.pipelines.schema.issues import IssueCode, ValidationIssue
from framekiln.pipelines.services.requests import RejectRequest, read_body

router = APIRouter(prefix="/api/v1", tags=["pipelines"])

APPROVAL = described_body(
    {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "metadata_patch": {
                "anyOf": [
                    {
                        "type": "object",
                        "additionalProperties": False,
                        "properties": {
                            "annotations": {"type": "array", "items": {"type": "object"}},
                            "reviewed_kinds": {"type": "array", "items": {"type": "string"}},
                        },
                    },
                    {"type": "null"},
                ]
            }
        },
    }
)


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
    "/pipeline-reviews/{review_id}/approve", openapi_extra=APPROVAL, summary="Approve, or correct"
)
async def approve_review(request: Request, caller: PipelineCaller, review_id: str) -> ReviewInfo:
    """Continue the run, with corrected annotations if there are any."""
    body = await read_json_value(request, max_bytes=2 * MAX_OUTPUT_BYTES)
    decision = Decision(ReviewStatus.APPROVED, Reviewer.of(caller), _correction(body))
    return await _decide(request, caller, review_id, decision=decision)


@router.post(
    "/pipeline-reviews/{review_id}/reject",
    openapi_extra=record_body(RejectRequest),
    summary="Reject",
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
    if not isinstance(body, dict):
        raise invalid_request([ValidationIssue("", IssueCode.TYPE)])
    unknown = [
        ValidationIssue(name, IssueCode.UNKNOWN_FIELD) for name in body if name != "metadata_patch"
    ]
    if unknown:
        raise invalid_request(unknown)
    if body.get("metadata_patch") is None:
        return None
    checked = check_correction(body["metadata_patch"])
    if isinstance(checked, Correction):
        return checked
    raise invalid_request(checked)


def _review_id(text: str) -> ReviewId:
    return ReviewId(parse_path_id(text, ReviewNotFound, "there is no review"))
