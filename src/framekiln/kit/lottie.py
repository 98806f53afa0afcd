"""Size, frame rate and duration of a Lottie animation, from its JSON. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

# Larger values cannot be drawn or played, and fractions would grow needlessly.
_MAX_NUMBER: Final = 10**9


class NotLottie(ValueError):
    """The value is not a Lottie animation; the message names the field and the remedy."""


@dataclass(frozen=True)
class LottieFacts:
    """Exact facts: 29.97 frames per second are 2997/100."""

    width_px: float
    height_px: float
    fps: Fraction
    duration_s: Fraction


def lottie_facts(animation: object) -> LottieFacts:
    """Return the facts of an animation, or raise `NotLottie`. Without `ip` it starts at 0."""
    if not isinstance(animation, Mapping):
        raise NotLottie("it must be an object")
    width, height, fps = (_above_0(animation, name) for name in ("w", "h", "fr"))
    first = _number(animation, "ip") if animation.get("ip") is not None else Fraction(0)
    end = _number(animation, "op")
    if end <= first:
        raise NotLottie("op must be more than ip, where the animation starts")
    return LottieFacts(_side(width), _side(height), fps, (end - first) / fps)


def _side(length: Fraction) -> float:
    return int(length) if length.denominator == 1 else float(length)


def _above_0(animation: Mapping[str, object], name: str) -> Fraction:
    what = "a number above 0"
    number = _number(animation, name, what)
    if number <= 0:
        raise NotLottie(f"{name} must be {what}")
    return number


def _number(animation: Mapping[str, object], name: str, what: str = "a number") -> Fraction:
    value = animation.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise NotLottie(f"{name} must be {what}")
    # NaN is not within the bounds either.
    if not -_MAX_NUMBER <= value <= _MAX_NUMBER:
        raise NotLottie(f"{name} must be at most {_MAX_NUMBER}")
    return Fraction(str(value))
