"""A schema says once what an object of the config may hold; it reads, writes and describes it.

    Schema          an object: its fields and the value they make
    Field           one field: wire name, attribute, type, default
    FieldType       one sort of value; the sorts are in `field_types`
    FieldContext    where in a config something is being read, and what is known there

Reading never stops at the first fault: a field type notes an issue and gives `REFUSED`.
"""

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, Generic, Protocol, TypeVar

from framekiln.composition.layers.findings import ConfigFinding, ConfigFindings, joined_path
from framekiln.composition.layers.json_schema import Definitions, JsonSchema
from framekiln.composition.layers.limits import ConfigLimits
from framekiln.kit.suggestions import nearest_name

Value = TypeVar("Value")


@dataclass
class ReadContext:
    """One config being read."""

    limits: ConfigLimits = field(default_factory=ConfigLimits)
    reads_numeric_strings: bool = False
    """Filled templates may hold numbers as text, and text as numbers."""
    uploads: Mapping[str, str] = field(default_factory=dict)
    """Sources that came with the request, by layer id; their addresses are ours and trusted."""
    findings: ConfigFindings = field(default_factory=ConfigFindings)
    layer_ids: Set[str] = frozenset()
    """Every id in the config, known before the first layer is read."""
    layer_count: int = 0
    transition_count: int = 0
    used_ids: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class FieldContext:
    """A path in the config being read."""

    path: str
    reading: ReadContext
    depth: int = 0
    """Of groups."""

    def child(self, name: str | int) -> "FieldContext":
        """Return the place of a field or item."""
        return FieldContext(joined_path(self.path, name), self.reading, self.depth)

    def issue(self, code: str, message: str, hint: str | None = None) -> None:
        """Refuse the config for what stands here."""
        self.reading.findings.add_issue(ConfigFinding(self.path, code, message, hint))

    def warn(self, code: str, message: str, hint: str | None = None) -> None:
        """Tell the author about what stands here."""
        self.reading.findings.add_warning(ConfigFinding(self.path, code, message, hint))


class Refused:
    """What a field type gives after it has noted an issue."""


REFUSED: Final = Refused()


class FieldType(Protocol):
    """One sort of value."""

    def read(self, value: object, place: FieldContext) -> Any:
        """Return the value meant, or note an issue and return `REFUSED`. Never sees null."""

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
        """Return the name used and the value given under it, None if there is none."""
        for name in (self.name, *self.aliases):
            if values.get(name) is not None:
                return name, values[name]
        return self.name, None

    def read(self, values: Mapping[str, object], place: FieldContext) -> Any:
        """Return the field's value, its default, or `REFUSED`."""
        name, value = self.find(values)
        if value is not None:
            return self.field_type.read(value, place.child(name))
        if self.is_required:
            place.child(name).issue("required", f"{name} is missing")
            return REFUSED
        return self.default


@dataclass(frozen=True)
class Schema(Generic[Value]):
    """An object of the config. `check` may look at the fields together."""

    make: Callable[..., Value]
    fields: tuple[Field, ...]
    check: Callable[[Value, FieldContext], Value | Refused] | None = None
    ignored: frozenset[str] = frozenset()
    """Names that are known and mean nothing here."""
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    """Names that people write here and that belong elsewhere."""

    def read(self, value: object, place: FieldContext, **given: Any) -> Value | Refused:
        """Return the value; `given` are attributes that no field holds."""
        if not isinstance(value, Mapping):
            place.issue("type", f"must be an object, not {json_type_name(value)}")
            return REFUSED
        self._warn_of_unknown(value, place)
        read = {field.attribute: field.read(value, place) for field in self.fields}
        if any(found is REFUSED for found in read.values()):
            return REFUSED
        made = self.make(**read, **given)
        return self.check(made, place) if self.check else made

    def write(self, value: Value) -> dict[str, Any]:
        """Return the value as JSON, defaults filled in, absent ones left out."""
        written: dict[str, Any] = {}
        for each in self.fields:
            found = getattr(value, each.attribute)
            if found is not None:
                written[each.name] = each.field_type.write(found)
        return written

    def json_schema(self, definitions: Definitions) -> JsonSchema:
        """Describe the object; one that makes a class is named after it."""
        if isinstance(self.make, type) and self.make is not dict:
            return definitions.refer(self.make.__name__, lambda: self._described(definitions))
        return self._described(definitions)

    def properties(self, definitions: Definitions) -> dict[str, JsonSchema]:
        """Describe the fields by every name they have."""
        return {
            name: each.field_type.json_schema(definitions)
            for each in self.fields
            for name in (each.name, *each.aliases)
        }

    @property
    def required(self) -> list[tuple[str, ...]]:
        """The names of fields that must be there, with their other names."""
        return [(each.name, *each.aliases) for each in self.fields if each.is_required]

    def _described(self, definitions: Definitions) -> JsonSchema:
        return definitions.object_of(self.properties(definitions), required=self.required)

    @cached_property
    def names(self) -> frozenset[str]:
        """Every name that is understood."""
        return frozenset(name for each in self.fields for name in (each.name, *each.aliases))

    def _warn_of_unknown(self, values: Mapping[str, object], place: FieldContext) -> None:
        for name, value in values.items():
            if value is not None and name not in self.names and name not in self.ignored:
                warn_unknown_field(str(name), place, names=self.names, elsewhere=self.elsewhere)


def warn_unknown_field(
    name: str, place: FieldContext, *, names: frozenset[str], elsewhere: Mapping[str, str]
) -> None:
    """Tell the author that a field has no effect, and which one was probably meant."""
    shown = name if len(name) <= 60 else name[:57] + "..."
    near = elsewhere.get(name) or nearest_name(name, names)
    place.child(shown).warn(
        "unknown_field",
        f"{shown} is not a field here and has no effect",
        f"did you mean {near}?" if near else None,
    )


def json_type_name(value: object) -> str:
    """Return what sort of JSON a value is, with its article."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, str):
        return "a string"
    if isinstance(value, int | float):
        return "a number"
    return "an array" if isinstance(value, list | tuple) else "an object"
