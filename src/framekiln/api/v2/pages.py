"""Lists of v2: pages with numbers, and the links that its clients look for."""

from collections.abc import Callable
from typing import Annotated, Any, TypeVar
from urllib.parse import urlencode

from fastapi import Depends, Query, Request
from pydantic import BaseModel, ConfigDict, Field

from framekiln.api.auth import services_of
from framekiln.videos.pagination import (
    DEFAULT_PER_PAGE,
    MAX_PAGE,
    MAX_PER_PAGE,
    ListPage,
    PageNumberRequest,
)

Item = TypeVar("Item")

# Pages beside the present one that get a link of their own.
_EACH_SIDE = 3


class PageLink(BaseModel):
    """One entry of a row of page numbers."""

    url: str | None
    label: str
    active: bool


class ListMeta(BaseModel):
    """Where a page stands (spec 2.1); `path` and `links` are for clients that draw page numbers."""

    current_page: int
    from_: int | None = Field(serialization_alias="from", validation_alias="from")
    last_page: int
    links: list[PageLink]
    path: str
    per_page: int
    to: int | None
    total: int


class ListLinks(BaseModel):
    """Where to go from a page."""

    first: str
    last: str
    prev: str | None
    next: str | None


class PageNumberQuery(BaseModel):
    """The query of a list; a name that nobody knows is refused, as in other lists."""

    model_config = ConfigDict(extra="forbid")

    page: int = Field(default=1, ge=1, le=MAX_PAGE)
    per_page: int = Field(default=DEFAULT_PER_PAGE, ge=1, le=MAX_PER_PAGE)


async def page_request(query: Annotated[PageNumberQuery, Query()]) -> PageNumberRequest:
    """Return which page the query asks for."""
    return PageNumberRequest(query.page, query.per_page)


PageParam = Annotated[PageNumberRequest, Depends(page_request)]


def page_answer(
    request: Request, page: ListPage[Item], describe: Callable[[Item], Any]
) -> dict[str, Any]:
    """Return the whole answer of a list."""
    path = services_of(request).settings.public_url + request.url.path
    here, last = page.request.page, page.last_page

    def url(number: int) -> str:
        # A page size that was asked for stays while paging.
        asked = {"per_page": page.request.per_page} if "per_page" in request.query_params else {}
        return f"{path}?{urlencode({**asked, 'page': number})}"

    before = url(here - 1) if here > 1 else None
    after = url(here + 1) if here < last else None
    numbers = range(max(1, here - _EACH_SIDE), min(last, here + _EACH_SIDE) + 1)
    row = [
        PageLink(url=before, label="&laquo; Previous", active=False),
        *(PageLink(url=url(n), label=str(n), active=n == here) for n in numbers),
        PageLink(url=after, label="Next &raquo;", active=False),
    ]
    return {
        "data": [describe(item) for item in page.items],
        "links": ListLinks(first=url(1), last=url(last), prev=before, next=after),
        "meta": ListMeta(
            current_page=here,
            **{"from": page.first_item},
            last_page=last,
            links=row,
            path=path,
            per_page=page.request.per_page,
            to=page.last_item,
            total=page.total,
        ),
    }
