"""Fades of a layer: requested by its transitions, limited by its duration."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction

from framekiln.composition.layers.curves import Curve, Point
from framekiln.composition.layers.transitions import Fade, Transition

_ZERO = Fraction(0)


@dataclass(frozen=True)
class Crossfade:
    """One side of a crossfade between two layers of a sequence."""

    duration_s: Fraction
    fades_sound: bool


@dataclass(frozen=True)
class Fades:
    """Durations of the fade in and fade out of a layer; crossfades count as fades."""

    in_s: Fraction = _ZERO
    out_s: Fraction = _ZERO
    sound_in_s: Fraction = _ZERO
    sound_out_s: Fraction = _ZERO
    crossfade_in_s: Fraction = _ZERO
    crossfade_out_s: Fraction = _ZERO

    def within(self, length_s: Fraction) -> "Fades":
        """Return the fades, both shortened in proportion if the layer is too short for them."""
        wanted = max(self.in_s + self.out_s, self.sound_in_s + self.sound_out_s)
        if wanted <= length_s:
            return self
        share = length_s / wanted
        return Fades(
            self.in_s * share,
            self.out_s * share,
            self.sound_in_s * share,
            self.sound_out_s * share,
            self.crossfade_in_s * share,
            self.crossfade_out_s * share,
        )

    def crossfading(self, coming: Crossfade | None, leaving: Crossfade | None) -> "Fades":
        """Return the fades with the crossfades of a sequence."""
        fades = self
        if coming is not None:
            length_s = coming.duration_s
            sound_s = length_s if coming.fades_sound else fades.sound_in_s
            fades = replace(fades, in_s=length_s, sound_in_s=sound_s, crossfade_in_s=length_s)
        if leaving is not None:
            length_s = leaving.duration_s
            sound_s = length_s if leaving.fades_sound else fades.sound_out_s
            fades = replace(fades, out_s=length_s, sound_out_s=sound_s, crossfade_out_s=length_s)
        return fades


def fades_of(transitions: Iterable[Transition]) -> Fades:
    """Return the fades of a layer's transitions; of several, the longest counts."""
    fades = [each for each in transitions if isinstance(each, Fade)]

    def longest(*, is_in: bool, sound: bool = False, crossfade: bool = False) -> Fraction:
        chosen = [
            each.duration_s
            for each in fades
            if each.is_in is is_in
            and (each.fades_sound or not sound)
            and (each.is_crossfade or not crossfade)
        ]
        return max(chosen, default=_ZERO)

    return Fades(
        longest(is_in=True),
        longest(is_in=False),
        longest(is_in=True, sound=True),
        longest(is_in=False, sound=True),
        longest(is_in=True, crossfade=True),
        longest(is_in=False, crossfade=True),
    )


def ramp(start_s: Fraction, end_s: Fraction, *, in_s: Fraction, out_s: Fraction) -> Curve:
    """Return a curve from 0 to 1 and back to 0; without a fade, that side has no ramp."""
    points: list[Point] = []
    if in_s:
        points += [Point(start_s, 0.0), Point(start_s + in_s, 1.0)]
    if out_s:
        points += [Point(end_s - out_s, 1.0), Point(end_s, 0.0)]
    return Curve(tuple(points)) if points else Curve.constant(1.0)
