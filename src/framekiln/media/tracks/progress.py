"""Tracks progress and reports it in steps of half a per cent."""

from collections.abc import Callable
from fractions import Fraction
from typing import Final

_STEP: Final = Fraction(1, 200)


class WorkProgress:
    """A fraction of 1 that never decreases; reported at each half per cent and at the end."""

    def __init__(self, report: Callable[[Fraction], None]) -> None:
        self._report = report
        self._reported = Fraction(-1)
        self._reading = Fraction(0)
        self._reading_share = Fraction(1)
        self._total, self._done = 0, 0

    def read(self, part: Fraction, *, share: Fraction) -> None:
        """Set the fraction read; reading is `share` of all work."""
        self._reading, self._reading_share = part, share
        self._report_part()

    def plan(self, total: int) -> None:
        """Set the number of work units after reading."""
        self._reading, self._total = Fraction(1), max(1, total)

    def add(self, units: int) -> None:
        """Count units as done, at most as many as planned."""
        self._done = min(self._total, self._done + units)
        self._report_part()

    def finish(self) -> None:
        """Report the end, once."""
        self._report(Fraction(1))

    def _report_part(self) -> None:
        part = self._reading * self._reading_share
        if self._total:
            part += (1 - self._reading_share) * Fraction(self._done, self._total)
        if part - self._reported >= _STEP and part < 1:
            self._reported = part
            self._report(part)
