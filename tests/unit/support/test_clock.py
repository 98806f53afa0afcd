"""The settable clock moves only when it is advanced."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from framekiln.kit.clock import Clock
from tests.support.clock import SettableClock


def test_the_clock_stands_still_until_it_is_advanced(clock: SettableClock) -> None:
    start = clock.now()
    assert clock.now() == start
    assert clock.advance(timedelta(seconds=90)) == start + timedelta(seconds=90)
    clock.set(start)
    assert clock.now() == start


def test_the_settable_clock_implements_clock(clock: SettableClock) -> None:
    fitting: Clock = clock
    assert fitting.now().tzinfo is UTC


def test_other_zones_become_utc() -> None:
    noon_east = datetime(2030, 6, 1, 12, tzinfo=timezone(timedelta(hours=2)))
    assert SettableClock(noon_east).now().isoformat() == "2030-06-01T10:00:00+00:00"


def test_an_instant_without_zone_is_refused(clock: SettableClock) -> None:
    with pytest.raises(ValueError, match="no time zone"):
        clock.set(datetime(2030, 1, 1))  # noqa: DTZ001
