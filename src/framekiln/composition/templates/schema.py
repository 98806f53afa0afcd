"""The JSON Schema of a template's data, with an example."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from framekiln.composition.layers.numbers import as_json_number
from framekiln.composition.templates.patterns import compiled_pattern
from framekiln.composition.templates.rule_subject import number_of
from framekiln.composition.templates.rules import Rule
from framekiln.composition.templates.template import Template

_TYPES: Final = {
    "string": {"type": "string"},
    "numeric": {"type": "number"},
    "integer": {"type": "integer"},
    "boolean": {"type": "boolean"},
    "array": {"type": "array"},
    "json": {"type": "string", "contentMediaType": "application/json"},
    "date": {"type": "string", "format": "date-time"},
    "url": {"type": "string", "format": "uri"},
    "active_url": {"type": "string", "format": "uri"},
    "https": {"type": "string", "format": "uri", "pattern": "^https://"},
    "media": {"type": "string", "format": "uri"},
    "duration_max": {"type": "string", "format": "uri"},
    "email": {"type": "string", "format": "email"},
    "uuid": {"type": "string", "format": "uuid"},
    "ip": {"type": "string"},
    "color": {"type": "string"},
    "hex_color": {"type": "string", "pattern": "^#[0-9A-Fa-f]{3,8}$"},
    "alpha": {"type": "string"},
    "ascii": {"type": "string"},
}
_BOUNDS: Final = {
    "number": ("minimum", "maximum"),
    "integer": ("minimum", "maximum"),
    "string": ("minLength", "maxLength"),
    "array": ("minItems", "maxItems"),
}


def template_schema(template: Template) -> dict[str, Any]:
    """Return the JSON Schema of `data`, with defaults, and the default values as an example."""
    root: dict[str, Any] = {"type": "object", "properties": {}}
    for name, rules in template.inputs.rules.items():
        _place(root, name.split("."), rules)
    defaults = template.default_values.thaw()
    for name, value in defaults.items():
        root["properties"].setdefault(name, {})["default"] = value
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **root,
        "examples": [defaults],
    }


def _place(owner: dict[str, Any], parts: list[str], rules: tuple[Rule, ...]) -> None:
    part, rest = parts[0], parts[1:]
    if part == "*":
        owner["type"] = "array"
        inner = owner.setdefault("items", {})
    else:
        owner["type"] = "object"
        inner = owner.setdefault("properties", {}).setdefault(part, {})
    if rest:
        _place(inner, rest, rules)
        return
    # A type derived from nested names is more exact than `array`.
    inner.update({k: v for k, v in _described(rules).items() if not (k == "type" and k in inner)})
    if part != "*" and any(rule.name == "required" for rule in rules):
        owner.setdefault("required", []).append(part)


def _described(rules: tuple[Rule, ...]) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for rule in rules:
        schema |= _TYPES.get(rule.name, {})
    for rule in rules:
        if rule.name in _MORE:
            schema |= _MORE[rule.name](rule, schema)
    if any(rule.name == "nullable" for rule in rules) and "type" in schema:
        schema["type"] = [schema["type"], "null"]
    return schema


def _bound(rule: Rule, schema: Mapping[str, Any]) -> dict[str, Any]:
    names = _BOUNDS.get(schema.get("type", "string"))
    if names is None:
        return {}
    low, high = {
        "min": (0, None),
        "max": (None, 0),
        "between": (0, 1),
        "size": (0, 0),
    }[rule.name]
    bounds: dict[str, Any] = {}
    for name, at in zip(names, (low, high), strict=True):
        number = None if at is None else number_of(rule.arguments[at])
        if number is not None:
            bounds[name] = as_json_number(number)
    return bounds


def _choices(rule: Rule, schema: Mapping[str, Any]) -> dict[str, Any]:
    if schema.get("type") in ("number", "integer"):
        numbers = [number_of(word) for word in rule.arguments]
        return {"enum": [as_json_number(each) for each in numbers if each is not None]}
    return {"enum": list(rule.arguments)}


def _multiple(rule: Rule, _schema: Mapping[str, Any]) -> dict[str, Any]:
    number = number_of(rule.arguments[0])
    return {} if number is None or number <= 0 else {"multipleOf": as_json_number(number)}


_MORE: Final[dict[str, Callable[[Rule, Mapping[str, Any]], dict[str, Any]]]] = {
    "min": _bound,
    "max": _bound,
    "between": _bound,
    "size": _bound,
    "in": _choices,
    "regex": lambda rule, _: {"pattern": compiled_pattern(rule.arguments[0]).source},
    "multiple_of": _multiple,
    "distinct": lambda _rule, _schema: {"uniqueItems": True},
}
