"""Bodies of v2: JSON, urlencoded or multipart, all read into named fields.

Clients differ in how they send the same thing; a value that is JSON may come as itself or as text.
Files of a multipart body go to disk as they come, and are gone when the request is over.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final
from urllib.parse import unquote_to_bytes

from fastapi import Request
from python_multipart.multipart import parse_options_header
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.types import Scope

from framekiln.api.bodies import parse_large_json, read_bytes
from framekiln.api.body_memory import count_body
from framekiln.api.errors import MalformedJson
from framekiln.composition.layers.findings import MAX_FINDINGS, ConfigFinding
from framekiln.kit.blank_text import NOT_BLANK, is_blank
from framekiln.kit.errors import InvalidInput, TooLarge
from framekiln.kit.suggestions import did_you_mean

MAX_FIELDS_BYTES: Final = 16 << 20
"""Single calls of C functions for so many bytes keep the interpreter for up to 80 ms."""
MAX_UPLOAD_BYTES: Final = 2 << 30
MAX_FILES: Final = 500
_MAX_FIELDS: Final = 2000
MAX_PERCENT_ESCAPES: Final = 1 << 20
"""Decoding each takes about a microsecond, in Python."""
_PIECE_BYTES: Final = 64 << 10
_CHARSETS: Final = {"utf-8", "utf8", "us-ascii"}
"""Python has others that take quadratic time, such as punycode."""


@dataclass(frozen=True)
class Form:
    """What was sent: values by name, and files by name."""

    values: Mapping[str, Any]
    files: Mapping[str, UploadFile] = field(default_factory=dict)

    async def json(self, name: str) -> Any:
        """Return a value that is JSON, also as text or as a file; None when it is absent."""
        value = self.values.get(name)
        if isinstance(value, str):
            raw = value.encode("utf-8", "surrogatepass")
        elif value is None and name in self.files:
            raw = await _content(self.files[name], name)
        else:
            return value
        try:
            return await parse_large_json(raw.strip()) if raw.strip() else None
        except MalformedJson as error:
            raise field_error(name, "type", error.message.replace("the body", name)) from error
        except TooLarge as error:
            message = error.message.replace("the body", name)
            raise TooLarge(message, field=name, **error.details) from error

    async def require_json(self, name: str) -> Any:
        """Return a value that is JSON, or raise that it is missing."""
        value = await self.json(name)
        if value is None:
            raise field_error(name, "required", f"{name} is missing")
        return value

    def require_text(self, name: str, *, longest: int) -> str:
        """Return a text that is not empty, or raise what is wrong with it."""
        value = self.values.get(name)
        if value is None:
            raise field_error(name, "required", f"{name} is missing")
        if not isinstance(value, str):
            raise field_error(name, "type", f"{name} must be a string")
        if not 0 < len(value) <= longest:
            raise field_error(name, "out_of_range", f"{name} must have 1 to {longest} characters")
        if is_blank(value):
            raise field_error(name, "pattern", f"{name} {NOT_BLANK}")
        if "\x00" in value:
            raise field_error(
                name, "type", f"{name} holds the character U+0000, which no text may have"
            )
        return value


async def _content(file: UploadFile, name: str) -> bytes:
    """Return a file that was sent as a field: `curl -F config=@config.json` does that."""
    if (file.size or 0) > MAX_FIELDS_BYTES:
        message = f"{name} is larger than {MAX_FIELDS_BYTES} bytes"
        raise TooLarge(message, field=name, limit_bytes=MAX_FIELDS_BYTES)
    return await file.read()


def unknown_fields(
    names: Iterable[str], known: Iterable[str], *, what: str
) -> tuple[ConfigFinding, ...]:
    """Return warnings about fields that have no effect in a body that is `what`."""
    known = frozenset(known)
    return tuple(
        ConfigFinding(
            name[:100],
            "unknown_field",
            f"{name[:100]} is not a field of {what}",
            did_you_mean(name, known),
        )
        for name in islice((name for name in names if name not in known), MAX_FINDINGS)
    )


def field_error(name: str, code: str, message: str) -> InvalidInput:
    """Return the error for one field."""
    issue = {"path": name, "code": code, "message": message}
    return InvalidInput(message, field=name, issues=[issue])


@asynccontextmanager
async def open_form(request: Request) -> AsyncIterator[Form]:
    """Read the body, whatever it is; JSON is what is not said to be anything else."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "multipart/form-data":
        async with _multipart(request) as form:
            yield form
    elif kind == "application/x-www-form-urlencoded":
        raw = await read_bytes(request, max_bytes=MAX_FIELDS_BYTES)
        # Some clients post JSON under the label that their library puts on everything.
        is_json = raw[:1] == b"{"
        yield Form(_object(await parse_large_json(raw)) if is_json else await _pairs(raw))
    else:
        raw = await read_bytes(request, max_bytes=MAX_FIELDS_BYTES)
        yield Form(_object(await parse_large_json(raw or b"{}")))


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise field_error("", "type", "the body must be an object")
    return value


