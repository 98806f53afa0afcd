"""Reading JSON bodies, and describing them in the OpenAPI document.

Clients send any content type or none, so the route decides what a body is and the content type is
ignored. A body that is too large is refused while it is read, not afterwards; JSON with too many
values, before it is parsed (`kit/json_scan`).
"""

import asyncio
import json
import math
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final, NoReturn, TypeVar

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from framekiln.api.body_memory import count_body
from framekiln.api.errors import MalformedJson
from framekiln.api.unknown_fields import NAMES_UNKNOWN, note_unknown_fields
from framekiln.kit.errors import TooLarge
from framekiln.kit.json_scan import (
    MAX_PLAIN_VALUES,
    NumberTooLong,
    TooManyValues,
    load_json,
    scan_json,
    text_chars,
)

MAX_DEPTH = 64
MAX_NAME_CHARS = 1000
LARGE_BODY_BYTES = 16 << 10
"""Larger bodies are parsed in a thread: 16 KiB of small values already take some milliseconds."""
MAX_LONG_TEXT_BYTES: Final = 16 << 20
MAX_OTHER_TEXT_CHARS: Final = 4 << 20
"""Of all texts together in a body that may have a `LongText`, without that."""
MAX_ESCAPES = 4 << 20
"""Backslashes: the parser takes several times as long for them as for other text."""
HEAD_BYTES = 16
"""The number of bytes that identify the type of a file."""
REFERENCE = "#/components/schemas/{model}"

Model = TypeVar("Model", bound=BaseModel)
Result = TypeVar("Result")


LongText = Annotated[str, Field(min_length=1, strict=True), "long"]
"""A text that pydantic does not read, because no other thread can run meanwhile.

A field has exactly the type `LongText | None`: with any other rule, pydantic reads all of it.
"""


class SuccessAnswer(BaseModel):
    """The response to a request that leaves nothing to describe, such as a deletion."""

    success: bool


async def read_json(request: Request, model: type[Model], *, max_bytes: int) -> Model:
    """Return the body as `model` and record its unknown fields; no body is `{}`.

    One field of the model may be a `LongText`.
    """
    raw = await read_bytes(request, max_bytes=max_bytes) or b"{}"

    def read() -> Model:
        value = parse_json(raw)
        note_unknown_fields(request, value, model)
        return _validate(value, raw, model)

    try:
        return await _run(read, len(raw))
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)
        raise RequestValidationError(
            [{**each, "loc": ("body", *each["loc"])} for each in found]
        ) from error


async def read_json_value(request: Request, *, max_bytes: int) -> Any:
    """Return the body as plain values, for routes with their own validation; no body is `{}`."""
    return await parse_large_json(await read_bytes(request, max_bytes=max_bytes) or b"{}")


async def read_bytes(request: Request, *, max_bytes: int) -> bytes:
    """Return the whole body, white space at its ends removed."""
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced) > max_bytes:
        raise _too_large(max_bytes)
    read = bytearray()
    async for chunk in request.stream():
        read += chunk
        if len(read) > max_bytes:
            raise _too_large(max_bytes)
        count_body(request.scope, len(read))
    return bytes(read).strip(b" \t\r\n")


async def read_to_file(
    request: Request, path: Path, *, max_bytes: int | Callable[[bytes], int]
) -> bytes:
    """Stream the body to a file, with constant memory; return its first bytes.

    The size limit can depend on the first bytes.
    """
    announced = request.headers.get("content-length", "")
    size_bytes, head = 0, b""
    with path.open("wb") as file:
        async for chunk in request.stream():
            size_bytes += len(chunk)
            head += chunk[: HEAD_BYTES - len(head)]
            allowed_bytes = max_bytes if isinstance(max_bytes, int) else max_bytes(head)
            expected_bytes = int(announced) if announced.isdecimal() else size_bytes
            if max(size_bytes, expected_bytes) > allowed_bytes:
                raise _too_large(allowed_bytes)
            await asyncio.to_thread(file.write, chunk)
    return head


async def parse_large_json(raw: bytes) -> Any:
    """Return the value of strict JSON of any length; the event loop keeps running."""
    return await _run(lambda: parse_json(raw), len(raw))


def parse_json(raw: bytes) -> Any:
    """Return the value of strict JSON: UTF-8, finite numbers, whole characters, not too deep."""
    if raw.count(b"\\") > MAX_ESCAPES:
        raise TooLarge(
            f"the body contains more than {MAX_ESCAPES} escapes: send text as UTF-8",
            limit_escapes=MAX_ESCAPES,
        )
    try:
        scan_json(raw, max_plain_values=MAX_PLAIN_VALUES)
        text = raw.decode()
    except TooManyValues as error:
        raise TooLarge(f"the body {error}", limit_values=error.max_values) from error
    except NumberTooLong as error:
        raise MalformedJson(f"the body {error}") from error
    except UnicodeDecodeError as error:
        raise MalformedJson(f"the body is not UTF-8: byte {error.start} is wrong") from error
    try:
        value = load_json(text, parse_constant=_refuse_constant, parse_float=_finite_float)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise MalformedJson(f"the body is not JSON: {error.msg} at {where}") from error
    except (RecursionError, ValueError) as error:
        raise MalformedJson(_reason(error)) from error
    _check_values(value, check_text="\\u" in text or "\x00" in text)
    return value


