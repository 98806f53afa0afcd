"""JSON bodies: what is read, what is refused, how they are described."""

import asyncio
import importlib
import json
import pkgutil
import sys
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from types import FrameType
from typing import Any

import pytest
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from framekiln import api
from framekiln.api.bodies import (
    LARGE_BODY_BYTES,
    MAX_DEPTH,
    MAX_ESCAPES,
    MAX_LONG_TEXT_BYTES,
    MAX_NAME_CHARS,
    MAX_OTHER_TEXT_CHARS,
    LongText,
    hoist_definitions,
    json_body,
    long_text_field,
    parse_json,
    read_json,
    read_json_value,
)
from framekiln.api.errors import MalformedJson
from framekiln.api.unknown_fields import RequestBody
from framekiln.kit.errors import TooLarge
from framekiln.kit.json_scan import MAX_PLAIN_VALUES


class Note(BaseModel):
    text: str = ""
    at: datetime | None = None


class Inner(BaseModel):
    note: Note


class Outer(BaseModel):
    inner: list[Inner]


def request_of(*chunks: bytes, headers: dict[str, str] | None = None) -> Request:
    waiting = [
        {"type": "http.request", "body": chunk, "more_body": number < len(chunks)}
        for number, chunk in enumerate(chunks, start=1)
    ]

    async def receive() -> Any:
        return waiting.pop(0)

    raw = [(name.lower().encode(), value.encode()) for name, value in (headers or {}).items()]
    scope = {"type": "http", "method": "POST", "path": "/", "headers": raw}
    return Request(scope, receive)


async def test_a_body_is_read_in_pieces() -> None:
    request = request_of(b'{"text": "a', b'b", "at": "2030-01-01T00:00:00Z"}')
    note = await read_json(request, Note, max_bytes=100)
    assert note.text == "ab"
    assert note.at is not None


@pytest.mark.parametrize("body", [b"", b" \r\n"])
async def test_no_body_is_an_empty_object(body: bytes) -> None:
    assert await read_json(request_of(body), Note, max_bytes=100) == Note()
    assert await read_json_value(request_of(body), max_bytes=100) == {}
    with pytest.raises(RequestValidationError):
        await read_json(request_of(body), Outer, max_bytes=100)


async def test_any_content_type_is_accepted() -> None:
    headers = {"Content-Type": "text/html"}
    request = request_of(b'{"text": "x"}', headers=headers)
    assert (await read_json(request, Note, max_bytes=100)).text == "x"


async def test_a_large_body_is_refused_while_it_arrives() -> None:
    request = request_of(b"x" * 60, b"x" * 60, b"never read")
    with pytest.raises(TooLarge) as caught:
        await read_json(request, Note, max_bytes=100)
    assert caught.value.details == {"limit_bytes": 100}
    assert (await request.receive())["body"] == b"never read"


async def test_a_body_with_a_large_content_length_is_not_read() -> None:
    request = request_of(b"never read", headers={"Content-Length": "101"})
    with pytest.raises(TooLarge):
        await read_json(request, Note, max_bytes=100)
    assert (await request.receive())["body"] == b"never read"


@pytest.mark.parametrize(
    "raw",
    [
        b"{",
        b"{'a': 1}",
        b'{"a": NaN}',
        b"[Infinity, -Infinity]",
        b"[1e999]",
        b"[-1e999]",
        b"[" + b"9" * 5000 + b"]",
        b'"\xff"',
        b'"\xed\xa0\x80"',
        b'"\\ud800"',
        b'{"\\udfff": 1}',
        b'"\\u0000"',
        b"\xef\xbb\xbf{}",
        b"[" * 100_000,
        b"[" * 100_000 + b"]" * 100_000,
        b'{"a":' * 80 + b"1" + b"}" * 80,
        b"{} {}",
    ],
)
def test_malformed_json_is_rejected(raw: bytes) -> None:
    with pytest.raises(MalformedJson) as caught:
        parse_json(raw)
    assert caught.value.message.startswith("the body ")


