"""How often a step is tried, and how long it waits."""

import pytest

from framekiln.pipelines.scheduling.attempts import AttemptCount, backoff_s


def test_three_attempts_with_growing_pauses() -> None:
    attempts = AttemptCount()
    delays: list[int | None] = []
    while len(delays) < 5 and None not in delays:
        attempts = attempts.incremented()
        delays.append(attempts.delay_s(is_retryable=True))
    assert delays == [10, 20, None]


def test_errors_that_are_not_retryable_end_the_step() -> None:
    assert AttemptCount(made=1).delay_s(is_retryable=False) is None


@pytest.mark.parametrize(("asked_s", "waited_s"), [(0, 10), (5, 10), (60, 60), (99_999, 3600)])
def test_retry_after_may_prolong_the_pause(asked_s: int, waited_s: int) -> None:
    assert AttemptCount(made=1).delay_s(is_retryable=True, retry_after_s=asked_s) == waited_s


def test_a_pause_is_at_most_ten_minutes() -> None:
    assert [backoff_s(failures) for failures in range(1, 10)] == [
        *(10, 20, 40, 80, 160, 320),
        *(600, 600, 600),
    ]


def test_a_retried_run_continues_the_attempt_count() -> None:
    attempts = AttemptCount(made=3).after_retry().incremented()
    assert attempts == AttemptCount(made=4, made_before=3)
    assert attempts.delay_s(is_retryable=True) == 10
    assert attempts.incremented().incremented().delay_s(is_retryable=True) is None
