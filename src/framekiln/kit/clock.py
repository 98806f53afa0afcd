"""The one source of wall-clock time. Nothing else in the project asks the system for it."""

from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """What domains ask for the time."""

    def now(self) -> datetime:
        """Return the current instant, in UTC."""
        ...


class SystemClock:
    """The machine's own clock."""

    def now(self) -> datetime:
        """Return the current instant, in UTC."""
        return datetime.now(UTC)
