"""The responses of v2 about bulks."""

from typing import Any

from pydantic import BaseModel, Field

from framekiln.api.v2.bodies import iso_microseconds
from framekiln.api.v2.pages import ListLinks, ListMeta
from framekiln.videos.bulks.model import BulkRow, BulkStatus, CountedBulk, RowStatus


class BulkCounts(BaseModel):
    """The number of rows by status."""

    waiting: int
    processing: int
    ready: int
    failed: int
    cancelled: int


class BulkInfo(BaseModel):
    """A bulk."""

    id: str
    status: BulkStatus
    template_id: str
    template_version: int
    row_count: int
    counts: BulkCounts
    progress: float = Field(description="The part of the rows that has ended, from 0 to 1.")
    created_at: str
    ended_at: str = Field(default="", description="There when it has ended.")


class BulkAnswer(BaseModel):
    """One bulk."""

    data: BulkInfo


class BulkList(BaseModel):
    """A page of bulks."""

    data: list[BulkInfo]
    links: ListLinks
    meta: ListMeta


class BulkWarning(BaseModel):
    """Something that has no effect; equal warnings are listed once, with the first row."""

    row: int = 0
    path: str
    code: str
    message: str
    hint: str = ""


class CreatedBulkAnswer(BaseModel):
    """A bulk, and what has no effect in its rows."""

    data: BulkInfo
    warnings: list[BulkWarning] = []


class BulkRowError(BaseModel):
    """Why a row has no video."""

    code: str
    message: str


class BulkRowInfo(BaseModel):
    """A row and its result; rows are counted from 1."""

    row: int
    status: RowStatus
    data: dict[str, Any]
    video_id: str = ""
    download_url: str = ""
    error: BulkRowError | None = None


class BulkRowList(BaseModel):
    """A page of rows."""

    data: list[BulkRowInfo]
    links: ListLinks
    meta: ListMeta


def bulk_info(counted: CountedBulk) -> BulkInfo:
    """Describe a bulk."""
    bulk, counts = counted.bulk, counted.counts
    open_rows = counts[RowStatus.WAITING] + counts[RowStatus.PROCESSING]
    fields: dict[str, Any] = {
        "id": bulk.id,
        "status": bulk.status,
        "template_id": bulk.template_id,
        "template_version": bulk.template_version,
        "row_count": bulk.row_count,
        "counts": BulkCounts(**{str(status): count for status, count in counts.items()}),
        "progress": round((bulk.row_count - open_rows) / bulk.row_count, 4),
        "created_at": iso_microseconds(bulk.created_at),
    }
    if bulk.ended_at is not None:
        fields["ended_at"] = iso_microseconds(bulk.ended_at)
    return BulkInfo(**fields)


def bulk_row_info(row: BulkRow, base_url: str) -> BulkRowInfo:
    """Describe a row; fields that are not there are left out."""
    fields: dict[str, Any] = {"row": row.number, "status": row.status, "data": dict(row.data)}
    if row.video_id is not None:
        fields["video_id"] = row.video_id
        if row.status is RowStatus.READY:
            fields["download_url"] = f"{base_url}/v2/videos/{row.video_id}/download"
    if row.error_code is not None:
        message = row.error_message or ""
        fields["error"] = BulkRowError(code=row.error_code, message=message)
    return BulkRowInfo(**fields)
