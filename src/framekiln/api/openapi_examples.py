"""Examples and events of the OpenAPI document. Tests send every example to the service."""

from collections.abc import Mapping
from typing import Any, Final

from framekiln.webhooks.topics import TOPICS, Topic

_LAYERS: Final[list[dict[str, Any]]] = [
    {
        "id": "title",
        "type": "text",
        "text": {"text": "Hello {{ name }}"},
        "position": {"x": "center", "y": "center"},
    }
]
_CONFIG: Final = {
    "dimensions": {"width": 1280, "height": 720},
    "duration": 4,
    "backgroundColor": "#102030",
    "layers": [{**_LAYERS[0], "text": {"text": "Hello"}}],
}
_TEMPLATE: Final = {
    "config": {**_CONFIG, "layers": _LAYERS},
    "inputs": {"name": "required|string|max:40"},
    "default_values": {"name": "you"},
}

EXAMPLES: Final[Mapping[str, Any]] = {
    "/api/v1/renders": {
        "html": '<body style="background: teal"><h1>Hello</h1>',
        "width": 1280,
        "height": 720,
        "fps": 30,
        "duration_ms": 2000,
    },
    "/api/v1/files": {"filename": "clip.mp4", "type": "video", "byte_size": 1048576},
    "/api/v1/pipelines": {
        "name": "check and publish",
        "definition": {
            "steps": {
                "facts": {"type": "probe"},
                "check": {
                    "type": "review",
                    "needs": ["facts"],
                    "with": {"instructions": "May it be shown?"},
                },
                "out": {"type": "publish", "needs": ["check"]},
            }
        },
    },
    "/api/v1/webhooks": {
        "url": "https://hooks.example.com/framekiln",
        "events": ["render.*", "file.ready"],
    },
    "/v2/videos/new": {"config": _CONFIG, "metadata": {"order": "42"}},
    "/v2/videos/plan": {"config": _CONFIG},
    "/v2/templates": {"name": "Greeting", **_TEMPLATE},
    "/v2/templates/check": {**_TEMPLATE, "data": {"name": "Ada"}},
    "/v2/templates/{template_id}/render": {"data": {"name": "Ada"}},
}
"""The body of POST, by path."""


def add_examples(document: dict[str, Any]) -> None:
    """Add the examples to the bodies of their routes."""
    for path, example in EXAMPLES.items():
        body = document["paths"][path]["post"]["requestBody"]
        body["content"]["application/json"]["example"] = example


def describe_events(document: dict[str, Any]) -> None:
    """Add the events that webhooks receive."""
    document["webhooks"] = {topic.name: {"post": _event(topic)} for topic in TOPICS.values()}


def _event(topic: Topic) -> dict[str, Any]:
    message = {"topic": topic.name, "data": topic.sample}
    schema = {
        "type": "object",
        "required": ["topic", "data"],
        "properties": {"topic": {"const": topic.name}, "data": _schema_of(topic.sample)},
    }
    content = {"application/json": {"schema": schema, "example": message}}
    return {
        "operationId": f"event_{topic.name.replace('.', '_')}",
        "tags": ["events"],
        "summary": topic.meaning,
        "requestBody": {"required": True, "content": content},
        "responses": {"2XX": {"description": "The event was received"}},
    }


def _schema_of(sample: Any) -> dict[str, Any]:
    """Describe a sample; a field that is null in it may have any value."""
    if isinstance(sample, Mapping):
        properties = {name: _schema_of(value) for name, value in sample.items()}
        return {"type": "object", "properties": properties}
    if isinstance(sample, bool):
        return {"type": "boolean"}
    if isinstance(sample, int | float):
        return {"type": ["number", "null"]}
    if isinstance(sample, str):
        return {"type": ["string", "null"]}
    return {"type": "array"} if isinstance(sample, list | tuple) else {}
