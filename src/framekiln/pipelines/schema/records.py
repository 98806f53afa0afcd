"""Records: frozen dataclasses whose fields say what they are read from.

    @dataclass(frozen=True, kw_only=True)
    class Settings(Record):
        every_ms: Annotated[int, IntegerBetween(100, 600_000)] = 1000

A field without a default is required; one that can be None may be null. Pydantic reads them, and
describes them as JSON Schema. Constructors check nothing.
"""

from collections.abc import Hashable
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, ClassVar, TypeVar, cast
from uuid import UUID

from pydantic import ConfigDict, GetCoreSchemaHandler, TypeAdapter, ValidationError
from pydantic_core import CoreSchema, core_schema

from framekiln.pipelines.schema.issues import MAX_NAME_CHARS, Location, issues_of, path_segment

T = TypeVar("T")


class Record:
    """A dataclass that is read from an object; fields that it does not have are refused."""

    __slots__ = ()
    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Have names of fields made fit for paths first: pydantic gives up at some of them."""
        return core_schema.no_info_before_validator_function(_with_plain_names, handler(source))


class OpenRecord:
    """A dataclass that is read from an object; fields that it does not have are ignored."""

    __slots__ = ()
    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="ignore")


def read(kind: type[T], value: Any, place: Location, *, context: Any = None) -> T | None:
    """Return what is written in `value`; or report all that is wrong with it and return None."""
    try:
        return adapter_of(kind).validate_python(value, context=context)
    except ValidationError as error:
        place.issues.extend(issues_of(error, place.path))
        return None


def adapter_of(kind: type[T]) -> TypeAdapter[T]:
    """Return what reads and describes values of a type; made when it is first needed."""
    return cast(TypeAdapter[T], _adapter(cast(Hashable, kind)))


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def as_json(value: Any) -> Any:
    """Return a record, or what may stand in one, as JSON; parts that are None are left out."""
    if is_dataclass(value):
        parts = {each.name: getattr(value, each.name) for each in fields(value)}
        return {name: as_json(each) for name, each in parts.items() if each is not None}
    if isinstance(value, tuple):
        return [as_json(each) for each in value]
    return str(value) if isinstance(value, UUID) else value


def _with_plain_names(value: Any) -> Any:
    if not isinstance(value, dict) or all(map(_is_plain, value)):
        return value
    return {path_segment(name): each for name, each in value.items()}


def _is_plain(name: Any) -> bool:
    return isinstance(name, str) and name.isascii() and len(name) <= MAX_NAME_CHARS