def test_depth_is_counted_exactly() -> None:
    levels = MAX_DEPTH - 1
    assert parse_json(b"[" * levels + b"1" + b"]" * levels)
    with pytest.raises(MalformedJson, match="nested"):
        parse_json(b"[" * (levels + 1) + b"1" + b"]" * (levels + 1))


@pytest.mark.parametrize("raw", [b"[" + b"{}," * 200_000 + b"{}]", b"[" * 300_000])
def test_bodies_with_too_many_values_are_refused(raw: bytes) -> None:
    with pytest.raises(TooLarge) as caught:
        parse_json(raw)
    assert caught.value.message == "the body contains more than 200000 values"
    assert caught.value.details == {"limit_values": 200_000}


@pytest.mark.parametrize(
    "values",
    [
        b"[" + b"1," * MAX_PLAIN_VALUES + b"1]",
        b"{" + b",".join(b'"%d":[]' % number for number in range(MAX_PLAIN_VALUES)) + b"}",
        b'[{"a":1},' + b"1," * MAX_PLAIN_VALUES + b"{}]",
    ],
    ids=["list", "object", "after an object"],
)
def test_a_list_or_object_with_too_many_values_is_refused(values: bytes) -> None:
    with pytest.raises(TooLarge, match="a list or an object of more than 50000 values") as caught:
        parse_json(values)
    assert caught.value.details == {"limit_values": MAX_PLAIN_VALUES}


def test_a_text_of_escapes_is_refused() -> None:
    assert parse_json(b'"' + rb"\n" * 1000 + b'"') == "\n" * 1000
    with pytest.raises(TooLarge, match="4194304 escapes"):
        parse_json(b'"' + rb"\n" * (MAX_ESCAPES + 1) + b'"')


def test_rows_have_as_many_values_as_all_values_allow() -> None:
    rows = parse_json(b"[" + b",".join([b'{"a":1,"b":"2"}'] * 60_000) + b"]")
    assert (len(rows), rows[-1]) == (60_000, {"a": 1, "b": "2"})


def test_the_parser_calls_python_for_each_object_and_integer() -> None:
    """Other threads can run then. It lets none run otherwise."""
    called: list[str] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            called.append(frame.f_code.co_name)

    sys.setprofile(note)
    try:
        parse_json(b'[{"a":1},{"b":[2,3]},{}]')
    finally:
        sys.setprofile(None)
    assert (called.count("_same"), called.count("_integer")) == (3, 3)


class Page(BaseModel):
    html: LongText | None = None
    at: datetime | None = None


