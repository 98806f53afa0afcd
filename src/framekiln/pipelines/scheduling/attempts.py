"""Attempts of a step or window, and the delays between them. Pure.

Attempts are numbered from 1, also across retries of the run: the number is part of the idempotency
key that an endpoint gets, so none is used twice.
"""

from dataclasses import dataclass, replace

MAX_ATTEMPTS = 3
FIRST_DELAY_S = 10
MAX_DELAY_S = 600
MAX_RETRY_AFTER_S = 3600


def backoff_s(failures: int) -> int:
    """Return the delay after this many failed attempts; it doubles each time."""
    return min(FIRST_DELAY_S << (failures - 1), MAX_DELAY_S)


@dataclass(frozen=True)
class AttemptCount:
    """The attempts of a step or window."""

    made: int = 0
    made_before: int = 0
    """Those before the last retry of the run."""

    def incremented(self) -> "AttemptCount":
        """Return the attempts with one more."""
        return replace(self, made=self.made + 1)

    def after_retry(self) -> "AttemptCount":
        """Return the attempts after a retry of the run, which allows as many again."""
        return replace(self, made_before=self.made)

    def delay_s(self, *, is_retryable: bool, retry_after_s: int = 0) -> int | None:
        """Return the delay after a failed attempt; None if the step has failed.

        `retry_after_s` is the delay that the endpoint requested.
        """
        failures = self.made - self.made_before
        if not is_retryable or failures >= MAX_ATTEMPTS:
            return None
        return max(backoff_s(failures), min(retry_after_s, MAX_RETRY_AFTER_S))
