"""Regular expressions that take time in proportion to the text, whatever the pattern.

Patterns of templates come from strangers and meet data from strangers; a backtracking matcher could
be kept busy for years. All ways through the pattern are followed at once instead. What cannot be
done that way (looking around, going back to a group) is refused when the template is created.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser as syntax  # type: ignore[attr-defined]
from typing import Any, Final

MAX_STEPS: Final = 500
MAX_SUBJECT_CHARS: Final = 5_000

Test = Callable[[str], bool]
Gate = Callable[[str, int], bool]
_FLAGS: Final = {"i": re.IGNORECASE, "s": re.DOTALL, "m": re.MULTILINE, "u": re.UNICODE, "x": re.X}
_DELIMITED: Final = re.compile(r"([/#~!@%])(.*)\1([a-zA-Z]*)", re.DOTALL)


class UnusablePattern(ValueError):
    """A pattern that is none, or that cannot be matched in bounded time."""


@dataclass
class _Step:
    """Where one can be in a pattern: `test` eats a character, `gate` looks at the place only."""

    test: Test | None = None
    gate: Gate | None = None
    then: list[int] = field(default_factory=list)


class Pattern:
    """A compiled pattern, with or without the delimiters and flags other languages write."""

    def __init__(self, text: str) -> None:
        flags = 0
        delimited = _DELIMITED.fullmatch(text)
        if delimited:
            text = delimited[2]
            for letter in delimited[3]:
                if letter not in _FLAGS:
                    raise UnusablePattern(f"the flag {letter} is not known")
                flags |= _FLAGS[letter]
        try:
            parsed = syntax.parse(text, flags)
        except (re.error, OverflowError, RecursionError) as error:
            raise UnusablePattern(str(error)) from None
        self.source = text
        self._flags = flags | parsed.state.flags
        self._steps: list[_Step] = []
        self._end = self._add(_Step())
        self._start = self._sequence(parsed, self._end)

    def search(self, text: str) -> bool:
        """Tell whether the pattern is found anywhere in the text."""
        places = self._reach([self._start], text, 0)
        for at, letter in enumerate(text):
            if self._end in places:
                return True
            after = [
                step
                for place in places
                if (test := self._steps[place].test) and test(letter)
                for step in self._steps[place].then
            ]
            places = self._reach([*after, self._start], text, at + 1)
        return self._end in places

    def _reach(self, starts: Iterable[int], text: str, at: int) -> set[int]:
        reached: set[int] = set()
        waiting = list(starts)
        while waiting:
            number = waiting.pop()
            if number in reached:
                continue
            reached.add(number)
            step = self._steps[number]
            if step.test is None and (step.gate is None or step.gate(text, at)):
                waiting += step.then
        return reached

    def _add(self, step: _Step) -> int:
        if len(self._steps) >= MAX_STEPS:
            raise UnusablePattern("the pattern is too long")
        self._steps.append(step)
        return len(self._steps) - 1

    def _sequence(self, parts: Any, then: int) -> int:
        for code, argument in reversed(list(parts)):
            then = self._part(code, argument, then)
        return then

    def _part(self, code: Any, argument: Any, then: int) -> int:
        if code in (op.LITERAL, op.NOT_LITERAL, op.ANY, op.IN):
            test = _test(code, argument, self._flags)
            return self._add(_Step(test=test, then=[then]))
        if code is op.AT:
            return self._add(_Step(gate=_gate(argument, self._flags), then=[then]))
        if code is op.BRANCH:
            ways = [self._sequence(way, then) for way in argument[1]]
            return self._add(_Step(then=ways))
        if code is op.SUBPATTERN:
            return self._sequence(argument[3], then)
        if code in (op.MAX_REPEAT, op.MIN_REPEAT):
            return self._repeat(argument, then)
        raise UnusablePattern("looking around, going back to groups and the like cannot be used")

    def _repeat(self, argument: tuple[int, Any, Any], then: int) -> int:
        least, most, part = argument
        if most is op.MAXREPEAT:
            loop = self._add(_Step())
            body = self._sequence(part, loop)
            self._steps[loop].then = [body, then]
            then = loop
        else:
            if most > MAX_STEPS:
                raise UnusablePattern("a repetition is too long")
            for _ in range(most - least):
                then = self._add(_Step(then=[self._sequence(part, then), then]))
        if least > MAX_STEPS:
            raise UnusablePattern("a repetition is too long")
        for _ in range(least):
            then = self._sequence(part, then)
        return then


def _test(code: Any, argument: Any, flags: int) -> Test:
    if code is op.ANY:
        return (lambda _: True) if flags & re.DOTALL else (lambda letter: letter != "\n")
    if code is op.IN:
        return _in_class(argument, flags)
    wanted = _folded(chr(argument), flags)
    if code is op.LITERAL:
        return lambda letter: _folded(letter, flags) == wanted
    return lambda letter: _folded(letter, flags) != wanted


def _folded(letter: str, flags: int) -> str:
    return letter.lower() if flags & re.IGNORECASE else letter


def _in_class(members: Sequence[tuple[Any, Any]], flags: int) -> Test:
    negated = members[0][0] is op.NEGATE
    tests = [_member(code, argument) for code, argument in members if code is not op.NEGATE]

    def test(letter: str) -> bool:
        letters = {letter}
        if flags & re.IGNORECASE:
            letters |= {letter.lower(), letter.upper()}
        return any(each(one) for each in tests for one in letters) is not negated

    return test


def _member(code: Any, argument: Any) -> Test:
    if code is op.LITERAL:
        return lambda letter: letter == chr(argument)
    if code is op.RANGE:
        low, high = argument
        return lambda letter: len(letter) == 1 and low <= ord(letter) <= high
    kind, is_positive = _CATEGORIES[argument]
    return lambda letter: kind(letter) is is_positive


def _is_word(letter: str) -> bool:
    return letter.isalnum() or letter == "_"


_CATEGORIES: Final[dict[Any, tuple[Test, bool]]] = {
    op.CATEGORY_DIGIT: (str.isdecimal, True),
    op.CATEGORY_NOT_DIGIT: (str.isdecimal, False),
    op.CATEGORY_SPACE: (str.isspace, True),
    op.CATEGORY_NOT_SPACE: (str.isspace, False),
    op.CATEGORY_WORD: (_is_word, True),
    op.CATEGORY_NOT_WORD: (_is_word, False),
}


def _gate(where: Any, flags: int) -> Gate:
    if where in (op.AT_BEGINNING, op.AT_BEGINNING_STRING):
        by_line = where is op.AT_BEGINNING and flags & re.MULTILINE
        return lambda text, at: at == 0 or bool(by_line and text[at - 1] == "\n")
    if where is op.AT_END_STRING:
        return lambda text, at: at == len(text)
    if where is op.AT_END:
        if flags & re.MULTILINE:
            return lambda text, at: at == len(text) or text[at] == "\n"
        return lambda text, at: at == len(text) or (at == len(text) - 1 and text[at] == "\n")
    is_edge = where is op.AT_BOUNDARY

    def gate(text: str, at: int) -> bool:
        if not text:
            return False
        before = at > 0 and _is_word(text[at - 1])
        after = at < len(text) and _is_word(text[at])
        return (before != after) is is_edge

    return gate