async def test_a_long_text_is_read_without_pydantic() -> None:
    text = "x" * (1 << 20) + "\n\u00e9\U0001f525"
    raw = json.dumps({"html": text, "at": "2026-01-01T00:00:00Z"}).encode()
    read = await read_json(request_of(raw), Page, max_bytes=2 << 20)
    assert (read.html, read.at) == (text, datetime(2026, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize("html", ["", 1, ["x"], {"a": "b"}])
async def test_a_long_text_is_a_text_that_is_not_empty(html: object) -> None:
    with pytest.raises(RequestValidationError):
        await read_json(request_of(json.dumps({"html": html}).encode()), Page, max_bytes=100)


async def test_a_long_text_has_a_limit() -> None:
    limit = MAX_LONG_TEXT_BYTES
    raw = b'{"html":"' + b"x" * limit + b'"}'
    assert len((await read_json(request_of(raw), Page, max_bytes=2 * limit)).html or "") == limit
    raw = b'{"html":"' + "é".encode() * (limit // 2) + b'x"}'
    with pytest.raises(TooLarge, match=f"html is larger than {limit} bytes"):
        await read_json(request_of(raw), Page, max_bytes=2 * limit)


async def test_all_other_texts_together_have_a_lower_limit() -> None:
    """They are read and written by calls that keep the interpreter."""
    texts = ["x" * (MAX_OTHER_TEXT_CHARS // 4)] * 4
    raw = json.dumps({"html": "x" * MAX_OTHER_TEXT_CHARS, "a": {"b": texts}}).encode()
    assert (await read_json(request_of(raw), Page, max_bytes=len(raw))).html
    raw = json.dumps({"html": "x", "a": {"b": [*texts, "x"]}}).encode()
    with pytest.raises(TooLarge, match="the texts of the body have more than 4194304 characters"):
        await read_json(request_of(raw), Page, max_bytes=len(raw))


def models() -> list[type[BaseModel]]:
    """Return the bodies of all routes."""
    for module in pkgutil.walk_packages(api.__path__, f"{api.__name__}."):
        importlib.import_module(module.name)
    found, unread = [], list(RequestBody.__subclasses__())
    while unread:
        found.append(unread.pop())
        unread += found[-1].__subclasses__()
    return sorted(found, key=lambda model: model.__name__)


def test_only_pages_are_long_texts() -> None:
    long = {model.__name__: name for model in models() if (name := long_text_field(model))}
    assert long == {"CreateRender": "html"}


async def test_no_body_takes_a_text_that_is_longer_than_its_field() -> None:
    """A field was once validated by the first 64 KiB of its text."""
    checked = 0
    for model in models():
        for name, schema in model.model_json_schema()["properties"].items():
            longest = max(_max_lengths(schema), default=None)
            if longest is None:
                continue
            raw = json.dumps({name: "x" * max(longest + 1, 200_000)}).encode()
            with pytest.raises(RequestValidationError) as caught:
                await read_json(request_of(raw), model, max_bytes=1 << 20)
            assert ("body", name) in [error["loc"][:2] for error in caught.value.errors()], name
            checked += 1
    assert checked > 20


def _max_lengths(schema: dict[str, Any]) -> Iterator[int]:
    if "maxLength" in schema:
        yield schema["maxLength"]
    for each in schema.get("anyOf", ()):
        yield from _max_lengths(each)


def test_long_names_and_numbers_are_refused() -> None:
    assert parse_json(b'{"' + b"n" * MAX_NAME_CHARS + b'": 1}')
    with pytest.raises(MalformedJson, match="a name of more than 1000 characters"):
        parse_json(b'[{"' + b"n" * (MAX_NAME_CHARS + 1) + b'": 1}]')
    with pytest.raises(MalformedJson, match="a number of more than 1000 characters"):
        parse_json(b"[" + b"9" * 1001 + b"]")


async def test_a_large_body_is_parsed_off_the_event_loop() -> None:
    raw = json.dumps({"text": "x" * LARGE_BODY_BYTES}).encode()
    parsed = asyncio.create_task(read_json(request_of(raw), Note, max_bytes=1 << 20))
    await asyncio.sleep(0)
    assert not parsed.done()
    assert len((await parsed).text) == LARGE_BODY_BYTES


def test_escaped_surrogate_pairs_become_characters() -> None:
    assert parse_json(b'"\\ud83d\\udd25"') == "\U0001f525"


@given(st.binary(max_size=50))
def test_any_bytes_are_parsed_or_refused(raw: bytes) -> None:
    with suppress(MalformedJson):
        value = parse_json(raw)
        assert parse_json(json.dumps(value).encode()) == value


def test_bodies_are_described_with_references_that_resolve() -> None:
    app = FastAPI()

    @app.post("/outer", openapi_extra=json_body(Outer))
    async def create(request: Request) -> None: ...

    @app.post("/note", openapi_extra=json_body(Note))
    async def note(request: Request) -> None: ...

    document = app.openapi()
    hoist_definitions(document)
    body = document["paths"]["/outer"]["post"]["requestBody"]
    schema = body["content"]["application/json"]["schema"]
    assert body["required"] is True
    assert "$defs" not in schema
    assert schema["properties"]["inner"]["items"] == {"$ref": "#/components/schemas/Inner"}
    assert {"Inner", "Note"} <= set(document["components"]["schemas"])
    assert document["paths"]["/note"]["post"]["requestBody"]["required"] is False
