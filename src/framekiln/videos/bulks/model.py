"""A bulk: many videos of one template, a row of data for each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from framekiln.kit.ids import ApiKeyId, OrganizationId
from framekiln.videos.public_ids import BulkId, TemplateId, VideoId

MAX_ROWS: Final = 10_000
ROWS_UNDER_WAY: Final = 16
"""Of a bulk; more would only wait in the queue."""
MAX_RUNNING: Final = 20
"""Bulks of an organization at a time."""


class BulkStatus(StrEnum):
    """The status of a bulk."""

    RUNNING = "running"
    COMPLETE = "complete"
    """All rows have ended, each with a video or an error."""
    CANCELLED = "cancelled"


class RowStatus(StrEnum):
    """The status of a row."""

    WAITING = "waiting"
    PROCESSING = "processing"
    READY = "ready"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True)
class BulkRequest:
    """A bulk as a caller wants it; nothing of it is validated."""

    rows: Sequence[Mapping[str, Any]]
    version: int | None = None
    idempotency_key: str | None = None
    destinations: Sequence[str] | None = None
    """The addresses of its own destinations; None for those of the template."""


@dataclass(frozen=True)
class NewBulk:
    """A bulk whose rows are validated."""

    template_id: TemplateId
    template_version: int
    rows: Sequence[Mapping[str, Any]]
    request_digest: str
    idempotency_key: str | None = None


@dataclass(frozen=True)
class Bulk:
    """One bulk, as stored."""

    id: BulkId
    organization_id: OrganizationId
    api_key_id: ApiKeyId | None
    template_id: TemplateId
    template_version: int
    status: BulkStatus
    row_count: int
    request_digest: str
    created_at: datetime
    ended_at: datetime | None


@dataclass(frozen=True)
class BulkRow:
    """One row, as stored; numbers begin with 1."""

    number: int
    data: Mapping[str, Any]
    status: RowStatus
    video_id: VideoId | None
    error_code: str | None
    error_message: str | None


@dataclass(frozen=True)
class CountedBulk:
    """A bulk and the number of its rows by status."""

    bulk: Bulk
    counts: Mapping[RowStatus, int]
