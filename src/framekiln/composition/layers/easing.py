"""Easing between keyframes: functions of the elapsed fraction of time.

An easing belongs to the keyframe at its end. Each goes through (0, 0) and (1, 1); only the elastic
ones and some Bezier curves leave that range.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

_PERIOD: Final = 0.3
_FUNCTION: Final = re.compile(r"(cubic-bezier|steps)\(([^()]{1,100})\)")
_NUMBER: Final = re.compile(r"[+-]?\d{0,9}\.?\d{1,9}")
MAX_STEPS: Final = 1000

EasingFunction = Callable[[float, float], float]


@dataclass(frozen=True)
class Easing:
    """A named curve and its parameter, or a function with its numbers."""

    name: str = "linear"
    parameter: float = 1.0
    numbers: tuple[float, ...] = ()

    def __call__(self, share: float) -> float:
        """Return the progress of the value at the progress `share` of time."""
        if share <= 0:
            return 0.0
        if share >= 1:
            return 1.0
        if self.name == "cubic-bezier":
            return _bezier(self.numbers, share)
        if self.name == "steps":
            return math.floor(share * self.numbers[0] + 1e-9) / self.numbers[0]
        return _CURVES[self.name](share, self.parameter)

    @property
    def text(self) -> str:
        """Its text in a config."""
        if not self.numbers:
            return self.name
        return f"{self.name}({','.join(format(number, '.10g') for number in self.numbers)})"


LINEAR: Final = Easing()


def read_easing(text: str, parameter: float = 1.0) -> Easing | None:
    """Return the easing that a text names, or None."""
    word = text.strip()
    for name in _CURVES:
        if name.lower() == word.lower():
            return Easing(name, parameter)
    function = _FUNCTION.fullmatch(word.lower())
    if function is None:
        return None
    parts = [part.strip() for part in function[2].split(",")]
    if not all(_NUMBER.fullmatch(part) for part in parts):
        return None
    return _checked(function[1], tuple(float(part) for part in parts))


def _checked(name: str, numbers: tuple[float, ...]) -> Easing | None:
    if name == "steps":
        is_good = len(numbers) == 1 and numbers[0].is_integer() and 1 <= numbers[0] <= MAX_STEPS
    else:
        is_good = len(numbers) == 4 and 0 <= numbers[0] <= 1 and 0 <= numbers[2] <= 1
        is_good = is_good and all(abs(number) <= 10 for number in numbers)
    return Easing(name, numbers=numbers) if is_good else None


def _ease_in(share: float, parameter: float) -> float:
    return float(share ** (1 + parameter))


def _ease_out(share: float, parameter: float) -> float:
    return float(1 - (1 - share) ** (1 + parameter))


def _decay(share: float) -> float:
    # Two to the power of -10 * share, offset slightly so that it ends at exactly zero.
    return float((2 ** (-10 * share) - 2**-10) / (1 - 2**-10))


def _elastic_out(share: float, parameter: float) -> float:
    amplitude = max(1.0, parameter)
    shift = math.asin(1 / amplitude) * _PERIOD / math.tau
    return 1 + amplitude * _decay(share) * math.sin((share - shift) * math.tau / _PERIOD)


def _elastic_in(share: float, parameter: float) -> float:
    return 1 - _elastic_out(1 - share, parameter)


def _both(start: EasingFunction, end: EasingFunction) -> EasingFunction:
    def curve(share: float, parameter: float) -> float:
        if share < 0.5:
            return start(share * 2, parameter) / 2
        return 0.5 + end(share * 2 - 1, parameter) / 2

    return curve


_CURVES: Final[dict[str, EasingFunction]] = {
    "linear": lambda share, _: share,
    "easeIn": _ease_in,
    "easeInOut": _both(_ease_in, _ease_out),
    "easeOut": _ease_out,
    "elasticIn": _elastic_in,
    "elasticInOut": _both(_elastic_in, _elastic_out),
    "elasticOut": _elastic_out,
    "hold": lambda _share, _parameter: 0.0,
}
NAMES: Final = tuple(_CURVES)


def _bezier(numbers: tuple[float, ...], share: float) -> float:
    x1, y1, x2, y2 = numbers
    low, high = 0.0, 1.0
    # x increases with the parameter, so bisection converges; 40 steps exceed float precision.
    for _ in range(40):
        middle = (low + high) / 2
        if _cubic(x1, x2, middle) < share:
            low = middle
        else:
            high = middle
    return _cubic(y1, y2, (low + high) / 2)


def _cubic(first: float, second: float, at: float) -> float:
    rest = 1 - at
    return 3 * rest * rest * at * first + 3 * rest * at * at * second + at**3
