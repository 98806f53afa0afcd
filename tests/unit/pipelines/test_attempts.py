"""How often a step is tried, and how long it waits."""

import pytest

from framekiln.pipelines.states.attempts import Attempts, back_off_s


def test_three_attempts_with_growing_pauses() -> None:
    attempts = Attempts()
    delays: list[int | None] = []
    while len(delays) < 5 and None not in delays:
        attempts = attempts.begun()
        delays.append(attempts.delay_s(is_retryable=True))
    assert delays == [10, 20, None]


def test_what_cannot_get_better_is_not_tried_again() -> None:
    assert Attempts(made=1).delay_s(is_retryable=False) is None


@pytest.mark.parametrize(("asked_s", "waited_s"), [(0, 10), (5, 10), (60, 60), (99_999, 3600)])
def test_the_other_side_may_ask_for_a_longer_pause(asked_s: int, waited_s: int) -> None:
    assert Attempts(made=1).delay_s(is_retryable=True, retry_after_s=asked_s) == waited_s


def test_a_pause_is_at_most_ten_minutes() -> None:
    assert [back_off_s(failures) for failures in range(1, 10)] == [
        *(10, 20, 40, 80, 160, 320),
        *(600, 600, 600),
    ]


def test_a_retried_run_goes_on_counting() -> None:
    attempts = Attempts(made=3).renewed().begun()
    assert attempts == Attempts(made=4, made_before=3)
    assert attempts.delay_s(is_retryable=True) == 10
    assert attempts.begun().begun().delay_s(is_retryable=True) is None
