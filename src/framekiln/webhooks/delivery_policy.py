"""Retry delays, automatic pausing and concurrency limits of deliveries. Pure.

A receiver that hangs costs a worker its whole time limit, so doubtful ones (the last attempt
failed, or none has succeeded yet) get one delivery at a time, and a small share of all slots.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

_HOUR_S: Final = 3600
# Two quick retries, then longer and longer delays: three days in all.
RETRY_DELAYS_S: Final = (10, 10, 60, 300, 1800, _HOUR_S, 2 * _HOUR_S, *[4 * _HOUR_S] * 17)
PAUSE_AFTER: Final = timedelta(hours=24)
MIN_OUTAGE: Final = timedelta(minutes=5)
"""Failures for this long mean that the receiver was down, not that it rejects one event."""

MAX_PER_SUBSCRIPTION: Final = 4
MAX_PER_ORGANIZATION: Final = 8
MAX_DOUBTFUL: Final = 6
MAX_DOUBTFUL_PER_ORGANIZATION: Final = 2


@dataclass(frozen=True)
class InFlight:
    """How many deliveries are being sent now."""

    of_subscription: int
    of_organization: int
    doubtful: int
    doubtful_of_organization: int


def free_slots(now_sending: InFlight, *, is_doubtful: bool) -> int:
    """Return how many more deliveries of a subscription may be sent now; at least 0."""
    free = MAX_PER_ORGANIZATION - now_sending.of_organization
    if not is_doubtful:
        return max(0, min(free, MAX_PER_SUBSCRIPTION - now_sending.of_subscription))
    doubtful = min(
        MAX_DOUBTFUL - now_sending.doubtful,
        MAX_DOUBTFUL_PER_ORGANIZATION - now_sending.doubtful_of_organization,
    )
    return max(0, min(free, doubtful, 1 - now_sending.of_subscription))


def next_attempt_at(tries: int, *, now: datetime) -> datetime | None:
    """Return the time of the next attempt after this many failures, or None to give up."""
    if tries > len(RETRY_DELAYS_S):
        return None
    return now + timedelta(seconds=RETRY_DELAYS_S[tries - 1])


def should_pause(failing_since: datetime, *, now: datetime) -> bool:
    """Whether a receiver has failed for so long that it is paused."""
    return now - failing_since >= PAUSE_AFTER


def has_recovered(failing_since: datetime | None, *, now: datetime) -> bool:
    """Whether a receiver is back after an outage, so that all retries are sent at once."""
    return failing_since is not None and now - failing_since >= MIN_OUTAGE
