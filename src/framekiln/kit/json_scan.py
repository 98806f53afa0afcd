"""Finds JSON that is too costly to parse, by a scan of its bytes.

A parser needs hundreds of bytes and over a microsecond for each small value, so a short text of
empty objects can take seconds and a gigabyte. The scan needs about a nanosecond for each byte. It
does not check the syntax: of a text that is not JSON it may say anything, and the parser refuses
such a text anyway.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

MAX_VALUES: Final = 200_000
MAX_PLAIN_VALUES: Final = 50_000
"""One after the other, without the end of an object between them."""
MAX_NUMBER_CHARS: Final = 1000

# Short enough that other threads can run between two slices.
_SLICE_BYTES: Final = 256 << 10
_DIGIT: Final = b"0"
_LONG_NUMBER: Final = _DIGIT * (MAX_NUMBER_CHARS + 1)
_NUMBERS: Final = bytes(0x30 if byte in b"0123456789+-.eE" else 0x20 for byte in range(256))


class TooManyValues(ValueError):
    """JSON with more values than allowed."""

    def __init__(self, max_values: int) -> None:
        super().__init__(f"contains more than {max_values} values")
        self.max_values = max_values


class TooManyPlainValues(TooManyValues):
    """JSON with more values in one list or object than allowed."""

    def __init__(self, max_values: int) -> None:
        super().__init__(max_values)
        self.args = (f"contains a list or an object of more than {max_values} values",)


class NumberTooLong(ValueError):
    """JSON with a number of too many characters."""

    def __init__(self) -> None:
        super().__init__(f"contains a number of more than {MAX_NUMBER_CHARS} characters")


def load_json(
    text: str,
    *,
    parse_float: Callable[[str], float] | None = None,
    parse_constant: Callable[[str], Any] | None = None,
) -> Any:
    """Parse JSON so that other threads can run meanwhile.

    The parser lets no other thread run, except while it calls a function of Python. So it calls one
    for each object and each number; `scan_json` limits what comes between two objects.
    """
    return json.loads(
        text,
        object_hook=_same,
        parse_int=_integer,
        parse_float=parse_float or _number,
        parse_constant=parse_constant,
    )


def _same(value: dict[str, Any]) -> dict[str, Any]:
    return value


def _integer(text: str) -> int:
    return int(text)


def _number(text: str) -> float:
    return float(text)


def text_chars(value: object) -> int:
    """Return the number of characters of all texts in a value; names of objects do not count."""
    count, unread = 0, [value]
    while unread:
        each = unread.pop()
        if isinstance(each, Mapping):
            unread += each.values()
        elif isinstance(each, list | tuple):
            unread += each
        elif isinstance(each, str):
            count += len(each)
    return count


def scan_json(
    raw: bytes, *, max_values: int = MAX_VALUES, max_plain_values: int | None = None
) -> None:
    """Raise `TooManyValues` or `NumberTooLong` for JSON that must not be parsed.

    The number of values is estimated from the commas and brackets outside of strings. The
    estimate is never too low; an empty list counts as two. `max_plain_values` limits the values
    between the ends of two objects, for `load_json`.
    """
    count, quotes, is_in_string, escape, digits, plain = 1, 0, False, b"", b"", 1
    for start in range(0, len(raw), _SLICE_BYTES):
        text = escape + raw[start : start + _SLICE_BYTES]
        # A backslash at the end belongs to the next slice.
        escape = b"\\" if (len(text) - len(text.rstrip(b"\\"))) % 2 else b""
        text = text[: len(text) - len(escape)]
        text = text.replace(b"\\\\", b"").replace(b'\\"', b"")
        # A name and a string as its value have four quotes.
        quotes += text.count(b'"')
        if quotes > 4 * max_values:
            raise TooManyValues(max_values)
        parts = text.split(b'"')
        outside = b"".join(parts[is_in_string::2])
        is_in_string ^= len(parts) % 2 == 0
        count += outside.count(b",") + outside.count(b"[") + outside.count(b"{")
        if count > max_values:
            raise TooManyValues(max_values)
        if max_plain_values is not None:
            plain = _plain_values(outside, plain, max_plain_values)
        numbers = digits + outside.translate(_NUMBERS)
        if _LONG_NUMBER in numbers:
            raise NumberTooLong
        digits = numbers[-MAX_NUMBER_CHARS:]


def _plain_values(outside: bytes, before: int, most: int) -> int:
    """Return the values after the last object, where `before` came before; raise if too many."""
    for part in outside.split(b"}"):
        plain = before + part.count(b",") + part.count(b"[]")
        if plain > most:
            raise TooManyPlainValues(most)
        before = 0
    return plain
