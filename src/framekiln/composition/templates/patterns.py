"""Regular expressions in linear time, whatever the pattern.

Both the patterns of templates and the data are untrusted, and a backtracking matcher could run for
years. RE2 follows all paths through a pattern at once instead. Patterns that RE2 does not support
(lookaround, backreferences) are rejected when the template is created.
"""

import re
from functools import lru_cache
from typing import Final

import re2  # type: ignore[import-untyped]

MAX_SUBJECT_CHARS: Final = 5_000
# Time and memory of a search grow with the size of the compiled program. This limit allows a
# hundred letters of any script; the worst pattern we found below it took half a second of CPU time
# for the longest text. To compile it takes 80 ms, during which no other thread runs.
_PROGRAM_BYTES: Final = 2 << 20
_MAX_TOTAL_STEPS: Final = 130_000
"""Of the programs of all patterns of a template: a little more than one of them can have."""
_KEPT_PATTERNS: Final = 16

# `u` has no effect: all text is Unicode.
_FLAGS: Final = {"i": "i", "s": "s", "m": "m", "u": ""}
_DELIMITED: Final = re.compile(r"([/#~!@%])(.*)\1([a-zA-Z]*)", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|.)", re.DOTALL)
_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")


class UnusablePattern(ValueError):
    """A pattern that is invalid, or that cannot be matched in bounded time."""


class Pattern:
    """A compiled pattern, with or without the delimiters and flags other languages write.

    As in most of them `\\d`, `\\w`, `\\s` and `\\b` know ASCII only, `$` is the very end of the
    text, and `\\p{L}` is a letter of any script.
    """

    def __init__(self, text: str) -> None:
        flags = ""
        delimited = _DELIMITED.fullmatch(text)
        if delimited:
            text = delimited[2]
            for letter in delimited[3]:
                if letter not in _FLAGS:
                    raise UnusablePattern(f"the flag {letter} is not known")
                flags += _FLAGS[letter]
        self.source = text
        options = re2.Options()
        options.max_mem = _PROGRAM_BYTES
        options.never_capture = True
        options.log_errors = False
        written = _ESCAPE.sub(_as_re2_writes_it, _encodable(text))
        try:
            self._compiled = re2.compile(f"(?{flags}){written}" if flags else written, options)
        except re2.error as error:
            raise UnusablePattern(_message(error)) from None

    @property
    def step_count(self) -> int:
        """The size of the compiled program, which determines what it costs."""
        return int(self._compiled.programsize)

    def search(self, text: str) -> bool:
        """Whether the pattern is found anywhere in the text."""
        return self._compiled.search(_encodable(text)) is not None


@lru_cache(_KEPT_PATTERNS)
def compiled_pattern(text: str) -> Pattern:
    """Return a pattern that is compiled once for many values."""
    return Pattern(text)


class PatternBudget:
    """Limits the patterns of one template, which are compiled for each request."""

    def __init__(self) -> None:
        self._left = _MAX_TOTAL_STEPS

    def take(self, text: str) -> None:
        """Compile a pattern, or raise `UnusablePattern`."""
        if self._left > 0:
            # One that turns out to be too large has cost nearly as much.
            before, self._left = self._left, self._left - _MAX_TOTAL_STEPS // 4
            self._left = before - compiled_pattern(text).step_count
        if self._left <= 0:
            raise UnusablePattern("the patterns of all inputs are too large together")


def _as_re2_writes_it(escape: re.Match[str]) -> str:
    if escape[1]:
        return f"\\x{{{escape[1]}}}"
    return r"\z" if escape[0] == r"\Z" else escape[0]


def _encodable(text: str) -> str:
    """Return the text without lone surrogates, which JSON can contain and UTF-8 cannot."""
    return _LONE_SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)


def _message(error: Exception) -> str:
    detail = error.args[0]
    message = detail.decode(errors="replace") if isinstance(detail, bytes) else str(detail)
    if message.startswith(("invalid perl operator", "invalid escape sequence")):
        return f"{message} (looking around and going back to groups cannot be used)"
    return message
