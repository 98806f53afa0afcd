"""Predicates of filters: what they are, and whether they hold. `predicate_form` reads them.

A leaf is false when nothing exists at its path, `ne` included: the negation of `eq` is `not`.
`1` equals `1.0`; `true` equals no number.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

Scalar = str | int | float | bool | None


class Operator(StrEnum):
    """How a leaf looks at what is at its path."""

    EXISTS = "exists"
    NON_EMPTY = "non_empty"
    EQ = "eq"
    NE = "ne"
    GT = "gt"
    GTE = "gte"
    LT = "lt"
    LTE = "lte"
    IN = "in"
    CONTAINS = "contains"


@dataclass(frozen=True)
class Comparison:
    """A question to one place in the outputs."""

    path: tuple[str, ...]
    """Namespace, `metadata` or `annotations`, then fields and numbers of array items."""
    op: Operator
    value: Scalar | tuple[Scalar, ...] = None
    """None for `exists` and `non_empty`; a tuple for `in`."""


@dataclass(frozen=True)
class AllOf:
    """Holds when every part holds."""

    parts: "tuple[Predicate, ...]"


@dataclass(frozen=True)
class AnyOf:
    """Holds when some part holds."""

    parts: "tuple[Predicate, ...]"


@dataclass(frozen=True)
class Not:
    """Holds when its part does not."""

    part: "Predicate"


Predicate = Comparison | AllOf | AnyOf | Not


def evaluate(predicate: Predicate, view: Mapping[str, Any]) -> bool:
    """Say whether a predicate holds; `view` has each namespace's output as JSON."""
    match predicate:
        case AllOf(parts):
            return all(evaluate(part, view) for part in parts)
        case AnyOf(parts):
            return any(evaluate(part, view) for part in parts)
        case Not(part):
            return not evaluate(part, view)
        case Comparison(path, op, value):
            found = _look_up(view, path)
            return found is not _NOTHING and _TESTS[op](found, value)


_NOTHING = object()


def _look_up(view: Any, path: tuple[str, ...]) -> Any:
    found = view
    for segment in path:
        if isinstance(found, Mapping):
            found = found.get(segment, _NOTHING)
        elif isinstance(found, list):
            found = _item(found, segment)
        else:
            return _NOTHING
    return found


def _item(items: list[Any], segment: str) -> Any:
    index = _array_index(segment)
    return items[index] if index is not None and index < len(items) else _NOTHING


def _array_index(segment: str) -> int | None:
    """Return the array index that a path segment is, if it is one."""
    if not (segment.isascii() and segment.isdecimal() and len(segment) <= 9):
        return None
    return int(segment) if segment == "0" or segment[0] != "0" else None


def _equal(found: Any, value: Any) -> bool:
    if isinstance(found, bool) or isinstance(value, bool):
        return found is value
    return bool(found == value)


def _is_number(found: Any) -> bool:
    return isinstance(found, int | float) and not isinstance(found, bool)


def _contains(found: Any, value: Any) -> bool:
    if isinstance(found, str):
        return isinstance(value, str) and value in found
    return isinstance(found, list) and any(_equal(item, value) for item in found)


# Each is asked only about something that exists.
_TESTS: dict[Operator, Callable[[Any, Any], bool]] = {
    Operator.EXISTS: lambda _found, _value: True,
    Operator.NON_EMPTY: lambda found, _value: found is not None and found not in ("", [], {}),
    Operator.EQ: _equal,
    Operator.NE: lambda found, value: not _equal(found, value),
    Operator.GT: lambda found, value: _is_number(found) and found > value,
    Operator.GTE: lambda found, value: _is_number(found) and found >= value,
    Operator.LT: lambda found, value: _is_number(found) and found < value,
    Operator.LTE: lambda found, value: _is_number(found) and found <= value,
    Operator.IN: lambda found, value: any(_equal(found, each) for each in value),
    Operator.CONTAINS: _contains,
}
