"""How much of a film was made, when its pictures and its sounds are made one after the other."""

from collections.abc import Callable
from fractions import Fraction
from typing import Final

from framekiln.media.splitting.work_done import WorkDone

PICTURES: Final = 9
"""Pictures cost about so many times what one track of sound costs."""
SOUND: Final = 1

Tell = Callable[[Fraction], None]
"""Gets the part of all work that is done, from 0 to 1."""


class PartsDone:
    """Counts milliseconds of each part against those of all parts, by what they cost."""

    def __init__(self, tell: Tell, *, length_ms: Fraction, weights: int) -> None:
        self._work = WorkDone(tell)
        # Nothing is read beforehand.
        self._work.read(Fraction(1), share=Fraction(0))
        self._length_ms = max(1, round(length_ms))
        self._work.plan(self._length_ms * weights)
        self._at_ms = 0

    def reached(self, at_ms: Fraction, weight: int) -> None:
        """The part being made is made up to there; an estimate of its length may be wrong."""
        at = min(self._length_ms, int(at_ms))
        if at > self._at_ms:
            self._work.add((at - self._at_ms) * weight)
            self._at_ms = at

    def end_part(self, weight: int) -> None:
        """All of a part is made, however long it was; the next one begins."""
        self.reached(Fraction(self._length_ms), weight)
        self._at_ms = 0
