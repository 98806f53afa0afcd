"""The only source of wall-clock time. No other module reads it."""

from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """The clock of the domains."""

    def now(self) -> datetime:
        """Return the current time in UTC."""
        ...


class SystemClock:
    """The machine's own clock."""

    def now(self) -> datetime:
        """Return the current time in UTC."""
        return datetime.now(UTC)


def iso(instant: datetime | None) -> str | None:
    """Return a time as in response bodies and events: ISO 8601, or null."""
    return instant.isoformat() if instant else None
