"""Finds JSON that is too costly to parse, by a scan of its bytes.

A parser needs hundreds of bytes and over a microsecond for each small value, so a short text of
empty objects can take seconds and a gigabyte. The scan needs about a nanosecond for each byte. It
does not check the syntax: of a text that is not JSON it may say anything, and the parser refuses
such a text anyway.
"""

from typing import Final

MAX_VALUES: Final = 200_000
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


class NumberTooLong(ValueError):
    """JSON with a number of too many characters."""

    def __init__(self) -> None:
        super().__init__(f"contains a number of more than {MAX_NUMBER_CHARS} characters")


def scan_json(raw: bytes, *, max_values: int = MAX_VALUES) -> None:
    """Raise `TooManyValues` or `NumberTooLong` for JSON that must not be parsed.

    The number of values is estimated from the commas and brackets outside of strings. The
    estimate is never too low; an empty list counts as two.
    """
    count, quotes, is_in_string, escape, digits = 1, 0, False, b"", b""
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
        numbers = digits + outside.translate(_NUMBERS)
        if _LONG_NUMBER in numbers:
            raise NumberTooLong
        digits = numbers[-MAX_NUMBER_CHARS:]
