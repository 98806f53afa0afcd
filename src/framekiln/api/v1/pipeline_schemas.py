"""OpenAPI schemas of request bodies, derived from the records that parse them."""

from dataclasses import MISSING, fields
from typing import Any, get_args, get_type_hints

from framekiln.pipelines.schema.records import ListOf
from framekiln.pipelines.schema.shapes import Identifier, Text, WholeNumber
from framekiln.pipelines.services.requests import MAX_HEADERS, Headers, RequestRecord

DEFINITION: dict[str, Any] = {
    "type": "object",
    "description": "The steps of a pipeline; see docs/api/pipelines.md.",
    "required": ["steps"],
    "properties": {"steps": {"type": "object"}},
}


def record_body(record: type[RequestRecord], **more: dict[str, Any]) -> dict[str, Any]:
    """Return the `openapi_extra` of a route that reads `record`, and more properties."""
    return described_body(schema_of(record, more))


def described_body(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the `openapi_extra` of a route whose body has this schema."""
    return {
        "requestBody": {
            "required": bool(schema.get("required")),
            "content": {"application/json": {"schema": schema}},
        }
    }


def schema_of(
    record: type[RequestRecord], more: dict[str, dict[str, Any]] | None = None
) -> dict[str, Any]:
    """Return the JSON schema of a record."""
    hints = get_type_hints(record, include_extras=True)
    properties, required = dict(more or {}), list(more or {})
    for each in fields(record):
        shape = _schema(get_args(hints[each.name])[1])
        if each.default is None:
            shape = {"anyOf": [shape, {"type": "null"}]}
        elif each.default is MISSING:
            required.append(each.name)
        else:
            shape["default"] = each.default
        properties[each.name] = shape
    return {
        "type": "object",
        "properties": properties,
        "required": sorted(required),
        "additionalProperties": False,
    }


def _schema(shape: Any) -> dict[str, Any]:
    match shape:
        case WholeNumber(minimum, maximum):
            return {"type": "integer", "minimum": minimum, "maximum": maximum}
        case Text(maximum, minimum):
            limits = {"minLength": minimum, "maxLength": maximum}
            return {"type": "string", **{key: each for key, each in limits.items() if each}}
        case Identifier():
            return {"type": "string", "format": "uuid"}
        case Headers():
            texts = {"type": "string"}
            return {"type": "object", "additionalProperties": texts, "maxProperties": MAX_HEADERS}
        case ListOf(record, maximum, minimum):
            items = schema_of(record)
            return {"type": "array", "items": items, "minItems": minimum, "maxItems": maximum}
    raise AssertionError(f"no schema for {shape!r}")
