"""Colours in CSS notation, stored as four bytes. Written as `#RRGGBBAA`."""

import colorsys
import re
from dataclasses import dataclass
from typing import Final

from framekiln.composition.layers.colour_names import NAMED

_HEX: Final = re.compile(r"#(?:[0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})")
_FUNCTION: Final = re.compile(r"(rgb|hsl)a?\(([^()]{1,80})\)")
_SEPARATOR: Final = re.compile(r"\s*[,/]\s*|\s+")
_AMOUNT: Final = re.compile(r"([+-]?\d{0,9}\.?\d{1,9})(%|deg)?")


@dataclass(frozen=True)
class Colour:
    """Red, green, blue and alpha, 0 to 255 each, not premultiplied."""

    red: int
    green: int
    blue: int
    alpha: int = 255

    @property
    def hex(self) -> str:
        """The only form that is stored and returned: `#RRGGBBAA`."""
        return f"#{self.red:02X}{self.green:02X}{self.blue:02X}{self.alpha:02X}"

    @property
    def is_transparent(self) -> bool:
        """Whether it is fully transparent."""
        return self.alpha == 0


BLACK: Final = Colour(0, 0, 0)
WHITE: Final = Colour(255, 255, 255)
TRANSPARENT: Final = Colour(0, 0, 0, 0)


def read_colour(text: str) -> Colour | None:
    """Return the colour in a text, or None."""
    word = text.strip().lower()
    if word == "transparent":
        return TRANSPARENT
    if word in NAMED:
        return _from_hex(NAMED[word])
    if _HEX.fullmatch(word):
        return _from_hex(word[1:])
    function = _FUNCTION.fullmatch(word)
    return _from_function(function[1], function[2]) if function else None


def _from_hex(digits: str) -> Colour:
    if len(digits) <= 4:
        digits = "".join(digit * 2 for digit in digits)
    return Colour(*bytes.fromhex(digits))


def _from_function(name: str, inside: str) -> Colour | None:
    amounts = [_AMOUNT.fullmatch(part) for part in _SEPARATOR.split(inside.strip())]
    found = [(float(match[1]), match[2]) for match in amounts if match]
    if len(found) != len(amounts) or len(found) not in (3, 4):
        return None
    alpha = _share(*found[3]) if len(found) == 4 else 1.0
    if name == "rgb":
        rgb = [number / 100 if unit == "%" else number / 255 for number, unit in found[:3]]
    else:
        hue, saturation, lightness = (number for number, _ in found[:3])
        rgb = list(
            colorsys.hls_to_rgb((hue % 360) / 360, _unit(lightness / 100), _unit(saturation / 100))
        )
    red, green, blue = (_byte(part) for part in rgb)
    return Colour(red, green, blue, _byte(alpha))


def _share(number: float, unit: str | None) -> float:
    return number / 100 if unit == "%" else number


def _unit(share: float) -> float:
    return min(1.0, max(0.0, share))


def _byte(share: float) -> int:
    return round(_unit(share) * 255)
