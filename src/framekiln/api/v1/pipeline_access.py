"""What all routes of pipelines share: who may ask, how pages are asked for, ids in addresses.

Pipelines are switched on for each organization; until then their routes are as if they were not.
"""

import base64
import binascii
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Final, TypeVar
from uuid import UUID

from fastapi import Depends, Query, Request

from framekiln.api.auth import AuthenticatedCaller
from framekiln.identity.model import Caller
from framekiln.kit.errors import NotFound
from framekiln.kit.ids import parse_uuid
from framekiln.pipelines.errors import invalid_request
from framekiln.pipelines.issues import Code, Issue

MAX_BODY_BYTES: Final = 64 << 10
MAX_DEFINITION_BYTES: Final = 1 << 20
MAX_LIMIT: Final = 100

Item = TypeVar("Item")

Limit = Annotated[int, Query(ge=1, le=MAX_LIMIT, description="Items on a page.")]
Cursor = Annotated[str | None, Query(description="`next_cursor` of the page before.")]


async def pipeline_caller(request: Request, caller: AuthenticatedCaller) -> Caller:
    """Return who asks, if pipelines are switched on for them."""
    if not caller.organization.pipelines_enabled:
        raise NotFound(f"there is nothing at {request.url.path}")
    return caller


PipelineCaller = Annotated[Caller, Depends(pipeline_caller)]


def id_in(text: str, kind: type[NotFound], noun: str) -> UUID:
    """Return the id in an address; what is none is answered like one that does not exist."""
    found = parse_uuid(text)
    if found is None:
        raise kind(f"there is no {noun} {text[:100]!r}: ids are UUIDs")
    return found


def read_cursor(cursor: str | None) -> str | None:
    """Return the place that a cursor stands for, or raise."""
    if cursor is None:
        return None
    try:
        place = base64.urlsafe_b64decode(cursor.encode()).decode("ascii")
    except (binascii.Error, UnicodeError, ValueError):
        place = ""
    if not place or write_cursor(place) != cursor:
        raise invalid_request([Issue("cursor", Code.PATTERN)])
    return place


def read_position(cursor: str | None) -> int | None:
    """Return the number that a cursor stands for, or raise."""
    place = read_cursor(cursor)
    if place is None:
        return None
    if not place.removeprefix("-").isdecimal() or len(place) > 18:
        raise invalid_request([Issue("cursor", Code.PATTERN)])
    return int(place)


def write_cursor(place: object) -> str:
    """Return a cursor, which nobody is to look into."""
    return base64.urlsafe_b64encode(str(place).encode()).decode()


def page_of(
    found: Sequence[Item], limit: int, place_of: Callable[[Item], Any]
) -> tuple[list[Item], str | None]:
    """Return a page and the cursor of the next; one more than `limit` was asked for."""
    page = list(found[:limit])
    return page, write_cursor(place_of(page[-1])) if len(found) > limit else None
