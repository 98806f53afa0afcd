"""Parses and checks `expires_at` (spec 7)."""

from datetime import UTC, datetime, timedelta
from typing import Final

from framekiln.kit.errors import InvalidInput

MAX_RETENTION: Final = timedelta(days=30)


class InvalidDatetime(InvalidInput):
    """`expires_at` is not an ISO 8601 date and time."""

    code = "invalid_datetime"


class MustBeFuture(InvalidInput):
    """`expires_at` has passed."""

    code = "must_be_future"


class ExceedsMaxRetention(InvalidInput):
    """`expires_at` is beyond the longest retention."""

    code = "exceeds_max_retention"


def parse_expiry(value: object, *, now: datetime) -> datetime | None:
    """Return the time given by `expires_at`; None means forever."""
    if value is None:
        return None
    instant = _parse(value)
    if instant <= now:
        raise MustBeFuture(f"expires_at {value} is not in the future", field="expires_at")
    if instant > now + MAX_RETENTION:
        raise ExceedsMaxRetention(
            f"expires_at {value} is more than {MAX_RETENTION.days} days away",
            field="expires_at",
        )
    return instant


def _parse(value: object) -> datetime:
    try:
        if not isinstance(value, str) or "T" not in value.upper():
            raise ValueError
        instant = datetime.fromisoformat(value)
        # A time without a zone is UTC, as in our own output.
        return instant.astimezone(UTC) if instant.tzinfo else instant.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise InvalidDatetime(
            "expires_at is not an ISO 8601 date and time such as 2030-01-31T12:00:00Z",
            field="expires_at",
        ) from None
