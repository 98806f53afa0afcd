"""When to try again, when to give up, and who may send now."""

from datetime import UTC, datetime, timedelta

import pytest

from framekiln.webhooks.delivery_policy import (
    RETRY_DELAYS_S,
    InFlight,
    free_slots,
    has_recovered,
    next_attempt_at,
    should_pause,
)

NOW = datetime(2030, 1, 1, tzinfo=UTC)
NOBODY = InFlight(0, 0, 0, 0)


def test_two_quick_tries_then_ever_slower_for_three_days() -> None:
    waits = [next_attempt_at(tries, now=NOW) for tries in range(1, 25)]
    assert waits == [NOW + timedelta(seconds=delay) for delay in RETRY_DELAYS_S]
    assert RETRY_DELAYS_S[:8] == (10, 10, 60, 300, 1800, 3600, 7200, 14400)
    assert list(RETRY_DELAYS_S) == sorted(RETRY_DELAYS_S)
    assert timedelta(hours=71) < timedelta(seconds=sum(RETRY_DELAYS_S)) < timedelta(hours=72)
    assert next_attempt_at(25, now=NOW) is None


def test_a_receiver_is_dead_after_a_day_of_failures() -> None:
    assert not should_pause(NOW - timedelta(hours=24, seconds=-1), now=NOW)
    assert should_pause(NOW - timedelta(hours=24), now=NOW)


def test_a_receiver_counts_as_unavailable_after_minutes_of_failures() -> None:
    assert not has_recovered(None, now=NOW)
    assert not has_recovered(NOW - timedelta(minutes=4), now=NOW)
    assert has_recovered(NOW - timedelta(minutes=5), now=NOW)


@pytest.mark.parametrize(
    ("in_flight", "is_doubtful", "free"),
    [
        (NOBODY, False, 4),
        (InFlight(3, 3, 0, 0), False, 1),
        (InFlight(4, 4, 0, 0), False, 0),
        (InFlight(5, 5, 0, 0), False, 0),
        (InFlight(0, 7, 0, 0), False, 1),
        (InFlight(0, 8, 0, 0), False, 0),
        # However many doubtful ones there are, those that work go on.
        (InFlight(0, 2, 6, 2), False, 4),
        (NOBODY, True, 1),
        (InFlight(1, 1, 1, 1), True, 0),
        (InFlight(0, 1, 1, 1), True, 1),
        (InFlight(0, 2, 2, 2), True, 0),
        (InFlight(0, 0, 5, 0), True, 1),
        (InFlight(0, 0, 6, 0), True, 0),
        # Four were under way when it began to fail.
        (InFlight(4, 4, 4, 4), True, 0),
    ],
)
def test_free_slots_follow_from_deliveries_in_flight(
    in_flight: InFlight, is_doubtful: bool, free: int
) -> None:
    assert free_slots(in_flight, is_doubtful=is_doubtful) == free
