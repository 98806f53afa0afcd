"""Colours in CSS notation, stored as four bytes. Written as `#RRGGBBAA`."""

import colorsys
import re
from dataclasses import dataclass
from typing import Final

_TABLE: Final = """
aliceblue f0f8ff antiquewhite faebd7 aqua 00ffff aquamarine 7fffd4 azure f0ffff beige f5f5dc
bisque ffe4c4 black 000000 blanchedalmond ffebcd blue 0000ff blueviolet 8a2be2 brown a52a2a
burlywood deb887 cadetblue 5f9ea0 chartreuse 7fff00 chocolate d2691e coral ff7f50
cornflowerblue 6495ed cornsilk fff8dc crimson dc143c cyan 00ffff darkblue 00008b darkcyan 008b8b
darkgoldenrod b8860b darkgray a9a9a9 darkgreen 006400 darkgrey a9a9a9 darkkhaki bdb76b
darkmagenta 8b008b darkolivegreen 556b2f darkorange ff8c00 darkorchid 9932cc darkred 8b0000
darksalmon e9967a darkseagreen 8fbc8f darkslateblue 483d8b darkslategray 2f4f4f
darkslategrey 2f4f4f darkturquoise 00ced1 darkviolet 9400d3 deeppink ff1493 deepskyblue 00bfff
dimgray 696969 dimgrey 696969 dodgerblue 1e90ff firebrick b22222 floralwhite fffaf0
forestgreen 228b22 fuchsia ff00ff gainsboro dcdcdc ghostwhite f8f8ff gold ffd700
goldenrod daa520 gray 808080 green 008000 greenyellow adff2f grey 808080 honeydew f0fff0
hotpink ff69b4 indianred cd5c5c indigo 4b0082 ivory fffff0 khaki f0e68c lavender e6e6fa
lavenderblush fff0f5 lawngreen 7cfc00 lemonchiffon fffacd lightblue add8e6 lightcoral f08080
lightcyan e0ffff lightgoldenrodyellow fafad2 lightgray d3d3d3 lightgreen 90ee90 lightgrey d3d3d3
lightpink ffb6c1 lightsalmon ffa07a lightseagreen 20b2aa lightskyblue 87cefa
lightslategray 778899 lightslategrey 778899 lightsteelblue b0c4de lightyellow ffffe0 lime 00ff00
limegreen 32cd32 linen faf0e6 magenta ff00ff maroon 800000 mediumaquamarine 66cdaa
mediumblue 0000cd mediumorchid ba55d3 mediumpurple 9370db mediumseagreen 3cb371
mediumslateblue 7b68ee mediumspringgreen 00fa9a mediumturquoise 48d1cc mediumvioletred c71585
midnightblue 191970 mintcream f5fffa mistyrose ffe4e1 moccasin ffe4b5 navajowhite ffdead
navy 000080 oldlace fdf5e6 olive 808000 olivedrab 6b8e23 orange ffa500 orangered ff4500
orchid da70d6 palegoldenrod eee8aa palegreen 98fb98 paleturquoise afeeee palevioletred db7093
papayawhip ffefd5 peachpuff ffdab9 peru cd853f pink ffc0cb plum dda0dd powderblue b0e0e6
purple 800080 rebeccapurple 663399 red ff0000 rosybrown bc8f8f royalblue 4169e1
saddlebrown 8b4513 salmon fa8072 sandybrown f4a460 seagreen 2e8b57 seashell fff5ee sienna a0522d
silver c0c0c0 skyblue 87ceeb slateblue 6a5acd slategray 708090 slategrey 708090 snow fffafa
springgreen 00ff7f steelblue 4682b4 tan d2b48c teal 008080 thistle d8bfd8 tomato ff6347
turquoise 40e0d0 violet ee82ee wheat f5deb3 white ffffff whitesmoke f5f5f5 yellow ffff00
yellowgreen 9acd32
"""
_WORDS: Final = _TABLE.split()
NAMED: Final = dict(zip(_WORDS[::2], _WORDS[1::2], strict=True))
"""Name to six hexadecimal digits."""


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
