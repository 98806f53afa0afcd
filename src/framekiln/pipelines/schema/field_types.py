"""What values of fields may be, as annotations: `Annotated[int, IntegerBetween(1, 8)]`.

Numbers come out plain, so that `1000` and `1000.0` are one value and have one digest; booleans are
no numbers. Each type describes itself as JSON Schema, as far as that can say it.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from types import NoneType
from typing import Annotated, Any, Generic, TypeVar, get_args
from uuid import UUID

from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationError
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticOmit, core_schema

from framekiln.kit.blank_text import is_blank
from framekiln.kit.ids import parse_uuid
from framekiln.pipelines.schema.issues import InnerIssues, IssueCode, Location, issue_error

Number = int | float
Check = Callable[[Any], Any]
ContextT = TypeVar("ContextT")

# Every double up to here is one whole number, and every such number is one double.
_EXACT_LIMIT = 2**53
_MAX_NUMBER = 1.7976931348623157e308
# JSON allows these, but neither UTF-8 nor the database can hold them.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def is_storable(text: str) -> bool:
    """Whether a text can be written as UTF-8 and kept in the database."""
    return _UNSTORABLE.search(text) is None


class JsonType(ABC):
    """A type whose values one method checks; null is let through where the field can be None."""

    @abstractmethod
    def check(self, value: Any) -> Any:
        """Return the value as we hold it, or raise its issues."""

    @abstractmethod
    def described(self) -> Any:
        """Return the type that has the JSON schema of this one."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Have the function called, and the type described."""
        schema = core_schema.no_info_plain_validator_function(
            self.check, json_schema_input_schema=handler.generate_schema(self.described())
        )
        return core_schema.nullable_schema(schema) if _is_optional(source) else schema


class ContextType(ABC, Generic[ContextT]):
    """A type whose values are checked in a context, which `read` was given."""

    @abstractmethod
    def check_in(self, value: Any, context: ContextT) -> Any:
        """Return the value as we hold it, or raise its issues."""

    @abstractmethod
    def described(self) -> Any:
        """Return the type that has the JSON schema of this one."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Have the check called, and the type described."""
        return core_schema.with_info_plain_validator_function(
            lambda value, info: self.check_in(value, info.context),
            json_schema_input_schema=handler.generate_schema(self.described()),
        )


@dataclass(frozen=True)
class NumberBetween(JsonType):
    """A number, the bounds included."""

    minimum: Number = -_MAX_NUMBER
    maximum: Number = _MAX_NUMBER

    def check(self, value: Any) -> Number:
        """See `JsonType`."""
        return _check_number(value, self.minimum, self.maximum)

    def described(self) -> Any:
        """See `JsonType`."""
        minimum = None if self.minimum == -_MAX_NUMBER else self.minimum
        maximum = None if self.maximum == _MAX_NUMBER else self.maximum
        return Annotated[float, Field(ge=minimum, le=maximum)]


@dataclass(frozen=True)
class IntegerBetween(JsonType):
    """A whole number, the bounds included."""

    minimum: int
    maximum: int

    def check(self, value: Any) -> int:
        """See `JsonType`."""
        number = _check_number(value, self.minimum, self.maximum)
        if type(number) is not int:
            raise issue_error(IssueCode.TYPE)
        return number

    def described(self) -> Any:
        """See `JsonType`."""
        return Annotated[int, Field(ge=self.minimum, le=self.maximum)]


@dataclass(frozen=True)
class Text(JsonType):
    """A text of so many characters, perhaps of a certain form; a name has a visible one."""

    maximum: int | None = None
    minimum: int = 1
    is_name: bool = False
    pattern: re.Pattern[str] | None = None

    def check(self, value: Any) -> str:
        """Return the text, or raise what is wrong with it."""
        if not isinstance(value, str):
            raise issue_error(IssueCode.TYPE)
        if self.pattern is not None and not self.pattern.fullmatch(value):
            raise issue_error(IssueCode.PATTERN)
        if len(value) < self.minimum or (self.is_name and is_blank(value)):
            raise issue_error(IssueCode.EMPTY)
        if self.maximum is not None and len(value) > self.maximum:
            raise issue_error(IssueCode.TOO_LONG)
        if not is_storable(value):
            raise issue_error(IssueCode.PATTERN)
        return value

    def described(self) -> Any:
        """See `JsonType`."""
        if self.pattern is not None:
            pattern = f"^({self.pattern.pattern})$"
            return Annotated[str, Field(max_length=self.maximum, pattern=pattern)]
        minimum = self.minimum or None
        return Annotated[str, Field(min_length=minimum, max_length=self.maximum)]


