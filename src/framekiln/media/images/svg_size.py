"""The size of an SVG as a browser shows it, from the attributes of its root."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

# The CSS default for a replaced element without a size.
_WIDTH_PX: Final = Fraction(300)
_HEIGHT_PX: Final = Fraction(150)

_LENGTH: Final = re.compile(
    r"\+?(\d{1,9}(?:\.\d{0,20})?|\.\d{1,20})(?:e([+-]?\d))?([a-z]*)", re.IGNORECASE
)
_UNITS_PX: Final = {
    "": Fraction(1),
    "px": Fraction(1),
    "in": Fraction(96),
    "cm": Fraction(9600, 254),
    "mm": Fraction(960, 254),
    "q": Fraction(240, 254),
    "pt": Fraction(4, 3),
    "pc": Fraction(16),
    "em": Fraction(16),
    "rem": Fraction(16),
    "ex": Fraction(8),
    "ch": Fraction(8),
}


@dataclass(frozen=True)
class SvgSize:
    """Size in whole pixels, at least 1 x 1."""

    width_px: int
    height_px: int


def svg_size(root: Mapping[str, str]) -> SvgSize:
    """Return the size; missing values come from the view box, otherwise from CSS defaults."""
    width, height = _length_px(root.get("width")), _length_px(root.get("height"))
    box = _view_box(root.get("viewBox"))
    if width is None and height is None and box:
        width, height = box
    elif height is None and width is not None and box:
        height = width * box[1] / box[0]
    elif width is None and height is not None and box:
        width = height * box[0] / box[1]
    width, height = width or _WIDTH_PX, height or _HEIGHT_PX
    return SvgSize(_whole(width), _whole(height))


def _length_px(text: str | None) -> Fraction | None:
    """Return a length; None if it is missing, invalid, or relative to something unknown (%)."""
    found = _LENGTH.fullmatch((text or "").strip())
    unit_px = _UNITS_PX.get(found.group(3).lower()) if found else None
    if found is None or unit_px is None:
        return None
    length = Fraction(found.group(1)) * Fraction(10) ** int(found.group(2) or 0) * unit_px
    return length if length > 0 else None


def _view_box(text: str | None) -> tuple[Fraction, Fraction] | None:
    numbers = re.split(r"[\s,]+", (text or "").strip())
    if len(numbers) != 4:
        return None
    width, height = _length_px(numbers[2]), _length_px(numbers[3])
    return (width, height) if width is not None and height is not None else None


def _whole(length: Fraction) -> int:
    return max(1, int(length + Fraction(1, 2)))