def json_body(model: Any, *, names_unknown: bool = True) -> dict[str, Any]:
    """Return the `openapi_extra` of a route that reads `model` with `read_json`.

    `names_unknown` says whether its response has warnings about unknown fields.
    """
    schema = TypeAdapter(model).json_schema(ref_template=REFERENCE)
    # One of several forms is there, whichever.
    is_required = bool(schema.get("required")) or "oneOf" in schema
    return schema_body(schema, is_required=is_required, names_unknown=names_unknown)


def schema_body(
    schema: dict[str, Any], *, is_required: bool = True, names_unknown: bool
) -> dict[str, Any]:
    """Return the `openapi_extra` of a route whose JSON body has this schema; see `json_body`."""
    content = {"application/json": {"schema": schema}}
    return {
        "requestBody": {"required": is_required, "content": content},
        NAMES_UNKNOWN: names_unknown,
    }


def hoist_definitions(document: dict[str, Any]) -> None:
    """Move the definitions of `json_body` from operations to the shared components."""
    shared: dict[str, Any] = document.setdefault("components", {}).setdefault("schemas", {})
    for path_item in document.get("paths", {}).values():
        for operation in path_item.values():
            for name, schema in _take_definitions(operation).items():
                # Two models of one name would describe each other's routes.
                assert shared.setdefault(name, schema) == schema, f"two schemas named {name}"


def _take_definitions(operation: Mapping[str, Any]) -> dict[str, Any]:
    content = operation.get("requestBody", {}).get("content", {})
    schema = content.get("application/json", {}).get("schema", {})
    definitions: dict[str, Any] = schema.pop("$defs", {})
    return definitions


def _validate(value: Any, raw: bytes, model: type[Model]) -> Model:
    """Validate from the text: pydantic reads dates and ids differently from Python values.

    A `LongText` is put in afterwards.
    """
    name = long_text_field(model)
    text = value.get(name) if isinstance(value, dict) else None
    if len(raw) > MAX_OTHER_TEXT_CHARS:
        _check_other_texts(value, text)
    if name is None or not isinstance(text, str) or not text:
        return model.model_validate_json(raw)
    if len(text.encode()) > MAX_LONG_TEXT_BYTES:
        raise TooLarge(
            f"{name} is larger than {MAX_LONG_TEXT_BYTES} bytes",
            field=name,
            limit_bytes=MAX_LONG_TEXT_BYTES,
        )
    validated = model.model_validate_json(json.dumps({**value, name: text[0]}))
    return validated.model_copy(update={name: text})


@cache
def long_text_field(model: type[BaseModel]) -> str | None:
    """Return the name of the field that is a `LongText`, if there is one."""
    fields = model.model_fields.items()
    names = [name for name, info in fields if info.annotation == LongText | None]
    assert len(names) <= 1, names
    return names[0] if names else None


def _check_other_texts(value: Any, long_text: object) -> None:
    """Refuse what is as long as a page, but is not one."""
    long_chars = len(long_text) if isinstance(long_text, str) else 0
    if text_chars(value) > MAX_OTHER_TEXT_CHARS + long_chars:
        raise TooLarge(
            f"the texts of the body have more than {MAX_OTHER_TEXT_CHARS} characters",
            limit_characters=MAX_OTHER_TEXT_CHARS,
        )


async def _run(function: Callable[[], Result], size_bytes: int) -> Result:
    """Call a function here, or in a thread if the body is large."""
    return function() if size_bytes <= LARGE_BODY_BYTES else await asyncio.to_thread(function)


def _check_values(value: Any, *, check_text: bool) -> None:
    """Check level by level, so that the check itself does not recurse too deeply."""
    level = [value]
    for _ in range(MAX_DEPTH):
        below: list[Any] = []
        for each in level:
            if isinstance(each, dict):
                if max(map(len, each), default=0) > MAX_NAME_CHARS:
                    raise MalformedJson(
                        f"the body contains a name of more than {MAX_NAME_CHARS} characters"
                    )
                below += each.values()
                below += each if check_text else ()
            elif isinstance(each, list):
                below += each
            elif check_text and isinstance(each, str):
                _check_text(each)
        if not below:
            return
        level = below
    raise MalformedJson(f"the body is nested deeper than {MAX_DEPTH} levels")


def _check_text(text: str) -> None:
    if "\x00" in text:
        raise MalformedJson("the body contains the character U+0000, which is not allowed")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise MalformedJson("the body contains a lone surrogate: \\ud800..\\udfff") from error


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"the body is not JSON: {name} is not a JSON number")


def _finite_float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("the body contains a number that is too large")
    return number


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return f"the body is nested deeper than {MAX_DEPTH} levels"
    # Python's message about a number with thousands of digits does not help the caller.
    text = str(error)
    return text if text.startswith("the body") else "the body contains a number that is too long"


def _too_large(max_bytes: int) -> TooLarge:
    return TooLarge(f"the body is larger than {max_bytes} bytes", limit_bytes=max_bytes)
