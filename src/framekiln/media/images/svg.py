"""Validates untrusted SVG: no scripts, no external loads, no exponential expansion.

Unsafe content is refused with its name and line, never removed: the bytes stay unchanged. An SVG is
safe if it refers only to itself; elements of other namespaces (editors store notes in them) have no
effect in browsers and are allowed.

Elements are counted after `<use>` is expanded. Ten elements that each use the previous one ten
times draw ten thousand million elements: a file of one kilobyte that stops a browser. Cycles count
as infinite.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Final, NoReturn
from xml.etree.ElementTree import ParseError

from defusedxml.common import DefusedXmlException  # type: ignore[import-untyped]
from defusedxml.ElementTree import DefusedXMLParser  # type: ignore[import-untyped]

from framekiln.kit.errors import InvalidInput
from framekiln.media.images.svg_size import SvgSize, svg_size

_PICTURE: Final = r"image/(?:png|jpe?g|webp|gif)"
_FONT: Final = r"(?:font|application)/(?:x-)?(?:font-)?(?:woff2?|ttf|otf|truetype|opentype|sfnt)"
_EMBEDDED: Final = re.compile(rf"data:(?:{_PICTURE}|{_FONT})\s*(?:;[^,]*)?,", re.IGNORECASE)
_ESCAPE: Final = re.compile(r"\\(?:([0-9a-fA-F]{1,6})(?:\r\n|[ \t\r\n\f])?|(\r\n|.))", re.DOTALL)
_COMMENT: Final = re.compile(r"/\*.*?(\*/|$)", re.DOTALL)
# A quoted URL may continue after a bracket; only its beginning matters.
_REFERENCE: Final = re.compile(r"url\(([^)]*)", re.IGNORECASE)
_AROUND: Final = " \t\r\n\f\"'"
# Ways to refer to a file without url().
_OTHER_WAYS: Final = re.compile(
    r"@import|\b(?:image-set|image|cross-fade|src)\(|javascript:", re.IGNORECASE
)


def is_own_reference(value: str) -> bool:
    """Return whether a URL stays inside the file: empty, `#id`, or an embedded image."""
    return not value or value.startswith("#") or _EMBEDDED.match(value) is not None


def forbidden_in_css(text: str) -> str | None:
    """Return the part of a style that refers outside the file, or None."""
    if "(" not in text and "\\" not in text and "@" not in text and ":" not in text:
        return None
    # Escapes are decoded and comments removed, so that neither can hide anything.
    for seen in {text, _unescape(text), _unescape(_COMMENT.sub("", text))}:
        found = _find(seen)
        if found is not None:
            return found
    return None


def _find(text: str) -> str | None:
    other = _OTHER_WAYS.search(text)
    if other is not None:
        return other.group()
    for reference in _REFERENCE.finditer(text):
        if not is_own_reference(reference.group(1).strip(_AROUND)):
            return reference.group()
    return None


def _unescape(text: str) -> str:
    return _ESCAPE.sub(_unescaped, text) if "\\" in text else text


def _unescaped(escape: re.Match[str]) -> str:
    if escape.group(1) is None:
        return escape.group(2)
    code = int(escape.group(1), 16)
    return chr(code) if 0 < code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"


# No real SVG has a longer chain of references.
_MAX_CHAIN: Final = 50


class UseCounter:
    """Follows a document in order, then counts the elements it draws."""

    MAX_DRAWN: ClassVar[int] = 1_000_000

    def __init__(self) -> None:
        self._elements = 0
        self._targets: list[str] = []
        self._open: list[tuple[str | None, int, int]] = []
        # By id: its number of elements, itself included, and the range of targets inside it.
        self._parts: dict[str, tuple[int, int, int]] = {}
        self._drawn: dict[str, int] = {}

    def open(self, name: str | None, target: str | None) -> None:
        """Start an element with an id that draws another element again; both may be missing."""
        self._open.append((name, self._elements, len(self._targets)))
        self._elements += 1
        if target:
            self._targets.append(target)

    def close(self) -> None:
        """End the element that was started last."""
        name, elements, targets = self._open.pop()
        # If several have the same id, browsers use the first.
        if name is not None and name not in self._parts:
            self._parts[name] = (self._elements - elements, targets, len(self._targets))

    def is_too_large(self) -> bool:
        """Return whether the whole document draws more than `MAX_DRAWN` elements."""
        total = self._elements
        for target in self._targets:
            total += self._count(target, ())
            if total > self.MAX_DRAWN:
                return True
        return False

    def _count(self, name: str, above: tuple[str, ...]) -> int:
        if name not in self._parts:
            return 0
        if name in above or len(above) >= _MAX_CHAIN:
            return self.MAX_DRAWN + 1
        if name not in self._drawn:
            total, first, end = self._parts[name]
            for target in self._targets[first:end]:
                total += self._count(target, (*above, name))
                if total > self.MAX_DRAWN:
                    break
            self._drawn[name] = total
        return self._drawn[name]


MAX_BYTES: Final = 16 << 20
_MAX_DEPTH: Final = 256
_MAX_ELEMENTS: Final = 500_000

_SVG: Final = "http://www.w3.org/2000/svg"
_XLINK_HREF: Final = "{http://www.w3.org/1999/xlink}href"
_XML_BASE: Final = "{http://www.w3.org/XML/1998/namespace}base"
_EV_PREFIX: Final = "{http://www.w3.org/2001/xml-events}"
# Namespaces that browsers act upon.
_ACTIVE: Final = {
    "http://www.w3.org/1999/xhtml": "HTML",
    "http://www.w3.org/1998/Math/MathML": "MathML",
    "http://www.w3.org/2001/xml-events": "XML Events",
    "http://www.w3.org/2001/XInclude": "XInclude",
    "http://www.w3.org/1999/XSL/Transform": "XSLT",
}
_FORBIDDEN: Final = {
    *("script", "handler", "listener", "foreignobject", "iframe", "embed", "object"),
    *("audio", "video", "discard", "tref", "link", "meta", "base", "canvas"),
}
_ANIMATIONS: Final = {"animate", "animatetransform", "animatemotion", "animatecolor", "set"}
_NOT_TO_BE_ANIMATED: Final = re.compile(
    r"\s*(?:\w+:)?(href|src|on\w*|style|class)\s*$", re.IGNORECASE
)
# Any other attribute may be interpreted as a style by some browser.
_NEVER_STYLE: Final = re.compile(r"(id|class|d|points|data-.*|aria-.*)$")


class UnsafeSvg(InvalidInput):
    """The SVG would run scripts, load or expand; the message names the element and its line."""

    code = "unsafe_svg"


class BrokenSvg(InvalidInput):
    """The text is not an SVG."""

    code = "broken_svg"


@dataclass(frozen=True)
class SvgFacts:
    """A safe SVG: its size as a browser shows it, and whether it is animated."""

    size: SvgSize
    is_animated: bool


def check_svg(data: bytes) -> SvgFacts:
    """Return the facts of an SVG, or raise `UnsafeSvg` or `BrokenSvg`."""
    if len(data) > MAX_BYTES:
        raise UnsafeSvg(f"the SVG has {len(data)} bytes; at most {MAX_BYTES} are read")
    checker = _Checker()
    parser: Any = DefusedXMLParser(target=checker, forbid_dtd=True)
    checker.line = lambda: int(parser.parser.CurrentLineNumber)
    try:
        parser.feed(data)
        facts: SvgFacts = parser.close()
    except DefusedXmlException as error:
        raise UnsafeSvg(
            "the SVG has a DOCTYPE or declares entities, which can expand without limit;"
            " remove the <!DOCTYPE ...> and save it again"
        ) from error
    except (ParseError, ValueError, LookupError) as error:
        raise BrokenSvg(f"the SVG cannot be read as XML: {error}") from error
    return facts


class _Checker:
    """Handles parser events in order; keeps only the necessary state."""

    def __init__(self) -> None:
        self.line: Callable[[], int] = lambda: 0
        self._depth = 0
        self._elements = 0
        self._root: dict[str, str] | None = None
        self._style: list[str] | None = None
        self._is_animated = False
        self._uses = UseCounter()

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        vocabulary, name = _split(tag)
        self._count(vocabulary, name, attributes)
        if vocabulary in _ACTIVE:
            self._refuse(f"<{name}> of {_ACTIVE[vocabulary]}")
        if vocabulary in (_SVG, ""):
            self._check_element(name, attributes)
        for attribute, value in attributes.items():
            self._check_attribute(name, attribute, value)
        self._uses.open(attributes.get("id"), self._target(name, attributes))

    def end(self, tag: str) -> None:
        self._depth -= 1
        self._uses.close()
        if self._style is not None and _split(tag)[1].lower() == "style":
            self._check_style("<style>", "".join(self._style))
            self._style = None

    def data(self, text: str) -> None:
        if self._style is not None:
            self._style.append(text)

    def pi(self, target: str, _text: str | None = None) -> None:
        if target.lower() == "xml-stylesheet":
            self._refuse("<?xml-stylesheet?>")

    def close(self) -> SvgFacts:
        assert self._root is not None, "the parser refuses what has no root"
        if self._uses.is_too_large():
            raise UnsafeSvg(
                "<use> elements that refer to each other would draw more than"
                f" {self._uses.MAX_DRAWN:,} elements, or form a cycle"
            )
        return SvgFacts(svg_size(self._root), self._is_animated)

    def _count(self, vocabulary: str, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        self._elements += 1
        if self._depth > _MAX_DEPTH:
            self._refuse(f"<{name}> {_MAX_DEPTH} elements deep")
        if self._elements > _MAX_ELEMENTS:
            self._refuse(f"more than {_MAX_ELEMENTS:,} elements")
        if self._root is not None:
            return
        if (vocabulary, name) != (_SVG, "svg"):
            raise BrokenSvg(
                f'the image begins with <{name}>, not with <svg xmlns="{_SVG}">,'
                " so browsers would show nothing"
            )
        self._root = attributes

    def _check_element(self, name: str, attributes: dict[str, str]) -> None:
        plain = name.lower()
        if plain in _FORBIDDEN:
            self._refuse(f"<{name}>")
        if plain == "style":
            self._style = []
        if plain in _ANIMATIONS:
            self._is_animated = True
            changed = attributes.get("attributeName", "")
            if _NOT_TO_BE_ANIMATED.match(changed):
                self._refuse(f'<{name} attributeName="{changed[:40]}">')

    def _check_attribute(self, element: str, attribute: str, value: str) -> None:
        vocabulary, name = _split(attribute)
        if name.lower().startswith("on") and not vocabulary:
            self._refuse(f"the event handler {name} of <{element}>")
        if attribute == _XML_BASE or attribute.startswith(_EV_PREFIX):
            self._refuse(f"the attribute {name} of <{element}>")
        if name.lower() == "href" and not is_own_reference(value.strip()):
            self._refuse_reference(f"{name} of <{element}>", value)
        if not vocabulary and not _NEVER_STYLE.match(name):
            self._check_style(f"{name} of <{element}>", value)

    def _check_style(self, where: str, text: str) -> None:
        found = forbidden_in_css(text)
        if found is not None:
            self._refuse_reference(where, found)
        if "@keyframes" in text:
            self._is_animated = True

    def _target(self, name: str, attributes: dict[str, str]) -> str | None:
        """Return the id that an element draws again, if it does."""
        if name.lower() != "use":
            return None
        return (attributes.get("href") or attributes.get(_XLINK_HREF) or "").strip().lstrip("#")

    def _refuse_reference(self, where: str, value: str) -> NoReturn:
        raise UnsafeSvg(
            f"line {self.line()}: {where} refers to {value.strip()[:60]!r}; an uploaded SVG may"
            " refer only to its own parts (#id) and to PNG, JPEG, WebP or GIF images embedded"
            " in it (data:)"
        )

    def _refuse(self, what: str) -> NoReturn:
        raise UnsafeSvg(
            f"line {self.line()}: {what} is not allowed in an uploaded SVG; remove it and"
            " upload the file again"
        )


def _split(tag: str) -> tuple[str, str]:
    """Return the namespace, or an empty string, and the local name."""
    if not tag.startswith("{"):
        return "", tag
    vocabulary, _, name = tag[1:].partition("}")
    return vocabulary, name
