"""Destinations of outputs, their status, and when a failed copy is tried again. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final, NewType
from uuid import UUID

from framekiln.kit.ids import ApiKeyId, OrganizationId, RenderId

DestinationId = NewType("DestinationId", UUID)

MAX_DESTINATIONS: Final = 10
"""Of one output."""
ID_PLACEHOLDER: Final = "{id}"
"""In keys and addresses: becomes the id of the render or video."""
_RETRY_DELAYS_S: Final = (5, 30, 120, 600, 1800)
MAX_ATTEMPTS: Final = len(_RETRY_DELAYS_S) + 1


class DestinationType(StrEnum):
    """Where an output is copied to."""

    S3 = "s3"
    GCS = "gcs"
    AZURE = "azure"
    URL = "url"


class DestinationStatus(StrEnum):
    """The state of a copy."""

    PENDING = "pending"
    COPYING = "copying"
    COMPLETE = "complete"
    FAILED = "failed"


@dataclass(frozen=True)
class DestinationError:
    """Why the last attempt failed, and what to do."""

    code: str
    message: str


@dataclass(frozen=True)
class DestinationRequest:
    """A destination as a caller wants it; `settings` are kept encrypted."""

    type: DestinationType
    settings: Mapping[str, Any] = field(repr=False)
    """As JSON, credentials included."""


@dataclass(frozen=True)
class PreparedDestination:
    """A destination that was checked, and whose settings are encrypted."""

    id: DestinationId
    type: DestinationType
    address: str
    """For people: without credentials and query. May contain `{id}`."""
    encrypted: bytes = field(repr=False)


@dataclass(frozen=True)
class DestinationOwner:
    """A template or a bulk, whose videos are copied to its destinations."""

    organization_id: OrganizationId
    template_id: str | None = None
    bulk_id: str | None = None


@dataclass(frozen=True)
class Destination:
    """A stored destination."""

    id: DestinationId
    organization_id: OrganizationId
    api_key_id: ApiKeyId | None
    render_id: RenderId
    resource_id: str
    """The id of the render or of the video, for the owner."""
    type: DestinationType
    address: str
    status: DestinationStatus
    attempts: int
    error: DestinationError | None
    byte_size: int | None
    created_at: datetime
    completed_at: datetime | None
    encrypted: bytes = field(repr=False)


def next_attempt_at(attempts: int, *, now: datetime) -> datetime | None:
    """Return the time of the next attempt after this many, or None to give up."""
    if attempts >= MAX_ATTEMPTS:
        return None
    return now + timedelta(seconds=_RETRY_DELAYS_S[attempts - 1])


def with_id(text: str, resource_id: str) -> str:
    """Return an object key or an address with the id of the resource in it."""
    return text.replace(ID_PLACEHOLDER, resource_id)
