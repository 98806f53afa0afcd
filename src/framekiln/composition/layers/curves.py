"""A value over time: keyframes of one property, constant before the first and after the last."""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

from framekiln.composition.layers.easing import LINEAR, Easing
from framekiln.composition.layers.transitions import Keyframe, Property, Transition


@dataclass(frozen=True)
class Point:
    """A value at an instant; the easing applies from the previous point to this one."""

    time_s: Fraction
    value: float
    easing: Easing = LINEAR


@dataclass(frozen=True)
class Curve:
    """Points sorted by time; two at the same time are a jump."""

    points: tuple[Point, ...]

    @classmethod
    def constant(cls, value: float) -> "Curve":
        """Return a constant curve."""
        return cls((Point(Fraction(0), value),))

    def at(self, time_s: Fraction) -> float:
        """Return the value at an instant."""
        after = bisect_right(self.points, time_s, key=lambda point: point.time_s)
        if after == 0:
            return self.points[0].value
        before = self.points[after - 1]
        if after == len(self.points):
            return before.value
        target = self.points[after]
        share = (time_s - before.time_s) / (target.time_s - before.time_s)
        return before.value + (target.value - before.value) * target.easing(float(share))

    def moved(self, by_s: Fraction) -> "Curve":
        """Return the curve delayed by a time."""
        return Curve(tuple(replace(point, time_s=point.time_s + by_s) for point in self.points))

    @property
    def jumps(self) -> list[Fraction]:
        """The times that several points share."""
        return [one.time_s for one, other in pairwise(self.points) if one.time_s == other.time_s]

    @property
    def is_constant(self) -> bool:
        """Whether it has the same value at all times."""
        return all(point.value == self.points[0].value for point in self.points)


def curves_of(transitions: Iterable[Transition]) -> dict[Property, Curve]:
    """Return one curve for each property that has keyframes."""
    frames: dict[Property, list[Keyframe]] = {}
    for transition in transitions:
        if isinstance(transition, Keyframe):
            frames.setdefault(transition.property, []).append(transition)
    return {which: _curve(several) for which, several in frames.items()}


def _curve(frames: list[Keyframe]) -> Curve:
    ordered = sorted(frames, key=lambda frame: frame.time_s)
    return Curve(tuple(Point(frame.time_s, frame.value, frame.easing) for frame in ordered))
