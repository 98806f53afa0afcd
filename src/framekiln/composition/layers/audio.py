"""The audio of a film as plain values: which source plays when, and how loud."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Final

from framekiln.composition.layers.curves import Curve, Point
from framekiln.composition.layers.easing import LINEAR
from framekiln.composition.layers.source_window import SourceWindow

_DUCK_RAMP_S: Final = Fraction(1, 4)
# Between two points of a curved gain; linear interpolation between them is inaudible.
_GAIN_STEP_S: Final = Fraction(1, 100)
# The duration of a jump between two points at the same time: a step clicks.
_JUMP_S: Final = Fraction(1, 200)


@dataclass(frozen=True)
class AudioSegment:
    """A continuous part of a source, played at `speed` with its pitch kept."""

    start_s: Fraction
    end_s: Fraction
    source_in_s: Fraction
    speed: Fraction


@dataclass(frozen=True)
class LayerAudio:
    """The audio of one layer, from `start_s` to `end_s` of the film."""

    layer_id: str
    path: str
    source: str
    start_s: Fraction
    end_s: Fraction
    layer_start_s: Fraction
    """The start of its layer, which may be before the film."""
    window: SourceWindow
    gains: tuple[Curve, ...]
    """Multiplied with each other; times are those of the film."""

    def gain_at(self, time_s: Fraction) -> float:
        """Return the gain at an instant."""
        gain = 1.0
        for curve in self.gains:
            gain *= curve.at(time_s)
        return max(0.0, gain)

    def segments(self) -> Iterator[AudioSegment]:
        """Yield the segments, one play after the other."""
        zero = self.layer_start_s
        for start, end, source_s in self.window.runs(self.start_s - zero, self.end_s - zero):
            yield AudioSegment(zero + start, zero + end, source_s, self.window.speed)

    def gain_points(self) -> list[tuple[Fraction, float]]:
        """Return (time, gain) from start to end; the gain is linear between them."""
        moving = [curve for curve in self.gains if not curve.is_constant]
        knots = {self.start_s, self.end_s}
        knots |= {point.time_s for curve in moving for point in curve.points}
        knots |= {time_s - _JUMP_S for curve in moving for time_s in curve.jumps}
        inside = sorted(knot for knot in knots if self.start_s <= knot <= self.end_s)
        times = [inside[0]]
        for start, end in pairwise(inside):
            if _is_bent(moving, start, end):
                steps = int((end - start) / _GAIN_STEP_S)
                times += [start + (end - start) * n / (steps + 1) for n in range(1, steps + 1)]
            times.append(end)
        return [(time_s, self.gain_at(time_s)) for time_s in times]


def _is_bent(curves: list[Curve], start_s: Fraction, end_s: Fraction) -> bool:
    middle_s = (start_s + end_s) / 2
    sloping = 0
    for curve in curves:
        target = next((point for point in curve.points if point.time_s > middle_s), None)
        if target is not None and target.easing != LINEAR:
            return True
        sloping += curve.at(start_s) != curve.at(middle_s)
    return sloping > 1


def ducked_gain(spans: Iterable[tuple[Fraction, Fraction]], amount: float) -> Curve:
    """Return a gain that is reduced by `amount` during any of the spans."""
    points: list[Point] = []
    for start, end in _merged(spans):
        points += [
            Point(start - _DUCK_RAMP_S, 1.0),
            Point(start, 1 - amount),
            Point(end, 1 - amount),
            Point(end + _DUCK_RAMP_S, 1.0),
        ]
    return Curve(tuple(points)) if points else Curve.constant(1.0)


def _merged(spans: Iterable[tuple[Fraction, Fraction]]) -> list[tuple[Fraction, Fraction]]:
    merged: list[tuple[Fraction, Fraction]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1] + 2 * _DUCK_RAMP_S:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
