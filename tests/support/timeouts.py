"""Timeouts of tests. No test may depend on the speed of the machine.

A busy machine needs ten times as long as an idle one. A limit that only ends a hanging test is
therefore minutes long. A test of a deadline uses an operation that never finishes, and tries it
with increasing limits.
"""

from collections.abc import Iterator
from types import TracebackType
from typing import Final

from framekiln.engine.film_order import FilmLimits

TIMEOUT_S: Final = 300.0
"""Longer than anything takes; only a failing test waits this long."""
FILM_LIMITS: Final = FilmLimits(settle_s=TIMEOUT_S, frame_s=TIMEOUT_S, whole_s=2 * TIMEOUT_S)
"""For films in tests that are not about limits."""
GENEROUS_SETTINGS: Final = {"FRAMEKILN_SETTLE_TIMEOUT_S": f"{TIMEOUT_S:.0f}"}
"""The same for services and commands, in their environment."""
# Endless loops work for as long as that.
_LIMITS_S: Final = (1.0, 5.0, 30.0, 200.0)


def growing_pauses() -> Iterator[float]:
    """Yield the pauses between looks at something, in seconds.

    What is there at once is found at once; what takes long is not slowed down by those who look.
    """
    pause_s = 0.05
    while True:
        yield pause_s
        pause_s = min(2 * pause_s, 0.4)


class Attempt:
    """One attempt with a limit; as a context manager it returns the limit in seconds."""

    def __init__(self, limit_s: float, too_early: tuple[type[Exception], ...]) -> None:
        self.has_passed = False
        self._limit_s = limit_s
        self._too_early = too_early

    def __enter__(self) -> float:
        return self._limit_s

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        self.has_passed = kind is None
        return kind is not None and issubclass(kind, self._too_early)


def increasing_limits(*too_early: type[Exception]) -> Iterator[Attempt]:
    """Yield attempts with increasing limits, until one does not raise a `too_early` error.

        for attempt in increasing_limits(PageNeverSettled):
            with attempt as limit_s, pytest.raises(PageBlocked):
                ...

    On a slow machine, a short limit may expire before the tested operation starts. With the
    longest limit every error counts.
    """
    *shorter, longest = _LIMITS_S
    for limit_s in shorter:
        attempt = Attempt(limit_s, too_early)
        yield attempt
        if attempt.has_passed:
            return
    yield Attempt(longest, ())
