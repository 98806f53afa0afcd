"""Exact numbers from JSON: 0.1 is one tenth.

Times are fractions of a second on a nanosecond grid. Values that only affect pixels are floats.
"""

import math
import re
from fractions import Fraction
from typing import Final

from framekiln.composition.layers.limits import TIME_STEP_S

# Larger numbers have no use here, and would make fractions grow.
MAX_NUMBER: Final = 10**12
_NUMERIC: Final = re.compile(r"\s*[+-]?(?:\d{1,18}(?:\.\d{0,18})?|\.\d{1,18})\s*")


def is_number(value: object) -> bool:
    """Whether a JSON value is a number; booleans are not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def numeric_text(value: str) -> Fraction | None:
    """Return the number in a text, or None."""
    return Fraction(value.strip()) if _NUMERIC.fullmatch(value) else None


def exact_number(value: object) -> Fraction | None:
    """Return a JSON number exactly, or None if it is infinite, too large or not a number."""
    if isinstance(value, Fraction):
        return value if abs(value) <= MAX_NUMBER else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not math.isfinite(value) if isinstance(value, float) else False:
        return None
    if abs(value) > MAX_NUMBER:
        return None
    if isinstance(value, float) and not value.is_integer():
        return Fraction(repr(value))
    return Fraction(int(value))


def seconds_on_grid(value: Fraction) -> Fraction:
    """Return a time on the grid."""
    if value.denominator == 1:
        return value
    return round(value / TIME_STEP_S) * TIME_STEP_S


def as_json_number(value: Fraction | float) -> int | float:
    """Return the shortest JSON number: whole numbers without a decimal point."""
    number = float(value)
    return int(number) if number.is_integer() else number
