"""Maps times of a layer to times of its source."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property


@dataclass(frozen=True)
class SourceWindow:
    """A part of a source, played `plays` times (None: forever), then held at its end.

    Without `out_s` the source has no end: pages, stills, texts.
    """

    in_s: Fraction = Fraction(0)
    out_s: Fraction | None = None
    speed: Fraction = Fraction(1)
    plays: int | None = 1

    @cached_property
    def play_s(self) -> Fraction | None:
        """The duration of one play on the timeline."""
        return None if self.out_s is None else (self.out_s - self.in_s) / self.speed

    def at(self, own_s: Fraction, frame_s: Fraction) -> Fraction:
        """Return the source time for a time since the layer's start.

        After the last play it is that of the last frame, `frame_s` before the end.
        """
        own_s = max(own_s, Fraction(0))
        if self.out_s is None or self.play_s is None or own_s < self.play_s:
            return self.in_s + own_s * self.speed
        if self.plays is None or own_s < self.play_s * self.plays:
            return self.in_s + (own_s % self.play_s) * self.speed
        return max(self.in_s, self.out_s - frame_s * self.speed)

    def runs(
        self, from_s: Fraction, to_s: Fraction
    ) -> Iterator[tuple[Fraction, Fraction, Fraction]]:
        """Yield the plays between two layer times: start, end, source time."""
        if self.play_s is None:
            yield from_s, to_s, self.in_s + from_s * self.speed
            return
        play = from_s // self.play_s
        while (self.plays is None or play < self.plays) and play * self.play_s < to_s:
            start = max(from_s, play * self.play_s)
            end = min(to_s, (play + 1) * self.play_s)
            yield start, end, self.in_s + (start - play * self.play_s) * self.speed
            play += 1
