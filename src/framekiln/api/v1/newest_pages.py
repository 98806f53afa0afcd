"""Pagination of files and renders: the query parameters and the cursors."""

from datetime import datetime
from typing import Annotated

from fastapi import Query
from pydantic import BaseModel, Field

from framekiln.api.v1.file_bodies import FileRecord
from framekiln.api.v1.pages import ListQuery, foreign_cursor, read_cursor
from framekiln.api.v1.render_bodies import RenderInfo
from framekiln.db.newest_rows import NewestPage, RowPosition
from framekiln.files.model import File, FileStatus, FileType
from framekiln.kit.ids import parse_uuid
from framekiln.renders.model import Render, RenderStatus

MAX_SEARCH_CHARS = 200


class NewestQuery(ListQuery):
    """The query of a list whose rows are found by their time."""

    @property
    def page(self) -> NewestPage:
        """One more item than shown, to know whether there is another page."""
        return NewestPage(self.limit + 1, _position(self.cursor))


class FileQuery(NewestQuery):
    """The query of GET /api/v1/files."""

    status: FileStatus | None = None
    type: FileType | None = None
    search: str | None = Field(
        default=None,
        min_length=1,
        max_length=MAX_SEARCH_CHARS,
        description="Text in the file name; case does not matter.",
    )


class RenderQuery(NewestQuery):
    """The query of GET /api/v1/renders."""

    status: RenderStatus | None = None


FileParameters = Annotated[FileQuery, Query()]
RenderParameters = Annotated[RenderQuery, Query()]


class FileList(BaseModel):
    """A page of files, newest first."""

    files: list[FileRecord]
    next_cursor: str | None


class RenderList(BaseModel):
    """A page of renders, newest first."""

    renders: list[RenderInfo]
    next_cursor: str | None


def newest_place(item: File | Render) -> str:
    """Return what a cursor says of the last item of a page."""
    return f"{item.created_at.isoformat()} {item.id}"


def _position(cursor: str | None) -> RowPosition | None:
    place = read_cursor(cursor)
    if place is None:
        return None
    instant, _, text = place.partition(" ")
    row_id = parse_uuid(text)
    try:
        created_at = datetime.fromisoformat(instant)
    except ValueError:
        created_at = None
    if row_id is None or created_at is None or created_at.tzinfo is None:
        raise foreign_cursor()
    return RowPosition(created_at, row_id)
