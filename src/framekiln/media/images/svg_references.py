"""Checks what styles and attributes of an SVG refer to: only the file itself is safe."""

import re
from typing import Final

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
