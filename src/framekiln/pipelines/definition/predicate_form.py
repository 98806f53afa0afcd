"""How the predicate of a filter is written in JSON.

A predicate is a comparison `{path, op, value}`, or `{all: [...]}`, `{any: [...]}`, `{not: ...}`.
Each of these is one level of nesting, the comparison included.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cache
from typing import Annotated, Any, Final, Literal, Union, get_args, get_type_hints

from pydantic import Field

from framekiln.pipelines.definition.model import NAME
from framekiln.pipelines.definition.predicate import (
    AllOf,
    AnyOf,
    Comparison,
    Not,
    Operator,
    Predicate,
    Scalar,
)
from framekiln.pipelines.schema.field_types import (
    ContextType,
    JsonType,
    ListOf,
    Number,
    NumberBetween,
    Text,
)
from framekiln.pipelines.schema.issues import IssueCode, issue_error
from framekiln.pipelines.schema.records import Record, adapter_of

MAX_LEVELS: Final = 4
MAX_PARTS: Final = 16
MAX_SEGMENTS: Final = 16
MAX_CHOICES: Final = 64
MAX_CHARS: Final = 1024

# Annotations are an array: a segment after it that is no index would never find anything.
_PATH: Final = re.compile(
    rf"{NAME.pattern}\.(metadata(\.[^.]+)+|annotations(\.(0|[1-9][0-9]{{0,8}})(\.[^.]+)*)?)"
)


_TEXT: Final = Text(maximum=MAX_CHARS, minimum=0)
_NUMBER: Final = NumberBetween()


@dataclass(frozen=True, kw_only=True)
class PredicateContext:
    """What a predicate is read with: the namespaces it may ask, and how deep it lies."""

    namespaces: Collection[str]
    level: int = 1


class PathType(ContextType[PredicateContext]):
    """`<namespace>.metadata.<field>...` or `<namespace>.annotations...`, as its segments."""

    def check_in(self, value: Any, context: PredicateContext) -> tuple[str, ...]:
        """See `ContextType`."""
        path = Text(maximum=MAX_CHARS).check(value)
        segments = tuple(path.split("."))
        if len(segments) > MAX_SEGMENTS:
            raise issue_error(IssueCode.TOO_MANY)
        if not _PATH.fullmatch(path):
            raise issue_error(IssueCode.PATTERN)
        if segments[0] not in context.namespaces:
            raise issue_error(IssueCode.NOT_UPSTREAM)
        return segments

    def described(self) -> Any:
        """See `JsonType`."""
        return Annotated[str, Field(max_length=MAX_CHARS, pattern=f"^{_PATH.pattern}$")]


class ScalarType(JsonType):
    """A text, a number, true, false or null."""

    def check(self, value: Any) -> Scalar:
        """See `JsonType`."""
        if isinstance(value, bool):
            return value
        return _TEXT.check(value) if isinstance(value, str) else _NUMBER.check(value)

    def described(self) -> Any:
        """See `JsonType`."""
        return Annotated[str, Field(max_length=MAX_CHARS)] | float | bool


class UnknownOperator(JsonType):
    """What stands for an operator and is none."""

    def check(self, value: Any) -> Any:
        """See `JsonType`."""
        is_text = isinstance(value, str)
        raise issue_error(IssueCode.UNKNOWN_OPERATOR if is_text else IssueCode.TYPE)

    def described(self) -> Any:
        """See `JsonType`."""
        return Operator


class PredicateType(ContextType[PredicateContext]):
    """A predicate in one of its forms."""

    def check_in(self, value: Any, context: PredicateContext) -> Predicate:
        """See `ContextType`."""
        if context.level > MAX_LEVELS:
            raise issue_error(IssueCode.TOO_DEEP)
        if not isinstance(value, dict):
            raise issue_error(IssueCode.TYPE)
        inner = replace(context, level=context.level + 1)
        form: Form = adapter_of(_form_of(value)).validate_python(value, context=inner)
        return form.predicate()

    def described(self) -> Any:
        """See `JsonType`."""
        return Union[*_COMBINATIONS.values(), *_COMPARISONS]


PathField = Annotated[tuple[str, ...], PathType()]
ScalarField = Annotated[Scalar, ScalarType()]
PredicateField = Annotated[Predicate, PredicateType()]
PartsField = Annotated[tuple[PredicateField, ...], ListOf(minimum=1, maximum=MAX_PARTS)]


@dataclass(frozen=True, kw_only=True)
class _Comparison(Record):
    """A question to one place in the outputs."""

    path: PathField
    op: str
    value: Any

    def predicate(self) -> Predicate:
        """Return the predicate that is written so."""
        return Comparison(self.path, Operator(self.op), self.value)


@dataclass(frozen=True, kw_only=True)
class Presence(_Comparison):
    """Whether something is there; clients that always write all three fields send a value."""

    op: Literal["exists", "non_empty"]
    value: Any = None

    def predicate(self) -> Predicate:
        """Return the predicate that is written so."""
        return Comparison(self.path, Operator(self.op))


@dataclass(frozen=True, kw_only=True)
class ScalarComparison(_Comparison):
    """Whether it equals or contains a value."""

    op: Literal["eq", "ne", "contains"]
    value: ScalarField


@dataclass(frozen=True, kw_only=True)
class NumberComparison(_Comparison):
    """Whether it is a number, and larger or smaller than another."""

    op: Literal["gt", "gte", "lt", "lte"]
    value: Annotated[Number, NumberBetween()]


@dataclass(frozen=True, kw_only=True)
class ListComparison(_Comparison):
    """Whether it equals one of several values."""

    op: Literal["in"]
    value: Annotated[tuple[ScalarField, ...], ListOf(minimum=1, maximum=MAX_CHOICES)]


@dataclass(frozen=True, kw_only=True)
class InvalidComparison(_Comparison):
    """A comparison without an operator that exists: nothing can be said of its value."""

    op: Annotated[str, UnknownOperator()]
    value: Any = None


@dataclass(frozen=True, kw_only=True)
class AllForm(Record):
    """Holds when every part holds."""

    parts: Annotated[PartsField, Field(alias="all")]

    def predicate(self) -> Predicate:
        """Return the predicate that is written so."""
        return AllOf(self.parts)


@dataclass(frozen=True, kw_only=True)
class AnyForm(Record):
    """Holds when some part holds."""

    parts: Annotated[PartsField, Field(alias="any")]

    def predicate(self) -> Predicate:
        """Return the predicate that is written so."""
        return AnyOf(self.parts)


@dataclass(frozen=True, kw_only=True)
class NotForm(Record):
    """Holds when its part does not."""

    part: Annotated[PredicateField, Field(alias="not")]

    def predicate(self) -> Predicate:
        """Return the predicate that is written so."""
        return Not(self.part)


Form = _Comparison | AllForm | AnyForm | NotForm

_COMBINATIONS: Final[dict[str, type[Form]]] = {"all": AllForm, "any": AnyForm, "not": NotForm}
_COMPARISONS: Final[tuple[type[_Comparison], ...]] = (
    Presence,
    ScalarComparison,
    NumberComparison,
    ListComparison,
)


def _form_of(value: dict[Any, Any]) -> type[Form]:
    for name, form in _COMBINATIONS.items():
        if name in value:
            return form
    op = value.get("op")
    return _comparisons().get(op, InvalidComparison) if isinstance(op, str) else InvalidComparison


@cache
def _comparisons() -> dict[str, type[_Comparison]]:
    return {op: form for form in _COMPARISONS for op in get_args(get_type_hints(form)["op"])}
