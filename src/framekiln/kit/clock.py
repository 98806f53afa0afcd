"""The one source of wall-clock time. No other module reads it."""

from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """The clock of the domains."""

    def now(self) -> datetime:
        """Return the current instant, in UTC."""
        ...


class SystemClock:
    """The machine's own clock."""

    def now(self) -> datetime:
        """Return the current instant, in UTC."""
        return datetime.now(UTC)


def iso(instant: datetime | None) -> str | None:
    """Return an instant as bodies and events write it: ISO 8601, or null."""
    return instant.isoformat() if instant else None
