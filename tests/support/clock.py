"""A clock that only tests advance."""

from datetime import UTC, datetime, timedelta


class SettableClock:
    """Implements `framekiln.kit.clock.Clock`; starts at a fixed time for repeatable tests."""

    def __init__(self, instant: datetime = datetime(2030, 1, 1, tzinfo=UTC)) -> None:
        self._instant = _in_utc(instant)

    def now(self) -> datetime:
        return self._instant

    def set(self, instant: datetime) -> None:
        self._instant = _in_utc(instant)

    def advance(self, step: timedelta) -> datetime:
        """Advance by `step` (backwards if negative) and return the new time."""
        self._instant += step
        return self._instant


def _in_utc(instant: datetime) -> datetime:
    if instant.tzinfo is None:
        message = f"{instant.isoformat()} has no time zone; give one, such as tzinfo=UTC"
        raise ValueError(message)
    return instant.astimezone(UTC)
