"""Texts and captions as HTML and CSS, so that the browser lays them out. Pure.

Text of the author is inserted as text or as an attribute, escaped. Styles were validated as single
CSS values when the config was read. Utility classes override the fields, as documented.
"""

import json
from base64 import b64encode
from html import escape
from typing import Final

from framekiln.composition.layers import Colour, PixelSize
from framekiln.composition.layers.styles import (
    HorizontalPosition,
    Shape,
    SubtitleStyle,
    TextFit,
    TextPosition,
    TextStyle,
    VerticalPosition,
)
from framekiln.composition.layers.values import Font

_FALLBACKS: Final = (
    '"Liberation Sans", Arial, "Noto Sans", "Noto Sans CJK SC", "Noto Sans Arabic",'
    ' "Noto Color Emoji", sans-serif'
)
_ACROSS: Final = {
    HorizontalPosition.LEFT: "flex-start",
    HorizontalPosition.CENTER: "center",
    HorizontalPosition.RIGHT: "flex-end",
}
_DOWN: Final = {
    VerticalPosition.TOP: "flex-start",
    VerticalPosition.CENTER: "center",
    VerticalPosition.BOTTOM: "flex-end",
}
_CASES: Final = {"uppercase", "lowercase", "capitalize"}

# The CSS layers of utility classes. `fields` overrides the reset and yields to the utilities.
LAYERS: Final = "@layer theme, base, fields, components, utilities;"
BASE_CSS: Final = f"""{LAYERS}
@layer fields {{
  html, body {{ margin: 0; background: transparent; }}
  .cell {{ position: absolute; left: 0; top: 0; width: max-content;
    transform-origin: 0 0; }}
  .box {{ display: grid; box-sizing: border-box; }}
  .box > * {{ grid-area: 1 / 1; box-sizing: border-box; min-width: 0; min-height: 0; }}
  .words {{ display: flex; flex-direction: column; position: relative; }}
  .block {{ display: block; white-space: pre-wrap; }}
  img, svg {{ display: block; }}
}}
"""


def text_markup(
    style: TextStyle, name: str, *, width_px: float | None, room_px: float, height_px: float | None
) -> tuple[str, str]:
    """Return the element of a text, and its rules; `name` is its class."""
    place = style.position
    ground = f"background: {_css(style.background)}; border: {style.border};"
    ground += f" border-radius: {style.border_radius_px}px;"
    # Utility classes are those of the words: they override its background only there.
    is_still = style.transform == "none" or _is_case(style)
    is_apart = not (style.tailwind and is_still and style.background_transform == "none")
    if is_apart:
        words = f"border: {style.border}; border-color: transparent;"
        ground += f" transform: {style.background_transform};"
    else:
        words, ground = ground, ""
    rules = f"""
  .{name} {{ {_box(width_px, room_px, height_px)} }}
  .{name} > .ground {{ {ground} }}
  .{name} > .words {{ {words} padding: {style.padding_px}px; text-align: {style.align};
    {_placed(place)} {_letters(style)} }}
  .{name} .block:not([data-whole]) {{ {_clamped(style)} }}
"""
    classes = escape(style.tailwind or "", quote=True)
    fit = "" if style.fit is TextFit.NONE else f' data-fit="{style.fit}"'
    if style.max_lines is not None:
        fit += f' data-lines="{style.max_lines}"'
    markup = (
        f'<div class="box {name}"{fit}><div class="ground"></div>'
        f'<div class="words {classes}"><span class="block">{escape(style.text)}</span></div></div>'
    )
    return markup, rules


def caption_markup(
    style: SubtitleStyle, name: str, text: str, *, room_px: float
) -> tuple[str, str]:
    """Return the element of one caption, and its rules."""
    rules = f"""
  .{name} {{ width: max-content; max-width: {room_px}px; text-align: center; }}
  .{name} .block {{ color: {_css(style.color)}; font: 400 {style.font_size_px}px / 1.2
    Helvetica, {_FALLBACKS}; padding: 0.1em 0.35em; background: {_css(style.background)}; }}
"""
    return f'<div class="box {name}"><span class="block">{escape(text)}</span></div>', rules


