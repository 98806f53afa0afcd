"""Reads the predicate of a filter from JSON, with every issue.

A predicate is a leaf `{path, op, value}`, or `{all: [...]}`, `{any: [...]}`, `{not: ...}`. Each of
these is one level of nesting, the leaf included.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from framekiln.pipelines.definition.predicate import (
    AllOf,
    AnyOf,
    Comparison,
    Not,
    Operator,
    Predicate,
    Scalar,
    array_index,
)
from framekiln.pipelines.schema.issues import IssueCode, Location
from framekiln.pipelines.schema.names import NAME
from framekiln.pipelines.schema.records import report_unknown
from framekiln.pipelines.schema.shapes import NumberBetween, OneOf, Text

MAX_LEVELS = 4
MAX_PARTS = 16
MAX_SEGMENTS = 16
MAX_CHOICES = 64
_TEXT = Text(maximum=1024, minimum=0)
_PATH = Text(maximum=1024)
_NUMBER = NumberBetween()
_OPERATOR = OneOf(tuple(Operator), otherwise=IssueCode.UNKNOWN_OPERATOR)

_WITHOUT_VALUE = frozenset({Operator.EXISTS, Operator.NON_EMPTY})
_OF_NUMBERS = frozenset({Operator.GT, Operator.GTE, Operator.LT, Operator.LTE})
_INVALID = object()


@dataclass(frozen=True)
class PredicateReader:
    """Reads predicates that may ask these namespaces."""

    namespaces: Collection[str]

    def read(self, value: Any, place: Location, level: int = 1) -> Predicate | None:
        """Return the predicate, or report all that is wrong with it."""
        if level > MAX_LEVELS:
            place.report(IssueCode.TOO_DEEP)
            return None
        if not isinstance(value, dict):
            place.report(IssueCode.TYPE)
            return None
        form = next((form for form in ("all", "any", "not") if form in value), None)
        if form is None:
            return self._read_leaf(value, place)
        report_unknown(value, {form}, place)
        if form == "not":
            part = self.read(value[form], place / form, level + 1)
            return part and Not(part)
        parts = self._read_parts(value[form], place / form, level + 1)
        return AllOf(parts) if form == "all" else AnyOf(parts)

    def _read_parts(self, value: Any, place: Location, level: int) -> tuple[Predicate, ...]:
        if not isinstance(value, list):
            place.report(IssueCode.TYPE)
            return ()
        if not 1 <= len(value) <= MAX_PARTS:
            place.report(IssueCode.TOO_MANY if value else IssueCode.EMPTY)
            return ()
        read = [self.read(part, place / index, level) for index, part in enumerate(value)]
        return tuple(part for part in read if part is not None)

    def _read_leaf(self, value: dict[Any, Any], place: Location) -> Comparison | None:
        report_unknown(value, {"path", "op", "value"}, place)
        path = self._read_path(value["path"], place / "path") if "path" in value else None
        word = _OPERATOR.read(value["op"], place / "op") if "op" in value else None
        for name in ("path", "op"):
            if name not in value:
                (place / name).report(IssueCode.REQUIRED)
        if word is None:
            return None
        operator = Operator(word)
        operand = _read_operand(operator, value, place / "value")
        return None if path is None or operand is _INVALID else Comparison(path, operator, operand)

    def _read_path(self, value: Any, place: Location) -> tuple[str, ...] | None:
        path = _PATH.read(value, place)
        if path is None:
            return None
        segments = tuple(path.split("."))
        if len(segments) > MAX_SEGMENTS:
            place.report(IssueCode.TOO_MANY)
            return None
        if not _is_path(segments):
            place.report(IssueCode.PATTERN)
            return None
        if segments[0] not in self.namespaces:
            place.report(IssueCode.NOT_UPSTREAM)
            return None
        return segments


def _is_path(segments: tuple[str, ...]) -> bool:
    """Whether it is `<namespace>.metadata.<field>...` or `<namespace>.annotations...`.

    Annotations are an array: a segment after it that is no number would never find anything.
    """
    namespace, root, rest = segments[0], segments[1:2], segments[2:]
    if not NAME.fullmatch(namespace) or not all(segments):
        return False
    if root == ("metadata",):
        return bool(rest)
    return root == ("annotations",) and (not rest or array_index(rest[0]) is not None)


def _read_operand(operator: Operator, leaf: dict[Any, Any], place: Location) -> Any:
    if operator in _WITHOUT_VALUE:
        # Clients that always write all three fields send null.
        return None
    if "value" not in leaf:
        place.report(IssueCode.REQUIRED)
        return _INVALID
    value = leaf["value"]
    if operator in _OF_NUMBERS:
        number = _NUMBER.read(value, place)
        return _INVALID if number is None else number
    return _read_choices(value, place) if operator is Operator.IN else _read_scalar(value, place)


def _read_choices(value: Any, place: Location) -> Any:
    if not isinstance(value, list):
        place.report(IssueCode.TYPE)
        return _INVALID
    if not 1 <= len(value) <= MAX_CHOICES:
        place.report(IssueCode.TOO_MANY if value else IssueCode.EMPTY)
        return _INVALID
    read = [_read_scalar(each, place / index) for index, each in enumerate(value)]
    return _INVALID if _INVALID in read else tuple(read)


def _read_scalar(value: Any, place: Location) -> Scalar | object:
    if value is None or isinstance(value, bool):
        return value
    read = _TEXT.read(value, place) if isinstance(value, str) else _NUMBER.read(value, place)
    return _INVALID if read is None else read
