"""The shapes that JSON values may have. Each reads a value of any type, or says what is wrong.

Reading never raises. Numbers come out plain, so that `1000` and `1000.0` are one value and have
one digest; booleans are no numbers.
"""

import math
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Protocol
from uuid import UUID

from framekiln.kit.ids import parse_uuid
from framekiln.pipelines.schema.issues import IssueCode, Location

Number = int | float

# Every double up to here is one whole number, and every such number is one double.
_EXACT_LIMIT = 2**53
_LARGEST = 1.7976931348623157e308
# JSON allows these, but neither UTF-8 nor the database can hold them.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class ValueShape(Protocol):
    """What a value must look like."""

    def read(self, value: Any, place: Location) -> Any:
        """Return the value as we hold it; or report what is wrong and return None."""


def plain_number(value: Any) -> Number | None:
    """Return a finite number, whole ones as int; None when it is no such number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not math.isfinite(value) if isinstance(value, float) else abs(value) > _LARGEST:
        return None
    if isinstance(value, float) and value.is_integer() and abs(value) <= _EXACT_LIMIT:
        return int(value)
    return value


def is_storable(text: str) -> bool:
    """Whether a text can be written as UTF-8 and kept in the database."""
    return _UNSTORABLE.search(text) is None


@dataclass(frozen=True)
class NumberBetween:
    """A number, the bounds included."""

    minimum: Number | None = None
    maximum: Number | None = None

    def read(self, value: Any, place: Location) -> Number | None:
        """Return the number, or report."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            place.report(IssueCode.TYPE)
            return None
        number = plain_number(value)
        if number is None or not self._holds(number):
            place.report(IssueCode.OUT_OF_RANGE)
            return None
        return number

    def _holds(self, number: Number) -> bool:
        return (self.minimum is None or number >= self.minimum) and (
            self.maximum is None or number <= self.maximum
        )


@dataclass(frozen=True)
class WholeNumber:
    """A whole number, the bounds included."""

    minimum: int
    maximum: int

    def read(self, value: Any, place: Location) -> int | None:
        """Return the number, or report."""
        number = NumberBetween(self.minimum, self.maximum).read(value, place)
        if isinstance(number, float):
            place.report(IssueCode.TYPE)
            return None
        return number


@dataclass(frozen=True)
class Text:
    """A text of so many characters, perhaps of a certain form."""

    maximum: int | None = None
    minimum: int = 1
    pattern: re.Pattern[str] | None = None

    def read(self, value: Any, place: Location) -> str | None:
        """Return the text, or report."""
        if not isinstance(value, str):
            place.report(IssueCode.TYPE)
            return None
        problem = self._problem(value)
        if problem is not None:
            place.report(problem)
            return None
        return value

    def _problem(self, text: str) -> IssueCode | None:
        if self.pattern is not None and not self.pattern.fullmatch(text):
            return IssueCode.PATTERN
        if len(text) < self.minimum:
            return IssueCode.EMPTY
        if self.maximum is not None and len(text) > self.maximum:
            return IssueCode.TOO_LONG
        return None if is_storable(text) else IssueCode.PATTERN


@dataclass(frozen=True)
class OneOf:
    """One of some words."""

    words: Collection[str]
    otherwise: IssueCode = IssueCode.UNKNOWN_VALUE

    def read(self, value: Any, place: Location) -> str | None:
        """Return the word, or report."""
        if not isinstance(value, str):
            place.report(IssueCode.TYPE)
            return None
        if value not in self.words:
            place.report(self.otherwise)
            return None
        return value


@dataclass(frozen=True)
class Identifier:
    """A UUID, written in any usual way."""

    def read(self, value: Any, place: Location) -> UUID | None:
        """Return the UUID, or report."""
        if not isinstance(value, str):
            place.report(IssueCode.TYPE)
            return None
        identifier = parse_uuid(value)
        if identifier is None:
            place.report(IssueCode.PATTERN)
        return identifier


@dataclass(frozen=True)
class SetOf:
    """A list whose order means nothing and whose members differ; it comes out sorted."""

    member: ValueShape
    maximum: int
    minimum: int = 1

    def read(self, value: Any, place: Location) -> tuple[str, ...] | None:
        """Return the members that are right, sorted; report the others."""
        if not isinstance(value, list):
            place.report(IssueCode.TYPE)
            return None
        if len(value) > self.maximum:
            place.report(IssueCode.TOO_MANY)
            return None
        if len(value) < self.minimum:
            place.report(IssueCode.EMPTY)
        members: set[str] = set()
        for index, raw in enumerate(value):
            member = self.member.read(raw, place / index)
            if member in members:
                (place / index).report(IssueCode.DUPLICATE)
            elif member is not None:
                members.add(member)
        return tuple(sorted(members))


@dataclass(frozen=True)
class FreeJson:
    """Any JSON value of at most so many levels; the value itself is the first."""

    max_levels: int

    def read(self, value: Any, place: Location) -> Any:
        """Return the value, numbers plain; or report what cannot be stored or is too deep."""
        return self._read(value, place, level=1)

    def _read(self, value: Any, place: Location, *, level: int) -> Any:
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, dict | list):
            if level > self.max_levels:
                place.report(IssueCode.TOO_DEEP)
                return None
            return self._read_members(value, place, level=level + 1)
        if isinstance(value, str):
            if not is_storable(value):
                place.report(IssueCode.PATTERN)
            return value
        number = plain_number(value)
        if number is None:
            place.report(
                IssueCode.OUT_OF_RANGE if isinstance(value, int | float) else IssueCode.TYPE
            )
        return number

    def _read_members(
        self, value: dict[Any, Any] | list[Any], place: Location, *, level: int
    ) -> Any:
        if isinstance(value, list):
            items = enumerate(value)
            return [self._read(each, place / index, level=level) for index, each in items]
        for name in value:
            if not isinstance(name, str):
                (place / name).report(IssueCode.TYPE)
            elif not is_storable(name):
                (place / name).report(IssueCode.PATTERN)
        return {name: self._read(each, place / name, level=level) for name, each in value.items()}
