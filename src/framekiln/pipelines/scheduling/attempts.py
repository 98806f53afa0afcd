"""How often a step, or a window of one, is tried, and how long it waits in between. Pure.

Attempts are numbered from 1 and go on counting when the run is retried: the number is part of what
an endpoint knows an attempt by, so none is used twice.
"""

from dataclasses import dataclass, replace

MAX_ATTEMPTS = 3
FIRST_DELAY_S = 10
MAX_DELAY_S = 600
MAX_RETRY_AFTER_S = 3600


def backoff_s(failures: int) -> int:
    """Return how long to wait after so many failed attempts: twice as long each time."""
    return min(FIRST_DELAY_S << (failures - 1), MAX_DELAY_S)


@dataclass(frozen=True)
class AttemptCount:
    """The attempts of a step or window."""

    made: int = 0
    made_before: int = 0
    """Those from before the run was last retried."""

    def incremented(self) -> "AttemptCount":
        """Return the attempts with one more."""
        return replace(self, made=self.made + 1)

    def after_retry(self) -> "AttemptCount":
        """Return the attempts after a retry of the run: there may be as many again."""
        return replace(self, made_before=self.made)

    def delay_s(self, *, is_retryable: bool, retry_after_s: int = 0) -> int | None:
        """Return how long to wait after a failed attempt; None means that the step has failed.

        `retry_after_s` is what the other side asked for.
        """
        failures = self.made - self.made_before
        if not is_retryable or failures >= MAX_ATTEMPTS:
            return None
        return max(backoff_s(failures), min(retry_after_s, MAX_RETRY_AFTER_S))
