"""Links for reviewers: a link whose target is one review task, opened by the studio.

The token stands behind `#`, so it reaches no log. The studio exchanges it for a cookie.
"""

from typing import Final
from uuid import UUID

from framekiln.kit.ids import parse_uuid
from framekiln.links.model import Link, LinkTarget
from framekiln.pipelines.model.pipeline import ReviewId

_FOLDER: Final = ("api", "v1", "pipeline-reviews")


def review_target(review_id: UUID) -> LinkTarget:
    """Return what a link to a review task leads to."""
    return LinkTarget((*_FOLDER, str(review_id)), {})


def review_of(link: Link) -> ReviewId | None:
    """Return the review task that a link leads to; None if it leads to media."""
    *folder, name = link.target.segments
    found = parse_uuid(name) if tuple(folder) == _FOLDER else None
    return None if found is None else ReviewId(found)


def review_url(public_url: str, review_id: UUID, token: str) -> str:
    """Return the address that a reviewer opens."""
    return f"{public_url}/studio/reviews/{review_id}#link={token}"
