"""A schema defines an object of the config once: it reads, writes and describes the object.

    Schema          an object: its fields and the value they make
    Field           one field: wire name, attribute, type, default
    FieldType       one type of value; the types are in `field_types`
    FieldContext    a path in the config being read, and its context

Reading does not stop at the first error: a field type adds an issue and returns `REFUSED`.
"""

from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, Generic, Protocol, TypeVar

from framekiln.composition.layers.findings import ConfigFinding, ConfigFindings, joined_path
from framekiln.composition.layers.json_schema import Definitions, JsonSchema
from framekiln.composition.layers.limits import ConfigLimits
from framekiln.kit.suggestions import did_you_mean, nearest_name

Value = TypeVar("Value")


@dataclass
class ReadContext:
    """The context of parsing one config."""

    limits: ConfigLimits = field(default_factory=ConfigLimits)
    reads_numeric_strings: bool = False
    """Whether numbers may be text and text may be numbers, as in filled templates."""
    uploads: Mapping[str, str] = field(default_factory=dict)
    """Sources uploaded with the request, by layer id; their URLs are internal and trusted."""
    findings: ConfigFindings = field(default_factory=ConfigFindings)
    layer_ids: Set[str] = frozenset()
    """Every id in the config, known before the first layer is parsed."""
    layer_count: int = 0
    transition_count: int = 0
    used_ids: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class FieldContext:
    """The context of a path in the config."""

    path: str
    reading: ReadContext
    depth: int = 0
    """The nesting depth of groups."""

    def child(self, name: str | int) -> "FieldContext":
        """Return the context of a field or item."""
        return FieldContext(joined_path(self.path, name), self.reading, self.depth)

    def issue(self, code: str, message: str, hint: str | None = None) -> None:
        """Add an issue at this path, which rejects the config."""
        self.reading.findings.add_issue(ConfigFinding(self.path, code, message, hint))

    def suggestion(self, name: str, known: Iterable[str]) -> str | None:
        """Return a hint for an issue about an unknown name; None if the issue is dropped."""
        # Suggestions take far longer than everything else about a name.
        return None if self.reading.findings.has_all_issues else did_you_mean(name, known)

    def warn(self, code: str, message: str, hint: str | None = None) -> None:
        """Add a warning at this path."""
        self.reading.findings.add_warning(ConfigFinding(self.path, code, message, hint))


class Refused:
    """The result of a field type after it has added an issue."""


REFUSED: Final = Refused()


class FieldType(Protocol):
    """One type of value."""

    def read(self, value: object, place: FieldContext) -> Any:
        """Return the value, or add an issue and return `REFUSED`. Never called with null."""

    def write(self, value: Any) -> Any:
        """Return the value as JSON."""

    def json_schema(self, definitions: Definitions) -> JsonSchema:
        """Describe what `read` accepts, without null."""


@dataclass(frozen=True)
class Field:
    """One field of an object. Null means absent; absent means the default."""

    name: str
    attribute: str
    field_type: FieldType
    default: Any = None
    is_required: bool = False
    aliases: tuple[str, ...] = ()

    def find(self, values: Mapping[str, object]) -> tuple[str, object]:
        """Return the name in use and its value; None if there is none."""
        for name in (self.name, *self.aliases):
            if values.get(name) is not None:
                return name, values[name]
        return self.name, None

    def read(self, values: Mapping[str, object], place: FieldContext, names: frozenset[str]) -> Any:
        """Return the field's value, its default, or `REFUSED`; `names` are those of all fields."""
        name, value = self.find(values)
        if value is not None:
            return self.field_type.read(value, place.child(name))
        if self.is_required:
            near = nearest_name(name, (each for each in values if each not in names))
            hint = f"did you mean {name} by {near}?" if near else None
            place.child(name).issue("required", f"{name} is missing", hint)
            return REFUSED
        return self.default


@dataclass(frozen=True)
class Schema(Generic[Value]):
    """An object of the config. `check` may validate fields together."""

    make: Callable[..., Value]
    fields: tuple[Field, ...]
    check: Callable[[Value, FieldContext], Value | Refused] | None = None
    ignored: frozenset[str] = frozenset()
    """Known names without effect here."""
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    """Common misplaced names, and their correct paths."""

    def read(self, value: object, place: FieldContext, **given: Any) -> Value | Refused:
        """Return the value; `given` are attributes without a field."""
        if not isinstance(value, Mapping):
            place.issue("type", f"must be an object, not {json_type_name(value)}")
            return REFUSED
        self._warn_of_unknown(value, place)
        read = {field.attribute: field.read(value, place, self.names) for field in self.fields}
        if any(found is REFUSED for found in read.values()):
            return REFUSED
        made = self.make(**read, **given)
        return self.check(made, place) if self.check else made

    def write(self, value: Value) -> dict[str, Any]:
        """Return the value as JSON; defaults are filled in, absent values are omitted."""
        written: dict[str, Any] = {}
        for each in self.fields:
            found = getattr(value, each.attribute)
            if found is not None:
                written[each.name] = each.field_type.write(found)
        return written

    def json_schema(self, definitions: Definitions) -> JsonSchema:
        """Describe the object; it is named after its class, if it has one."""
        if isinstance(self.make, type) and self.make is not dict:
            return definitions.refer(self.make.__name__, lambda: self._described(definitions))
        return self._described(definitions)

    def properties(self, definitions: Definitions) -> dict[str, JsonSchema]:
        """Describe the fields under all of their names."""
        return {
            name: each.field_type.json_schema(definitions)
            for each in self.fields
            for name in (each.name, *each.aliases)
        }

    @property
    def required(self) -> list[tuple[str, ...]]:
        """The names of required fields, with their aliases."""
        return [(each.name, *each.aliases) for each in self.fields if each.is_required]

    def _described(self, definitions: Definitions) -> JsonSchema:
        return definitions.object_of(self.properties(definitions), required=self.required)

    @cached_property
    def names(self) -> frozenset[str]:
        """Every known name."""
        return frozenset(name for each in self.fields for name in (each.name, *each.aliases))

    def _warn_of_unknown(self, values: Mapping[str, object], place: FieldContext) -> None:
        findings = place.reading.findings
        for name, value in values.items():
            if findings.has_all_warnings:
                # Suggestions are slow, and nobody would see them.
                return
            if value is not None and name not in self.names and name not in self.ignored:
                warn_unknown_field(str(name), place, names=self.names, elsewhere=self.elsewhere)


def warn_unknown_field(
    name: str, place: FieldContext, *, names: frozenset[str], elsewhere: Mapping[str, str]
) -> None:
    """Warn that a field has no effect, with the most similar known name."""
    shown = name if len(name) <= 60 else name[:57] + "..."
    near = elsewhere.get(name) or nearest_name(name, names)
    place.child(shown).warn(
        "unknown_field",
        f"{shown} is not a field here and has no effect",
        f"did you mean {near}?" if near else None,
    )


def json_type_name(value: object) -> str:
    """Return the JSON type of a value, with its article."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, str):
        return "a string"
    if isinstance(value, int | float):
        return "a number"
    return "an array" if isinstance(value, list | tuple) else "an object"
