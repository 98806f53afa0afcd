"""How the bodies of v2 look in the OpenAPI document: the same fields in three encodings."""

from typing import Any

Schema = dict[str, Any]

JSON_OR_TEXT: Schema = {
    "description": "An object, or the same as JSON text.",
    "anyOf": [{"type": "object"}, {"type": "string"}],
}
CONFIG: Schema = {**JSON_OR_TEXT, "description": "A layer config: an object, or JSON text."}
BINARY: Schema = {"type": "string", "format": "binary"}


def body(
    properties: dict[str, Schema], *, required: list[str], files: dict[str, Schema] | None = None
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


CREATE_TEMPLATE = body(
    {
        "name": {"type": "string", "minLength": 1, "maxLength": 255},
        "config": CONFIG,
        "inputs": JSON_OR_TEXT,
        "default_values": JSON_OR_TEXT,
    },
    required=["name", "config", "inputs", "default_values"],
)
RENDER_TEMPLATE = body({"data": JSON_OR_TEXT}, required=["data"])
CREATE_VIDEO = body({"config": CONFIG, "metadata": JSON_OR_TEXT}, required=["config"])
PLAN_VIDEO = body({"config": CONFIG}, required=["config"])
FRAME = body(
    {
        "config": CONFIG,
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
    files={"file": BINARY},
)