@dataclass(frozen=True)
class AnyUuid(JsonType):
    """A UUID, written in any usual way."""

    def check(self, value: Any) -> UUID:
        """See `JsonType`."""
        if not isinstance(value, str):
            raise issue_error(IssueCode.TYPE)
        identifier = parse_uuid(value)
        if identifier is None:
            raise issue_error(IssueCode.PATTERN)
        return identifier

    def described(self) -> Any:
        """See `JsonType`."""
        return UUID


@dataclass(frozen=True)
class JsonObject(JsonType):
    """Any JSON object of at most so many levels; the object itself is the first."""

    max_levels: int

    def check(self, value: Any) -> Any:
        """Return the object, numbers plain; or raise what cannot be stored or is too deep."""
        if not isinstance(value, dict):
            raise issue_error(IssueCode.TYPE)
        issues = InnerIssues()
        read = self._read(value, issues.place, level=1)
        issues.raise_any()
        return read

    def described(self) -> Any:
        """See `JsonType`."""
        return dict[str, Any]

    def _read(self, value: Any, place: Location, *, level: int) -> Any:
        if isinstance(value, dict | list):
            if level > self.max_levels:
                place.report(IssueCode.TOO_DEEP)
                return None
            return self._read_members(value, place, level=level + 1)
        if isinstance(value, str):
            if not is_storable(value):
                place.report(IssueCode.PATTERN)
            return value
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int | float) and -_MAX_NUMBER <= value <= _MAX_NUMBER:
            return _plain_number(value)
        is_number = isinstance(value, int | float)
        place.report(IssueCode.OUT_OF_RANGE if is_number else IssueCode.TYPE)
        return None

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


@dataclass(frozen=True)
class ListOf:
    """A list with so many items, in the order given; the field's own type says which."""

    maximum: int | None = None
    minimum: int = 0

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Have the list checked before its items are."""
        is_optional = _is_optional(source)

        def check(value: Any) -> Any:
            return value if value is None and is_optional else self.check(value)

        return core_schema.no_info_before_validator_function(check, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Describe the number of items."""
        described = handler(schema)
        lists = [each for each in described.get("anyOf", [described]) if "items" in each]
        for each in lists:
            each.update({"minItems": self.minimum} if self.minimum else {})
            each.update({"maxItems": self.maximum} if self.maximum is not None else {})
        return described

    def check(self, value: Any) -> Any:
        """Return a list of the right length, or raise."""
        if not isinstance(value, list):
            raise issue_error(IssueCode.TYPE)
        if self.maximum is not None and len(value) > self.maximum:
            raise issue_error(IssueCode.TOO_MANY)
        if len(value) < self.minimum:
            raise issue_error(IssueCode.EMPTY)
        return value


@dataclass(frozen=True)
class SortedSet(ListOf):
    """A list of texts whose order means nothing and which differ; it comes out sorted."""

    minimum: int = 1

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Have the list checked, its members, and that these differ."""
        return core_schema.no_info_wrap_validator_function(self._read, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Describe the number of members, and that they differ."""
        return super().__get_pydantic_json_schema__(schema, handler) | {"uniqueItems": True}

    def _read(self, value: Any, read_members: Check) -> tuple[str, ...]:
        issues = InnerIssues()
        wrong: set[Any] = set()
        try:
            read_members(self.check(value))
        except ValidationError as error:
            issues.add(error)
            wrong = {each["loc"][0] for each in error.errors()}
        members: set[str] = set()
        for index, member in enumerate(value):
            if index in wrong:
                continue
            if member in members:
                (issues.place / index).report(IssueCode.DUPLICATE)
            members.add(member)
        issues.raise_any()
        return tuple(sorted(members))


@dataclass(frozen=True)
class DescribedJson(JsonType):
    """Any value; what it should be is described only."""

    type: Any

    def check(self, value: Any) -> Any:
        """See `JsonType`."""
        return value

    def described(self) -> Any:
        """See `JsonType`."""
        return self.type


@dataclass(frozen=True)
class NotAllowed(JsonType):
    """A field that is known, but has no place here; JSON Schema does not mention it."""

    def check(self, value: Any) -> Any:
        """See `JsonType`."""
        raise issue_error(IssueCode.NOT_ALLOWED)

    def described(self) -> Any:
        """See `JsonType`."""
        return Any

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Leave the field out."""
        raise PydanticOmit


def _check_number(value: Any, minimum: Number, maximum: Number) -> Number:
    if type(value) is not int and type(value) is not float:
        raise issue_error(IssueCode.TYPE)
    # Not a number is between nothing.
    if not minimum <= value <= maximum:
        raise issue_error(IssueCode.OUT_OF_RANGE)
    return _plain_number(value)


def _plain_number(value: Number) -> Number:
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) <= _EXACT_LIMIT
    return int(value) if is_whole else value


def _is_optional(source: Any) -> bool:
    return NoneType in get_args(source)
