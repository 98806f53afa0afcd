"""Builds the JSON Schema of layer configs (draft 2020-12) from the field types.

A schema is never stricter than the reader, except for case: the reader also accepts enumerated
texts in other cases.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

JsonSchema = dict[str, Any]

EMPTY_ARRAY: Final[JsonSchema] = {"type": "array", "maxItems": 0}
"""Some languages encode an empty object like this."""
_NULL: Final = "null"
_LIQUID: Final[JsonSchema] = {"type": "string"}


@dataclass
class Definitions:
    """The named schemas of one document; `reference` is the URL of one in it.

    In a template, any value may be text that is filled in later, and text may be a number.
    """

    reference: str = "#/$defs/{name}"
    is_template: bool = False
    named: dict[str, JsonSchema] = field(default_factory=dict)

    def refer(self, name: str, describe: Callable[[], JsonSchema]) -> JsonSchema:
        """Return a reference to a named schema, which is described on first use."""
        name = f"Template{name}" if self.is_template else name
        if name not in self.named:
            self.named[name] = {}  # Registered first: groups may contain groups.
            self.named[name] = {"title": name, **describe()}
        return {"$ref": self.reference.format(name=name)}

    def object_of(
        self,
        properties: Mapping[str, JsonSchema],
        *,
        required: Sequence[Sequence[str]] = (),
        tag: Mapping[str, JsonSchema] | None = None,
    ) -> JsonSchema:
        """Describe an object; one name of each of `required` must be present.

        `tag` is the field that distinguishes several objects.
        """
        tag = tag or {}
        needed = [names[0] for names in required if len(names) == 1]
        choices = [names for names in required if len(names) > 1]
        described: JsonSchema = {"type": "object", "properties": dict(tag)}
        for name, schema in properties.items():
            value = self.filled_later(schema)
            described["properties"][name] = value if name in needed else or_null(value)
        if tag or needed:
            described["required"] = [*tag, *needed]
        if choices:
            described["allOf"] = [
                {"anyOf": [{"required": [name]} for name in names]} for names in choices
            ]
        return described

    def one_of(self, tag: str, variants: Sequence[JsonSchema]) -> JsonSchema:
        """Describe an object whose field `tag` selects one of several schemas."""
        if not self.is_template:
            return {"oneOf": list(variants)}
        placeholder = {"type": "string", "pattern": r"\{[{%]"}
        unknown = {"type": "object", "properties": {tag: placeholder}, "required": [tag]}
        return {"oneOf": [*variants, unknown]}

    def optional(self, schema: JsonSchema) -> JsonSchema:
        """Describe a field that may be null, which is the same as absent."""
        return or_null(self.filled_later(schema))

    def filled_later(self, schema: JsonSchema) -> JsonSchema:
        """Describe a value that may be filled in later if this is a template."""
        return any_of(schema, _LIQUID) if self.is_template else schema

    def text(self, **limits: Any) -> JsonSchema:
        """Describe text; in a filled template, numbers and booleans count as text."""
        kinds = ["string", "number", "boolean"] if self.is_template else "string"
        return {"type": kinds, **limits}


def any_of(*schemas: JsonSchema) -> JsonSchema:
    """Describe a value that matches one of several schemas."""
    inner = [each["anyOf"] if set(each) == {"anyOf"} else [each] for each in schemas]
    return {"anyOf": [schema for several in inner for schema in several]}


def or_null(schema: JsonSchema) -> JsonSchema:
    """Describe a value that may be null."""
    kind = schema.get("type")
    if isinstance(kind, str) and "enum" not in schema:
        return {**schema, "type": [kind, _NULL]}
    return any_of(schema, {"type": _NULL})
