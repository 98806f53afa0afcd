"""How the bodies of v2 look in the OpenAPI document: the same fields in three encodings."""

from typing import Any

from framekiln.api.bodies import REFERENCE
from framekiln.composition.layers.config_json import CONFIG_SCHEMA
from framekiln.composition.layers.json_schema import (
    EMPTY_ARRAY,
    Definitions,
    JsonSchema,
    any_of,
    or_null,
)

_TEXT: JsonSchema = {"type": "string"}
_OBJECT: JsonSchema = {"type": "object"}
_RULES: JsonSchema = {
    "type": "object",
    "description": "Rules by input: `required|string|max:20`, or an array of such words.",
    "additionalProperties": {"anyOf": [_TEXT, {"type": "array", "items": _TEXT}]},
}
_BINARY: JsonSchema = {"type": "string", "format": "binary"}


def or_text(schema: JsonSchema, *, what: str) -> JsonSchema:
    """Describe a value that is also read as JSON text."""
    return {"description": f"{what}, or the same as JSON text.", **any_of(schema, _TEXT)}


def config_body(
    properties: dict[str, JsonSchema], *, required: list[str], is_template: bool = False
) -> dict[str, Any]:
    """Return the `openapi_extra` of a route that reads a form with a layer config."""
    definitions = Definitions(REFERENCE.replace("{model}", "{name}"), is_template=is_template)
    config = CONFIG_SCHEMA.json_schema(definitions)
    extra = body(
        {"config": or_text(config, what="A layer config"), **properties}, required=required
    )
    extra["requestBody"]["content"]["application/json"]["schema"]["$defs"] = definitions.named
    return extra


def body(
    properties: dict[str, JsonSchema],
    *,
    required: list[str],
    files: dict[str, JsonSchema] | None = None,
) -> dict[str, Any]:
    """Return the `openapi_extra` of a route that reads a form."""
    fields = {"type": "object", "properties": properties, "required": required}
    as_text = {
        name: {"type": "string"} if "anyOf" in schema else schema
        for name, schema in properties.items()
    }
    texts = {**fields, "properties": as_text}
    with_files = {**texts, "properties": {**as_text, **(files or {})}}
    return {
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {"schema": fields},
                "application/x-www-form-urlencoded": {"schema": texts},
                "multipart/form-data": {"schema": with_files},
            },
        }
    }


_METADATA = or_text(any_of(_OBJECT, EMPTY_ARRAY), what="An object")
_VALUES = or_text(any_of(_OBJECT, EMPTY_ARRAY), what="Values by the names of inputs")

DESTINATIONS = or_null(
    or_text({"type": "array", "items": _OBJECT, "maxItems": 10}, what="Where copies are sent")
)

_INPUTS = or_text(any_of(_RULES, EMPTY_ARRAY), what="The inputs")

CREATE_TEMPLATE = config_body(
    {
        "name": {"type": "string", "minLength": 1, "maxLength": 255},
        "inputs": _INPUTS,
        "default_values": _VALUES,
        "destinations": DESTINATIONS,
    },
    required=["name", "config", "inputs", "default_values"],
    is_template=True,
)
CHECK_TEMPLATE = config_body(
    {"inputs": _INPUTS, "default_values": _VALUES, "data": or_null(_VALUES)},
    required=["config", "inputs", "default_values"],
    is_template=True,
)
# Ours alone, so there are no older clients that send it as a form.
for _kind in ("application/x-www-form-urlencoded", "multipart/form-data"):
    del CHECK_TEMPLATE["requestBody"]["content"][_kind]
_VERSION: JsonSchema = {
    "type": "integer",
    "minimum": 1,
    "description": "The version of the template; the newest if it is missing.",
}
RENDER_TEMPLATE = body(
    {"data": _VALUES, "version": _VERSION, "destinations": DESTINATIONS}, required=["data"]
)
CREATE_VIDEO = config_body(
    {"metadata": or_null(_METADATA), "destinations": DESTINATIONS}, required=["config"]
)
PLAN_VIDEO = config_body({}, required=["config"])
FRAME = config_body(
    {
        "t": {"type": "number", "minimum": 0, "description": "Seconds."},
        "format": {"type": "string", "enum": ["jpg", "png", "webp"]},
    },
    required=["config"],
)
PROBE_FILE = body(
    {
        "type": {"type": "string", "enum": ["video", "audio", "image"]},
        "url": {"type": "string"},
    },
    required=["type"],
    files={"file": _BINARY},
)
