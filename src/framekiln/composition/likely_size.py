"""The size that a page most likely has, from what its text says.

Only the page knows its size: it is opened in a window of the likely one, and once more if that is
wrong. Where something depends on the window, nothing is likely.
"""

import re
from dataclasses import dataclass
from typing import Final

_ROOT: Final = re.compile(r"<ef-timegroup\b([^<>]{0,4000})>", re.IGNORECASE)
_PAGE: Final = re.compile(r"<(?:html|body)\b([^<>]{0,4000})>", re.IGNORECASE)
_ATTRIBUTE: Final = re.compile(r"""([\w-]{1,40})\s{0,9}=\s{0,9}(?:"([^"]*)"|'([^']*)'|([\w.]+))""")
_DECLARED: Final = re.compile(
    r"(?:^|;)\s{0,99}(width|height)\s{0,9}:\s{0,9}(\d{1,5})px\s{0,99}(?=;|$)"
)
_RULE: Final = re.compile(r"(?:^|[\s{}>,;/])([#.])([\w-]{1,99})\s{0,99}\{([^{}]{0,4000})\}")
_UTILITY: Final = re.compile(r"(?:^|\s)(w|h)-\[(\d{1,5})px\](?=\s|$)")
_DEPENDS_ON_WINDOW: Final = re.compile(r"@media|!important|innerWidth|innerHeight|matchMedia")
_MAX_CHARS: Final = 1_000_000
"""Longer texts are not searched."""
_SIDES: Final = {"w": "width", "h": "height"}


@dataclass(frozen=True)
class LikelySize:
    """None is a side of which nothing is said."""

    width_px: int | None = None
    height_px: int | None = None


def likely_size(html: str) -> LikelySize:
    """Return the size that the outermost group has by its style, id or classes, or the page."""
    if len(html) > _MAX_CHARS or _DEPENDS_ON_WINDOW.search(html):
        return LikelySize()
    if (root := _ROOT.search(html)) is not None:
        sides = _sides_of_group(_attributes(root[1]), html)
    else:
        page = _attributes(" ".join(tag[1] for tag in _PAGE.finditer(html)))
        sides = {side: page.get(f"data-{side}", "") for side in _SIDES.values()}
    return LikelySize(*(_px(sides.get(side, "")) for side in _SIDES.values()))


def _sides_of_group(attributes: dict[str, str], html: str) -> dict[str, str]:
    """Return what is said of the sides; what counts more comes later."""
    classes = attributes.get("class", "")
    names = {(".", name) for name in classes.split()} | {("#", attributes.get("id", ""))}
    rules = [rule for rule in _RULE.finditer(html) if (rule[1], rule[2]) in names]
    # Those of an id count more than those of classes.
    rules.sort(key=lambda rule: rule[1] == "#")
    sides = {_SIDES[side]: px for side, px in _UTILITY.findall(classes)}
    for text in (*(rule[3] for rule in rules), attributes.get("style", "")):
        sides |= dict(_DECLARED.findall(text))
    return sides


def _attributes(tag: str) -> dict[str, str]:
    """Return the attributes of a tag; of two with one name, the first counts."""
    found: dict[str, str] = {}
    for name, *values in _ATTRIBUTE.findall(tag):
        found.setdefault(name.lower(), next(filter(None, values), ""))
    return found


def _px(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and int(text) > 0 else None