def picture_markup(svg: bytes, name: str, size: PixelSize) -> tuple[str, str]:
    """Return an <img> of an SVG file: as an image it runs no script and fetches nothing."""
    data = b64encode(svg).decode("ascii")
    rules = f"\n  .{name} img {{ width: {size.width}px; height: {size.height}px; }}\n"
    markup = f'<div class="box {name}"><img alt="" src="data:image/svg+xml;base64,{data}"></div>'
    return markup, rules


def path_markup(shape: Shape, name: str, size: PixelSize) -> tuple[str, str]:
    """Return an <svg> of a path, whose coordinates are pixels of its box."""
    style = (
        f"fill:{_css(shape.color)};stroke:{_css(shape.stroke_color)};"
        f"stroke-width:{shape.stroke_width_px}"
    )
    path = f'<path d="{escape(shape.path or "", quote=True)}" style="{style}"/>'
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{size.width}" height="{size.height}"'
        f' style="overflow:visible">{path}</svg>'
    )
    return f'<div class="box {name}">{svg}</div>', ""


def font_faces(fonts: tuple[Font, ...]) -> str:
    """Return the rules that load the config's own fonts."""
    return "".join(_font_face(font) for font in fonts)


def _font_face(font: Font) -> str:
    weight = "" if font.weight is None else f"font-weight: {font.weight};"
    style = "" if font.style is None else f"font-style: {font.style};"
    family, src = _string(font.family), _string(font.src)
    return f"@font-face {{ font-family: {family}; src: url({src}); {weight} {style} }}\n"


def _box(width_px: float | None, room_px: float, height_px: float | None) -> str:
    width = (
        f"width: max-content; max-width: {room_px}px;"
        if width_px is None
        else f"width: {width_px}px;"
    )
    return width if height_px is None else f"{width} height: {height_px}px;"


def _placed(place: TextPosition | None) -> str:
    if place is None:
        return ""
    return f"align-items: {_ACROSS[place.x]}; justify-content: {_DOWN[place.y]};"


def _letters(style: TextStyle) -> str:
    rules = [
        f"color: {_css(style.color)}",
        f"font-family: {_family(style.font_family)}",
        f"font-size: {style.font_size_px}px",
        f"font-style: {style.font_style}",
        f"font-weight: {style.font_weight}",
        f"line-height: {style.line_height}",
        f"text-decoration: {style.decoration}",
        f"letter-spacing: {style.letter_spacing_px}px",
    ]
    rules.append(f"{'text-transform' if _is_case(style) else 'transform'}: {style.transform}")
    if style.stroke is not None:
        rules.append(f"-webkit-text-stroke: {style.stroke.width_px}px {_css(style.stroke.color)}")
        # Painted behind the glyphs: over them it would hide small ones.
        rules.append("paint-order: stroke fill")
    if shadow := style.shadow:
        offsets = f"{shadow.x_px}px {shadow.y_px}px {shadow.blur_px}px"
        rules.append(f"text-shadow: {offsets} {_css(shadow.color)}")
    return "; ".join(rules) + ";"


def _is_case(style: TextStyle) -> bool:
    return style.transform.strip().lower() in _CASES


def _clamped(style: TextStyle) -> str:
    if style.max_lines is None:
        return ""
    if style.ellipsis:
        # Without a break within it, a long word would be cut off without an ellipsis.
        clamp = f"-webkit-line-clamp: {style.max_lines}; overflow-wrap: anywhere"
        box = "display: -webkit-box; -webkit-box-orient: vertical"
    else:
        clamp, box = f"max-height: {style.max_lines * style.line_height}em", "display: block"
    # It must not shrink to less than these lines where the box of the text is lower.
    return f"{box}; overflow: hidden; flex-shrink: 0; {clamp};"


def _family(family: str) -> str:
    is_list = any(mark in family for mark in ",\"'")
    return f"{family if is_list else _string(family)}, {_FALLBACKS}"


def _string(text: str) -> str:
    """Return a CSS string; `<` is escaped so that no text can end the style element."""
    return json.dumps(text, ensure_ascii=False).replace("<", "\\3c ")


def _css(colour: Colour) -> str:
    return colour.hex
