"""Lists of v1 in pages: the query parameters and the cursors.

Unknown query parameters are refused: a misspelled filter would list everything.
"""

import base64
import binascii
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Final, TypeVar

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field

from framekiln.kit.errors import InvalidInput
from framekiln.pipelines.model.pipeline import PageRequest
from framekiln.pipelines.schema.issues import IssueCode

Item = TypeVar("Item")

MAX_LIMIT: Final = 100


class ListQuery(BaseModel):
    """The query of every list."""

    model_config = ConfigDict(extra="forbid")

    limit: int = Field(default=25, ge=1, le=MAX_LIMIT, description="Items on a page.")
    cursor: str | None = Field(default=None, description="`next_cursor` of the previous page.")

    @property
    def position(self) -> int | None:
        """The position in the cursor; raises when it is invalid."""
        return read_position(self.cursor)

    @property
    def page_request(self) -> PageRequest:
        """The query for a page: one more item than shown, to know whether there is another page."""
        return PageRequest(self.limit + 1, self.position)

    def page_of(
        self, found: Sequence[Item], place_of: Callable[[Item], Any]
    ) -> tuple[list[Item], str | None]:
        """Return a page and the cursor of the next one, from up to `limit` + 1 items."""
        page = list(found[: self.limit])
        return page, write_cursor(place_of(page[-1])) if len(found) > self.limit else None


PageParameters = Annotated[ListQuery, Query()]


def foreign_cursor() -> InvalidInput:
    """Return the error for a cursor that no page has returned."""
    message = "cursor is not one of ours: send next_cursor of the previous page"
    issue = {"path": "cursor", "code": str(IssueCode.PATTERN), "message": message}
    return InvalidInput(message, field="cursor", issues=[issue])


def read_cursor(cursor: str | None) -> str | None:
    """Return the text in a cursor, or raise."""
    if cursor is None:
        return None
    try:
        place = base64.urlsafe_b64decode(cursor.encode()).decode("ascii")
    except (binascii.Error, UnicodeError, ValueError):
        place = ""
    if not place or write_cursor(place) != cursor:
        raise foreign_cursor()
    return place


def read_position(cursor: str | None) -> int | None:
    """Return the number in a cursor, or raise."""
    place = read_cursor(cursor)
    if place is None:
        return None
    if not place.removeprefix("-").isdecimal() or len(place) > 18:
        raise foreign_cursor()
    return int(place)


def write_cursor(place: object) -> str:
    """Return an opaque cursor."""
    return base64.urlsafe_b64encode(str(place).encode()).decode()
