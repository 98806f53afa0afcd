"""Pages of a list: the request and the result."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

Item = TypeVar("Item")

DEFAULT_PER_PAGE: Final = 15
MAX_PER_PAGE: Final = 100
MAX_PAGE: Final = 1_000_000


@dataclass(frozen=True)
class PageNumberRequest:
    """Pages count from 1."""

    page: int = 1
    per_page: int = DEFAULT_PER_PAGE

    @property
    def offset(self) -> int:
        """The number of items before the page."""
        return (self.page - 1) * self.per_page


@dataclass(frozen=True)
class ListPage(Generic[Item]):
    """The items of a page, and the number of items on all pages."""

    items: Sequence[Item]
    request: PageNumberRequest
    total: int

    @property
    def last_page(self) -> int:
        """The number of the last page; an empty list has one too."""
        return max(1, -(-self.total // self.request.per_page))

    @property
    def first_item(self) -> int | None:
        """The number of the page's first item in the whole list, from 1."""
        return self.request.offset + 1 if self.items else None

    @property
    def last_item(self) -> int | None:
        """The number of the page's last item."""
        return self.request.offset + len(self.items) if self.items else None
