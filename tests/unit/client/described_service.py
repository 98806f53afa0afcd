"""Stands in for the service: answers each request as its OpenAPI document describes."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import httpx

_METHODS: Final = ("get", "post", "put", "patch", "delete")
_UNENDED: Final = {"created", "pending", "queued", "running", "receiving", "processing"}
_EVENTS: Final = 'event: changed\ndata: {}\n\nevent: progress\ndata: {"progress": 1}\n\n'
_LAST_EVENT: Final = "event: complete\ndata: {}\n\n"
_SAMPLES: Final[dict[str | None, Any]] = {
    "integer": 1,
    "number": 1.0,
    "boolean": True,
    "null": None,
}


def operations_of(document: Mapping[str, Any]) -> set[str]:
    """Return all operations of a document, such as `GET /api/v1/files`."""
    return {
        f"{method.upper()} {path}"
        for path, methods in document["paths"].items()
        for method in methods
        if method in _METHODS
    }


@dataclass
class DescribedService:
    """Notes the operations that were asked for; `answers` are given instead of samples."""

    document: Mapping[str, Any]
    answers: dict[str, dict[str, Any]] = field(default_factory=dict)
    asked: set[str] = field(default_factory=set)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        path = self._path_of(request.url.path)
        operation = f"{request.method} {path}"
        self.asked.add(operation)
        if operation in self.answers:
            return httpx.Response(200, json=self.answers[operation])
        described = self.document["paths"][path][request.method.lower()]["responses"]
        status = next(each for each in sorted(described) if each.startswith("2"))
        content = described[status].get("content", {})
        if "text/event-stream" in content:
            return httpx.Response(200, text=_EVENTS + _LAST_EVENT)
        if "application/json" not in content:
            return httpx.Response(int(status), content=b"content")
        sample = self._sample(content["application/json"].get("schema", {}))
        return httpx.Response(int(status), content=json.dumps(sample).encode())

    def _path_of(self, path: str) -> str:
        """Return the path of the document; one without parameters is preferred."""
        for known in sorted(self.document["paths"], key=lambda each: (each.count("{"), -len(each))):
            if re.fullmatch(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(known)), path):
                return str(known)
        raise AssertionError(f"the document has no {path}")

    def _sample(self, schema: Mapping[str, Any], name: str = "") -> Any:
        if "$ref" in schema:
            return self._sample(self.document["components"]["schemas"][schema["$ref"][21:]], name)
        if choices := schema.get("anyOf") or schema.get("oneOf"):
            is_null = name in ("next_cursor", "error") and {"type": "null"} in choices
            return None if is_null else self._sample(choices[0], name)
        if values := [schema["const"]] if "const" in schema else schema.get("enum"):
            return next((each for each in values if each not in _UNENDED), values[0])
        if schema.get("type") == "array":
            return [self._sample(schema.get("items", {}))]
        if properties := schema.get("properties"):
            # Only what failed has an error.
            given = {key: part for key, part in properties.items() if key != "error"}
            if "error" in schema.get("required", ()):
                given["error"] = properties["error"]
            return {each: self._sample(part, each) for each, part in given.items()}
        return name if schema.get("type") == "string" else _SAMPLES.get(schema.get("type"), {})
