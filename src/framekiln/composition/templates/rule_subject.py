"""The subjects of rules: the values in the data that an input's name refers to."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from framekiln.composition.layers.numbers import exact_number, is_number, numeric_text


class _Absent:
    def __repr__(self) -> str:
        return "ABSENT"


ABSENT = _Absent()


@dataclass(frozen=True)
class RuleSubject:
    """One value under test. `counts_as_number` depends on the other rules of the input."""

    path: str
    value: Any
    data: Mapping[str, Any]
    counts_as_number: bool = False

    @property
    def is_present(self) -> bool:
        """Whether the caller sent it."""
        return self.value is not ABSENT

    @property
    def is_filled(self) -> bool:
        """Whether it is not null, not blank, and not an empty list."""
        if self.value is ABSENT or self.value is None:
            return False
        if isinstance(self.value, str):
            return bool(self.value.strip())
        return not isinstance(self.value, list | Mapping) or len(self.value) > 0

    def other(self, name: str) -> "RuleSubject":
        """Return another input of the same data; for names with `*`, of the same item."""
        mine, theirs = self.path.split("."), name.split(".")
        filled = [
            mine[at] if part == "*" and at < len(mine) else part for at, part in enumerate(theirs)
        ]
        path = ".".join(filled)
        return RuleSubject(path, value_at(self.data, filled), self.data, self.counts_as_number)

    @property
    def number(self) -> Fraction | None:
        """The value as a number, if it is one or a text of one."""
        return number_of(self.value)

    @property
    def size(self) -> Fraction | None:
        """The value that min, max and similar rules compare: the number, or the length."""
        if self.is_compared_as_number:
            return self.number
        if isinstance(self.value, str | list | Mapping):
            return Fraction(len(self.value))
        return None

    @property
    def unit(self) -> str | None:
        """What `size` counts; None for numbers."""
        if self.is_compared_as_number:
            return None
        if isinstance(self.value, str):
            return "character"
        return "item" if isinstance(self.value, list | Mapping) else None

    @property
    def is_compared_as_number(self) -> bool:
        """Whether it is a number, or a text of one where a number is expected."""
        return is_number(self.value) or (self.counts_as_number and self.number is not None)


def number_of(value: Any) -> Fraction | None:
    """Return the exact number in a number or text."""
    return numeric_text(value) if isinstance(value, str) else exact_number(value)


def value_at(data: Any, parts: list[str]) -> Any:
    """Return the value at a path of names and indexes, or `ABSENT`."""
    for part in parts:
        if isinstance(data, Mapping) and part in data:
            data = data[part]
        elif isinstance(data, list) and part.isdecimal() and int(part) < len(data):
            data = data[int(part)]
        else:
            return ABSENT
    return data


def subjects(name: str, data: Mapping[str, Any]) -> list[RuleSubject]:
    """Return every value that a dotted name refers to; `*` is each item of a list."""
    paths: list[list[str]] = [[]]
    for part in name.split("."):
        if part != "*":
            paths = [[*path, part] for path in paths]
            continue
        paths = [
            [*path, str(at)]
            for path in paths
            if isinstance(items := value_at(data, path), list)
            for at in range(len(items))
        ]
    return [RuleSubject(".".join(path), value_at(data, path), data) for path in paths]