async def _pairs(raw: bytes) -> dict[str, Any]:
    if raw.count(b"%") > MAX_PERCENT_ESCAPES:
        raise TooLarge(
            f"the body contains more than {MAX_PERCENT_ESCAPES} escapes: send JSON instead",
            limit_escapes=MAX_PERCENT_ESCAPES,
        )
    try:
        return await asyncio.to_thread(read_pairs, raw)
    except ValueError as error:
        raise field_error("", "type", "the body is not urlencoded UTF-8") from error


def read_pairs(raw: bytes) -> dict[str, Any]:
    """Return the fields of an urlencoded body; raises `ValueError` if it is not one."""
    fields = raw.split(b"&", _MAX_FIELDS)
    if len(fields) > _MAX_FIELDS:
        raise ValueError("there are too many fields")
    pairs = (field.partition(b"=") for field in fields if field)
    return {_unquoted(name): _unquoted(value) for name, _, value in pairs}


def _unquoted(text: bytes) -> str:
    """Decode in pieces: one call for all of it would let no other thread run."""
    pieces, start = [], 0
    while start < len(text):
        end = start + _PIECE_BYTES
        # Not inside of an escape.
        escape = text.rfind(b"%", end - 2, end)
        end = end if escape < 0 else escape
        pieces.append(unquote_to_bytes(text[start:end].replace(b"+", b" ")))
        start = end
    return b"".join(pieces).decode()


@asynccontextmanager
async def _multipart(request: Request) -> AsyncIterator[Form]:
    _check_charset(request)
    try:
        parser = _Parser(
            request.headers,
            _counted(request),
            max_files=MAX_FILES,
            max_fields=_MAX_FIELDS,
            # The parser counts all texts together, and names the limit.
            max_part_size=2 * MAX_FIELDS_BYTES,
        )
        parser.scope = request.scope
        data = await parser.parse()
    except MultiPartException as error:
        raise field_error("", "type", f"the body is not multipart: {error.message}") from error
    except (KeyError, UnicodeDecodeError) as error:
        raise field_error("", "type", "the body is not multipart: it names no boundary") from error
    try:
        values = {name: value for name, value in data.multi_items() if isinstance(value, str)}
        files = {name: value for name, value in data.multi_items() if isinstance(value, UploadFile)}
        yield Form(values, files)
    finally:
        await data.close()


def _check_charset(request: Request) -> None:
    _, parameters = parse_options_header(request.headers["content-type"])
    charset = parameters.get(b"charset", b"utf-8").decode("latin-1")
    if charset.lower() not in _CHARSETS:
        raise field_error("", "type", f"the charset {charset[:40]!r} is not allowed: use UTF-8")


class _Parser(MultiPartParser):
    """Caps what all texts take together: they are held in memory, unlike files."""

    scope: Scope
    _text_bytes = 0

    def on_part_data(self, data: bytes, start: int, end: int) -> None:
        super().on_part_data(data, start, end)
        if self._current_part.file is None:
            self._text_bytes += end - start
            if self._text_bytes > MAX_FIELDS_BYTES:
                raise TooLarge(
                    f"the fields are larger than {MAX_FIELDS_BYTES} bytes",
                    limit_bytes=MAX_FIELDS_BYTES,
                )
            count_body(self.scope, self._text_bytes)


async def _counted(request: Request) -> AsyncGenerator[bytes, None]:
    """Yield the body, and stop once it is too large."""
    size_bytes = 0
    async for chunk in request.stream():
        size_bytes += len(chunk)
        if size_bytes > MAX_UPLOAD_BYTES:
            raise TooLarge(
                f"the body is larger than {MAX_UPLOAD_BYTES} bytes", limit_bytes=MAX_UPLOAD_BYTES
            )
        yield chunk
