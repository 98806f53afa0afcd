"""The quotas of organizations, and the error of one that is used up."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum
from typing import Final

from framekiln.kit.errors import RateLimited
from framekiln.settings import Settings

WINDOW: Final = timedelta(hours=24)
"""Of quotas for a time; it moves on by the hour."""
USAGE_KEPT_FOR: Final = timedelta(days=400)
MAX_USAGE_DAYS: Final = 366


class Quota(StrEnum):
    """What is limited."""

    CONCURRENT_RENDERS = "concurrent_renders"
    """Render slots at the same time; further renders wait."""
    RENDER_MINUTES = "render_minutes"
    """Minutes of film in the last 24 hours."""
    STORED_BYTES = "stored_bytes"
    """Files with their tracks, outputs of renders, and downloaded sources."""
    DOWNLOADED_BYTES = "downloaded_bytes"
    """Bytes fetched by URL in the last 24 hours."""
    CONCURRENT_COPIES = "concurrent_copies"
    """Copies to destinations at the same time; further ones wait."""
    UPLOADED_BYTES = "uploaded_bytes"
    """Bytes sent to destinations in the last 24 hours."""
    QUEUED_JOBS = "queued_jobs"
    """Jobs that wait for a worker."""
    REQUESTS_PER_MINUTE = "requests_per_minute"
    """Requests to one api process."""


Limits = Mapping[Quota, int | None]
"""None means no limit."""

ADVICE: Final = {
    Quota.RENDER_MINUTES: "wait until earlier renders are 24 hours old",
    Quota.STORED_BYTES: "delete files, renders or videos",
    Quota.DOWNLOADED_BYTES: "wait until earlier downloads are 24 hours old, or upload the sources",
    Quota.UPLOADED_BYTES: "wait until earlier copies are 24 hours old",
    Quota.QUEUED_JOBS: "wait until jobs have ended",
    Quota.REQUESTS_PER_MINUTE: "send fewer requests",
}


class QuotaExceeded(RateLimited):
    """A quota of the organization is used up; `quota`, `used` and `limit` say which."""

    code = "quota_exceeded"


class DailyAmount(StrEnum):
    """What is counted by the hour, under these names."""

    RENDERS = "renders"
    """Films that were planned."""
    RENDER_MS = Quota.RENDER_MINUTES
    STORED_BYTES = Quota.STORED_BYTES
    """Not a sum: what was stored at the end of the hour."""
    DOWNLOADED_BYTES = Quota.DOWNLOADED_BYTES
    REQUESTS = "requests"


@dataclass(frozen=True)
class DayUsage:
    """What an organization used on a day (UTC)."""

    day: date
    renders: int = 0
    render_ms: int = 0
    stored_bytes: int | None = None
    """At the end of the day; None if it is not known."""
    downloaded_bytes: int = 0
    requests: int = 0


@dataclass(frozen=True)
class QuotaUsage:
    """How much of a quota is used; None where it is not counted."""

    quota: Quota
    used: int | None
    limit: int | None


def default_limits(settings: Settings) -> Limits:
    """Return the operator's limits; 0 in the settings means none."""
    return {
        Quota.CONCURRENT_RENDERS: settings.quota_concurrent_renders or None,
        Quota.RENDER_MINUTES: settings.quota_render_minutes or None,
        Quota.STORED_BYTES: settings.quota_stored_bytes or None,
        Quota.DOWNLOADED_BYTES: settings.quota_downloaded_bytes or None,
        Quota.CONCURRENT_COPIES: settings.quota_concurrent_copies or None,
        Quota.UPLOADED_BYTES: settings.quota_uploaded_bytes or None,
        Quota.QUEUED_JOBS: settings.quota_queued_jobs or None,
        Quota.REQUESTS_PER_MINUTE: settings.quota_requests_per_minute or None,
    }
