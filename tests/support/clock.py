"""A clock that stands still until a test moves it."""

from datetime import UTC, datetime, timedelta


class SettableClock:
    """Fits `framekiln.kit.clock.Clock`; starts at a fixed instant so that tests repeat exactly."""

    def __init__(self, instant: datetime = datetime(2030, 1, 1, tzinfo=UTC)) -> None:
        self._instant = _in_utc(instant)

    def now(self) -> datetime:
        return self._instant

    def set(self, instant: datetime) -> None:
        self._instant = _in_utc(instant)

    def advance(self, step: timedelta) -> datetime:
        """Move by `step` (backwards when negative) and return the new instant."""
        self._instant += step
        return self._instant


def _in_utc(instant: datetime) -> datetime:
    if instant.tzinfo is None:
        message = f"{instant.isoformat()} has no time zone; give one, such as tzinfo=UTC"
        raise ValueError(message)
    return instant.astimezone(UTC)
