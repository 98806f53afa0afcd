"""Media time, exact: a frame rate is a fraction, an instant is a frame number.

Nothing here is ever a float; milliseconds and microseconds appear only at the edges.
"""

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor

SOUND_RATE_HZ = 48_000
"""Samples in a second of all sound that we mix and write."""

_SLACK_S = Fraction(1, 1_000_000)
_FRACTION = re.compile(r"-?[0-9]{1,30}(/[1-9][0-9]{0,29})?")

# The rates people write as decimals but mean as fractions.
_BROADCAST_RATES = {
    round(Fraction(n * 1000, 1001), 3): Fraction(n * 1000, 1001) for n in (24, 30, 48, 60, 120)
} | {round(Fraction(n * 1000, 1001), 2): Fraction(n * 1000, 1001) for n in (24, 30, 48, 60, 120)}


def read_fraction(text: object) -> Fraction:
    """Return the fraction that an untrusted child process wrote; raise `ValueError` for others.

    `Fraction` itself also reads "1e999999999", and takes hours for it.
    """
    if not isinstance(text, str) or _FRACTION.fullmatch(text) is None:
        raise ValueError(f"{str(text)[:40]!r} is not a fraction such as 30000/1001")
    return Fraction(text)


@lru_cache(maxsize=64)
def stored_rate(text: str) -> Fraction:
    """Return the frame rate that a row has; reading one takes long, and most films have a few."""
    return Fraction(text)


def exact_rate(fps: float | Fraction) -> Fraction:
    """Return the frame rate meant by `fps`: 29.97 is 30000/1001, 12.5 is 25/2."""
    if isinstance(fps, Fraction):
        return fps
    written = Fraction(str(fps))
    return _BROADCAST_RATES.get(written, written.limit_denominator(1001))


@dataclass(frozen=True)
class Timeline:
    """The frames of one film: how many, and when each is shown."""

    fps: Fraction
    frame_count: int

    @classmethod
    def lasting(cls, duration_ms: int | Fraction, fps: Fraction) -> "Timeline":
        """Return the timeline that covers the duration; a begun frame counts whole."""
        return cls(fps=fps, frame_count=max(1, ceil(Fraction(duration_ms) * fps / 1000)))

    def frame_us(self, number: int) -> int:
        """Return when a frame is shown, to the nearest microsecond."""
        return round(Fraction(number * 1_000_000) / self.fps)

    def number_at(self, time_s: Fraction) -> int:
        """Return the frame that is shown at an instant; one is due a microsecond before its time.

        Times that somebody wrote as decimals are a little before those of their frames.
        """
        return floor((time_s + _SLACK_S) * self.fps)

    @property
    def duration_ms(self) -> int:
        """The length of the film, to the nearest millisecond."""
        return round(Fraction(self.frame_count * 1000) / self.fps)
