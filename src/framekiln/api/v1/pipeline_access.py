"""Shared by all pipeline routes: access, idempotency keys, ids in addresses.

Pipelines are enabled for each organization; until then their routes answer 404.
"""

from dataclasses import dataclass
from typing import Annotated, Final
from uuid import UUID

from fastapi import Depends, Header, Request

from framekiln.api.auth import (
    AuthenticatedCaller,
    OpenedReview,
    caller,
    require_open_review,
    review_link,
    services_of,
)
from framekiln.api.origins import SAFE_METHODS
from framekiln.identity.model import Caller
from framekiln.kit.errors import NotFound
from framekiln.kit.ids import OrganizationId, parse_uuid
from framekiln.pipelines.errors import ReviewNotFound
from framekiln.pipelines.model.pipeline import ReviewId
from framekiln.pipelines.model.review import Reviewer
from framekiln.pipelines.services.requests import read_idempotency_key

MAX_BODY_BYTES: Final = 64 << 10
MAX_DEFINITION_BYTES: Final = 1 << 20


async def pipeline_caller(request: Request, found: AuthenticatedCaller) -> Caller:
    """Return the caller, if pipelines are enabled for its organization."""
    if not found.organization.pipelines_enabled:
        raise NotFound(f"there is nothing at {request.url.path}")
    return found


async def idempotency_key(
    text: Annotated[
        str | None,
        Header(
            alias="Idempotency-Key",
            description="1 to 255 characters; a repeated request returns the first result.",
        ),
    ] = None,
) -> str | None:
    """Return the key of a request, if it has one."""
    return read_idempotency_key(text)


@dataclass(frozen=True)
class ReviewAccess:
    """Who may see and decide a review task: its organization, or whoever has a link to it."""

    organization_id: OrganizationId
    review_id: ReviewId
    reviewer: Reviewer


async def review_access(request: Request, review_id: str) -> ReviewAccess:
    """Return who may decide this task, or raise; a link is for one task only."""
    wanted = ReviewId(parse_path_id(review_id, ReviewNotFound, "there is no review"))
    opened = await review_link(request)
    if opened is None:
        found = await pipeline_caller(request, await caller(request))
        return ReviewAccess(found.organization.id, wanted, Reviewer.of(found))
    if opened.review_id != wanted:
        raise ReviewNotFound(f"there is no review {wanted}")
    return await _link_access(request, opened)


async def _link_access(request: Request, opened: OpenedReview) -> ReviewAccess:
    """Return the access by a link, which ends with the decision.

    Whoever decided by this link may send the decision again, because a response may be lost.
    """
    organization_id, reviewer = opened.link.organization_id, Reviewer("link", opened.link.id)
    reviews = services_of(request).pipelines.reviews
    review = await reviews.get(organization_id, opened.review_id)
    if request.method in SAFE_METHODS or review.decided_by != reviewer:
        await require_open_review(request, opened.link, opened.review_id)
    return ReviewAccess(organization_id, opened.review_id, reviewer)


ReviewCaller = Annotated[ReviewAccess, Depends(review_access)]
PipelineCaller = Annotated[Caller, Depends(pipeline_caller)]
IdempotencyKey = Annotated[str | None, Depends(idempotency_key)]


def parse_path_id(text: str, kind: type[NotFound], message: str) -> UUID:
    """Return the id in an address; a malformed one is answered like an unknown one."""
    found = parse_uuid(text)
    if found is None:
        raise kind(f"{message} {text[:100]!r}: ids are UUIDs")
    return found
