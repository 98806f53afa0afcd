"""Records: frozen dataclasses whose parts say what they are read from.

    @dataclass(frozen=True, kw_only=True)
    class Settings:
        every_ms: Annotated[int, WholeNumber(100, 600_000)] = 1000

A part without a default is required; one whose default is None may be left out or be null. A field
without `Annotated` is no part: it is never read.
"""

from collections.abc import Container, Hashable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints
from uuid import UUID

from framekiln.pipelines.schema.issues import IssueCode, Location
from framekiln.pipelines.schema.shapes import ValueShape

Record = TypeVar("Record", bound=Hashable)


def read_record(
    record: type[Record], value: Any, place: Location, *, is_strict: bool = True
) -> Record | None:
    """Return the record that is written in `value`; or report all that is wrong with it.

    Unless `is_strict`, fields that nobody knows are ignored.
    """
    if not isinstance(value, dict):
        place.report(IssueCode.TYPE)
        return None
    issue_count = len(place.issues)
    parts = _parts(record)
    if is_strict:
        report_unknown(value, parts, place)
    found = {
        name: part.read(value.get(name, MISSING), place / name) for name, part in parts.items()
    }
    return record(**found) if len(place.issues) == issue_count else None


def report_unknown(value: dict[Any, Any], known: Container[Any], place: Location) -> None:
    """Report the fields of an object that nobody knows."""
    for name in value:
        if name not in known:
            (place / name).report(IssueCode.UNKNOWN_FIELD)


def as_json(value: Any) -> Any:
    """Return a record, or what may stand in one, as JSON; parts that are None are left out."""
    if is_dataclass(value):
        parts = {each.name: getattr(value, each.name) for each in fields(value)}
        return {name: as_json(each) for name, each in parts.items() if each is not None}
    if isinstance(value, tuple):
        return [as_json(each) for each in value]
    return str(value) if isinstance(value, UUID) else value


@dataclass(frozen=True)
class ListOf:
    """A list of records, in the order given."""

    record: type[Any]
    maximum: int | None = None
    minimum: int = 0
    is_strict: bool = True

    def read(self, value: Any, place: Location) -> tuple[Any, ...] | None:
        """Return the records that are right; report the others."""
        if not isinstance(value, list):
            place.report(IssueCode.TYPE)
            return None
        if self.maximum is not None and len(value) > self.maximum:
            place.report(IssueCode.TOO_MANY)
            return None
        if len(value) < self.minimum:
            place.report(IssueCode.EMPTY)
        read = [
            read_record(self.record, raw, place / at, is_strict=self.is_strict)
            for at, raw in enumerate(value)
        ]
        return tuple(each for each in read if each is not None)


@dataclass(frozen=True)
class _Part:
    """One part of a record."""

    shape: ValueShape
    default: Any

    def read(self, value: Any, place: Location) -> Any:
        if value is MISSING and self.default is MISSING:
            place.report(IssueCode.REQUIRED)
            return None
        if value is MISSING or (value is None and self.default is None):
            return self.default
        return self.shape.read(value, place)


@cache
def _parts(record: type[Any]) -> dict[str, _Part]:
    hints = get_type_hints(record, include_extras=True)
    return {
        each.name: _Part(shape=get_args(hints[each.name])[1], default=each.default)
        for each in fields(record)
        if get_origin(hints[each.name]) is Annotated
    }
