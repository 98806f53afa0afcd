"""Warnings about unknown fields of a request, most of which are misspelled.

Routes of v1 do not refuse them, because clients send more fields than the service reads. Those
fields are listed in `EXTRA_FIELDS` of their model and cause no warning. A render stores its
warnings; the responses of other routes have them as `warnings` (`WarningRoute`).
"""

import json
from collections.abc import Callable, Coroutine, Iterator
from itertools import islice
from typing import Any, ClassVar, Final, get_args, get_origin

from fastapi import Request, Response
from fastapi.routing import APIRoute
from pydantic import AliasChoices, BaseModel, ConfigDict
from pydantic.fields import FieldInfo

from framekiln.kit.suggestions import did_you_mean

MAX_WARNINGS: Final = 20
_MAX_NAME_CHARS: Final = 60
NAMES_UNKNOWN: Final = "x-names-unknown-fields"
"""Marks the operations of the OpenAPI document for `describe_warnings`."""
_DESCRIBED: Final = {
    "title": "Warnings",
    "type": "array",
    "items": {"type": "string"},
    "description": "Fields of the request that have no effect, with the name that was probably"
    " meant. Absent when there are none.",
}


class RequestBody(BaseModel):
    """The body of a v1 request."""

    model_config = ConfigDict(extra="ignore")

    EXTRA_FIELDS: ClassVar[frozenset[str]] = frozenset()
    """Fields that published clients send and that have no effect."""


class WarningRoute(APIRoute):
    """A route whose response names fields without effect in `warnings`."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler, with warnings added to its response."""
        handle = super().get_route_handler()

        async def handle_and_warn(request: Request) -> Response:
            response = await handle(request)
            warnings = warnings_of(request)
            return _with_warnings(response, warnings) if warnings else response

        return handle_and_warn


def describe_warnings(document: dict[str, Any]) -> None:
    """Add the optional field `warnings` to responses of an OpenAPI document that may have it."""
    schemas = document["components"]["schemas"]
    for path_item in document["paths"].values():
        for operation in path_item.values():
            if operation.pop(NAMES_UNKNOWN, False):
                for name in _answers_of(operation):
                    schemas[name]["properties"].setdefault("warnings", _DESCRIBED)


def _answers_of(operation: dict[str, Any]) -> Iterator[str]:
    """Yield the names of the schemas of an operation's successful responses."""
    for status, answer in operation["responses"].items():
        content = answer.get("content", {}).get("application/json")
        if status.startswith("2") and content is not None:
            yield content["schema"]["$ref"].rpartition("/")[2]


def note_unknown_fields(request: Request, body: Any, model: type[BaseModel]) -> None:
    """Record the fields of a body that the model does not have."""
    # One more than the limit shows that there are more.
    found = list(islice(_unknown_in(body, model, ""), MAX_WARNINGS + 1))
    if len(found) > MAX_WARNINGS:
        found[MAX_WARNINGS:] = ["there are more fields that have no effect"]
    request.state.unknown_fields = found


def warnings_of(request: Request) -> list[str]:
    """Return the warnings about the fields of a request."""
    found: list[str] = getattr(request.state, "unknown_fields", [])
    return found


def _unknown_in(value: Any, kind: Any, path: str) -> Iterator[str]:
    """Yield a warning for each field that the type of its object does not have."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        yield from _unknown_of_model(value, kind, path)
    elif get_origin(kind) is list and isinstance(value, list):
        for number, each in enumerate(value):
            yield from _unknown_in(each, get_args(kind)[0], f"{path}{number}.")
    elif get_origin(kind) is dict and isinstance(value, dict):
        for name, each in value.items():
            yield from _unknown_in(each, get_args(kind)[1], f"{path}{_shown(name)}.")
    elif isinstance(value, dict | list):
        # Every other type is a union or annotation around one; every other value has no fields.
        for inner in get_args(kind):
            yield from _unknown_in(value, inner, path)


def _unknown_of_model(value: Any, model: type[BaseModel], path: str) -> Iterator[str]:
    if not isinstance(value, dict):
        return
    fields = {
        name: info.annotation
        for field, info in model.model_fields.items()
        for name in _names(field, info)
    }
    extra = model.EXTRA_FIELDS if issubclass(model, RequestBody) else frozenset()
    for name, each in value.items():
        if name in fields:
            yield from _unknown_in(each, fields[name], f"{path}{name}.")
        elif name not in extra:
            question = did_you_mean(name, fields)
            hint = f": {question}" if question else ""
            yield f"{path}{_shown(name)} is not a field of this request and has no effect{hint}"


def _names(field: str, info: FieldInfo) -> list[str]:
    """Return the names under which a field is read."""
    alias = info.validation_alias
    if isinstance(alias, AliasChoices):
        return [str(choice) for choice in alias.choices]
    return [alias if isinstance(alias, str) else field]


def _shown(name: str) -> str:
    return name if len(name) <= _MAX_NAME_CHARS else f"{name[:_MAX_NAME_CHARS]}..."


def _with_warnings(response: Response, warnings: list[str]) -> Response:
    """Put warnings before those that the response has."""
    answer = json.loads(bytes(response.body))
    answer["warnings"] = [*warnings, *answer.get("warnings", ())]
    response.body = json.dumps(answer, ensure_ascii=False, separators=(",", ":")).encode()
    response.headers["Content-Length"] = str(len(response.body))
    return response
