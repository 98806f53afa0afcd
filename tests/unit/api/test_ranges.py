"""Byte ranges: the parser, and answers over a real store."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx
import pytest
from fastapi import FastAPI, Request
from fastapi.responses import Response
from hypothesis import given
from hypothesis import strategies as st

from framekiln.api.errors import install_error_handlers
from framekiln.api.ranges import (
    ByteSpan,
    Unsatisfiable,
    blob_response,
    content_disposition,
    parse_range,
)
from framekiln.storage.blob_store import memory_blob_store
from framekiln.storage.keys import TrackedKey

CONTENT = bytes(range(256)) * 40
MODIFIED = datetime(2030, 1, 1, 12, 0, 0, 500_000, tzinfo=UTC)
MODIFIED_TEXT = "Tue, 01 Jan 2030 12:00:00 GMT"


@pytest.mark.parametrize(
    ("header", "size", "expected"),
    [
        ("bytes=0-9", 100, ByteSpan(0, 10)),
        ("bytes=0-", 100, ByteSpan(0, 100)),
        ("bytes=99-", 100, ByteSpan(99, 100)),
        ("bytes=10-999", 100, ByteSpan(10, 100)),
        ("bytes=-10", 100, ByteSpan(90, 100)),
        ("bytes=-999", 100, ByteSpan(0, 100)),
        ("BYTES=0-0", 100, ByteSpan(0, 1)),
        (" bytes= 5-6 ", 100, ByteSpan(5, 7)),
        ("bytes=,5-6,", 100, ByteSpan(5, 7)),
        ("bytes=100-", 100, Unsatisfiable()),
        ("bytes=-0", 100, Unsatisfiable()),
        ("bytes=0-", 0, Unsatisfiable()),
        ("bytes=200-300,400-", 100, Unsatisfiable()),
        ("bytes=-5", 0, None),
        ("bytes=9-5", 100, None),
        ("bytes=-", 100, None),
        ("bytes=", 100, None),
        ("bytes=a-b", 100, None),
        ("bytes=+1-2", 100, None),
        ("bytes=1-2-3", 100, None),
        ("bytes=\u0661-\u0662", 100, None),
        ("bytes=" + "9" * 5000 + "-", 100, None),
        ("items=0-9", 100, None),
        ("0-9", 100, None),
        ("bytes=0-1,5-6", 100, None),
        ("bytes=0-1,nonsense", 100, None),
        ("bytes=" + "0-1," * 1000, 100, None),
    ],
)
def test_range_headers_are_parsed(
    header: str, size: int, expected: ByteSpan | Unsatisfiable | None
) -> None:
    assert parse_range(header, size) == expected


@given(st.integers(0, 10**12), st.integers(0, 10**12), st.integers(0, 10**12))
def test_a_range_equals_a_python_slice(first: int, length: int, size: int) -> None:
    last = first + length
    span = parse_range(f"bytes={first}-{last}", size)
    expected = range(size)[first : last + 1]
    if not expected:
        assert span == Unsatisfiable()
    else:
        assert span == ByteSpan(expected[0], expected[-1] + 1)


@given(st.integers(1, 10**12), st.integers(1, 10**12))
def test_a_suffix_range_equals_a_python_slice(length: int, size: int) -> None:
    expected = range(size)[-length:]
    assert parse_range(f"bytes=-{length}", size) == ByteSpan(expected[0], size)


@given(st.text(max_size=40), st.integers(0, 1000))
def test_no_header_breaks_the_parser(text: str, size: int) -> None:
    for header in (text, f"bytes={text}"):
        span = parse_range(header, size)
        if isinstance(span, ByteSpan):
            assert 0 <= span.start < span.end <= size


@given(st.text(max_size=40))
def test_no_filename_breaks_the_header(filename: str) -> None:
    header = content_disposition(filename)
    assert header.isascii()
    assert header.isprintable()
    assert header.count('"') == 2


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    blobs = memory_blob_store()
    await blobs.put(TrackedKey("film"), CONTENT)
    await blobs.put(TrackedKey("empty"), b"")
    app = FastAPI()
    install_error_handlers(app)

    @app.api_route("/{key}", methods=["GET", "HEAD"])
    async def download(request: Request, key: str) -> Response:
        return await blob_response(
            request,
            blobs,
            key,
            media_type="video/mp4",
            filename="m\u00fcll.mp4",
            etag="v1",
            last_modified=MODIFIED,
        )

    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        yield client


async def test_without_a_range_all_bytes_are_sent(client: httpx.AsyncClient) -> None:
    answer = await client.get("/film")
    assert answer.status_code == 200
    assert answer.content == CONTENT
    assert answer.headers["content-length"] == str(len(CONTENT))
    assert answer.headers["content-type"] == "video/mp4"
    assert answer.headers["accept-ranges"] == "bytes"
    assert answer.headers["etag"] == '"v1"'
    assert answer.headers["last-modified"] == MODIFIED_TEXT
    assert "filename*=UTF-8''m%C3%BCll.mp4" in answer.headers["content-disposition"]


async def test_one_range_is_answered_with_206(client: httpx.AsyncClient) -> None:
    answer = await client.get("/film", headers={"Range": "bytes=300-1299"})
    assert answer.status_code == 206
    assert answer.content == CONTENT[300:1300]
    assert answer.headers["content-range"] == f"bytes 300-1299/{len(CONTENT)}"
    assert answer.headers["content-length"] == "1000"


async def test_several_ranges_return_the_whole(client: httpx.AsyncClient) -> None:
    answer = await client.get("/film", headers={"Range": "bytes=0-1,5-6"})
    assert answer.status_code == 200
    assert answer.content == CONTENT


async def test_a_range_beyond_the_end_is_416(client: httpx.AsyncClient) -> None:
    answer = await client.get("/film", headers={"Range": f"bytes={len(CONTENT)}-"})
    assert answer.status_code == 416
    assert answer.headers["content-range"] == f"bytes */{len(CONTENT)}"
    assert answer.json()["error"] == "range_not_satisfiable"


async def test_head_returns_the_full_size(client: httpx.AsyncClient) -> None:
    answer = await client.head("/film", headers={"Range": "bytes=0-1"})
    assert answer.status_code == 200
    assert answer.content == b""
    assert answer.headers["content-length"] == str(len(CONTENT))
    assert answer.headers["content-type"] == "video/mp4"


@pytest.mark.parametrize(
    "headers",
    [
        {"If-None-Match": '"v1"'},
        {"If-None-Match": 'W/"v0", W/"v1"'},
        {"If-None-Match": "*"},
        {"If-Modified-Since": MODIFIED_TEXT},
        {"If-None-Match": '"v1"', "Range": "bytes=0-1"},
    ],
)
async def test_a_matching_etag_is_answered_with_304(
    client: httpx.AsyncClient, headers: dict[str, str]
) -> None:
    answer = await client.get("/film", headers=headers)
    assert answer.status_code == 304
    assert answer.content == b""
    assert answer.headers["etag"] == '"v1"'


@pytest.mark.parametrize(
    "headers",
    [
        {"If-None-Match": '"v2"'},
        {"If-None-Match": "v1"},
        {"If-None-Match": '"v2"', "If-Modified-Since": MODIFIED_TEXT},
        {"If-Modified-Since": "yesterday"},
        pytest.param(
            {"If-Modified-Since": "1 Jan 99999999999999999999 00:00:00 GMT"},
            marks=pytest.mark.fuzz_find("conditions"),
        ),
        {"If-Modified-Since": format_datetime(MODIFIED - timedelta(days=1), usegmt=True)},
    ],
)
async def test_a_changed_etag_returns_the_content(
    client: httpx.AsyncClient, headers: dict[str, str]
) -> None:
    assert (await client.get("/film", headers=headers)).status_code == 200


@pytest.mark.parametrize(
    ("if_range", "status"),
    [
        ('"v1"', 206),
        (MODIFIED_TEXT, 206),
        ('W/"v1"', 200),
        ('"v0"', 200),
        ("Tue, 01 Jan 2030 11:59:59 GMT", 200),
        ("nonsense", 200),
    ],
)
async def test_if_range_requires_the_same_version(
    client: httpx.AsyncClient, if_range: str, status: int
) -> None:
    headers = {"Range": "bytes=0-1", "If-Range": if_range}
    assert (await client.get("/film", headers=headers)).status_code == status


async def test_an_empty_blob_is_returned(client: httpx.AsyncClient) -> None:
    assert (await client.get("/empty")).content == b""
    assert (await client.get("/empty", headers={"Range": "bytes=-5"})).status_code == 200
    assert (await client.get("/empty", headers={"Range": "bytes=0-"})).status_code == 416


async def test_a_missing_blob_is_404(client: httpx.AsyncClient) -> None:
    answer = await client.get("/nothing")
    assert answer.status_code == 404
    assert answer.json()["error"] == "content_not_found"
