"""The three error shapes, whatever goes wrong."""

import json
import math
from collections.abc import AsyncIterator
from typing import Any, Literal

import httpx
import pytest
from fastapi import FastAPI, Request
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.requests import ClientDisconnect
from structlog.testing import capture_logs

from framekiln.api.bodies import read_json
from framekiln.api.errors import (
    Family,
    Problem,
    body_of,
    family_of,
    install_error_handlers,
    issue_of,
    problem_of,
    safe_json,
    write_problem,
)
from framekiln.api.middleware import RequestMiddleware
from framekiln.api.sse import EventStream
from framekiln.kit import errors

PREFIXES = {
    Family.V1: "/api/v1/renders",
    Family.V2: "/v2/videos",
    Family.PIPELINES: "/api/v1/pipeline-runs",
}


class Size(BaseModel):
    model_config = ConfigDict(extra="forbid")

    width: int = Field(ge=2)
    height: int = 10


class Order(BaseModel):
    size: Size
    name: str = ""


class NotUpstream(errors.InvalidInput):
    code = "invalid_definition"


class EngineBroke(errors.FramekilnError):
    code = "engine_broke"


RAISED: dict[str, Exception] = {
    "invalid": errors.InvalidInput("must be later than now", field="expires_at"),
    "issues": NotUpstream(
        "two steps are wrong",
        issues=[
            {"path": "steps.a.when", "code": "not_upstream"},
            {"path": "steps.b", "code": "cycle", "message": "b needs itself", "hint": "cut it"},
        ],
    ),
    "unauthenticated": errors.Unauthenticated("no key"),
    "missing": errors.NotFound("no such file", file_ids=["1"], error="mine"),
    "conflict": errors.Conflict("it is busy"),
    "large": errors.TooLarge("over 5 bytes", limit_bytes=5),
    "gone": errors.Gone("it expired"),
    "remote": errors.RemoteFailed("their server hung up"),
    "page": errors.CompositionFailed("the page shows nothing"),
    "later": errors.Unavailable("postgres at 10.0.0.7 is down", retry_after_s=9),
    "ours": EngineBroke("/var/lib/secret is unreadable", path="/var/lib/secret"),
    "bug": ZeroDivisionError("secret"),
    "strange": errors.Conflict(
        "half \ud800 a character", number=math.nan, huge=math.inf, big=10**5000, raw=b"\xff"
    ),
}


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    app = FastAPI(redirect_slashes=False)
    install_error_handlers(app)
    app.add_middleware(RequestMiddleware)
    for prefix in PREFIXES.values():

        @app.get(prefix + "/raise/{what}")
        async def fail(what: str) -> None:
            raise RAISED[what]

        @app.get(prefix + "/progress/{what}", response_class=EventStream)
        async def fail_stream(what: str) -> None:
            raise RAISED[what]

        @app.get(prefix + "/list")
        async def get_list(limit: int = 5) -> int:
            return limit

        @app.post(prefix)
        async def create(request: Request) -> int:
            return (await read_json(request, Order, max_bytes=1000)).size.width

    transport = httpx.ASGITransport(app)
    with capture_logs():
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            yield client


@pytest.mark.parametrize(
    ("path", "family"),
    [
        ("/v2", Family.V2),
        ("/v2/templates", Family.V2),
        ("/v2x", Family.V1),
        ("/api/v1/pipelines", Family.PIPELINES),
        ("/api/v1/pipeline-runs/1", Family.PIPELINES),
        ("/api/v1/files/1", Family.V1),
        ("/", Family.V1),
    ],
)
def test_path_selects_the_error_family(path: str, family: Family) -> None:
    assert family_of(path) is family


@pytest.mark.parametrize("family", Family)
@pytest.mark.parametrize(
    ("what", "status", "code"),
    [
        ("unauthenticated", 401, "unauthorized"),
        ("missing", 404, "not_found"),
        ("conflict", 409, "conflict"),
        ("gone", 410, "gone"),
        ("large", 413, "too_large"),
        ("page", 422, "composition_failed"),
        ("ours", 500, "engine_broke"),
        ("bug", 500, "internal_error"),
        ("remote", 502, "remote_failed"),
        ("later", 503, "unavailable"),
        ("strange", 409, "conflict"),
    ],
)
async def test_each_error_has_its_status_in_every_family(
    client: httpx.AsyncClient, family: Family, what: str, status: int, code: str
) -> None:
    answer = await client.get(f"{PREFIXES[family]}/raise/{what}")
    assert answer.status_code == status
    assert answer.json()["error"] == code
    assert answer.json()["message"]
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["cache-control"] == "no-store"
    assert ("www-authenticate" in answer.headers) == (status == 401)
    assert "remedy" in answer.json()


@pytest.mark.parametrize("family", [Family.V1, Family.V2])
async def test_details_are_added_to_the_fields_of_an_error(
    client: httpx.AsyncClient, family: Family
) -> None:
    body = (await client.get(f"{PREFIXES[family]}/raise/missing")).json()
    remedy = body.pop("remedy")
    assert remedy == "The routes are listed at /docs."
    assert body == {"error": "not_found", "message": "no such file", "file_ids": ["1"]}


async def test_retry_after_is_sent_as_a_header(client: httpx.AsyncClient) -> None:
    answer = await client.get("/api/v1/renders/raise/later")
    assert answer.headers["retry-after"] == "9"


@pytest.mark.parametrize("what", ["ours", "bug", "later"])
async def test_internal_errors_contain_the_request_id_and_no_more(
    client: httpx.AsyncClient, what: str
) -> None:
    headers = {"X-Request-Id": "req-17"}
    with capture_logs() as lines:
        answer = await client.get(f"/api/v1/renders/raise/{what}", headers=headers)
    assert [line["log_level"] for line in lines] == ["error", "info"]
    assert lines[0]["exc_info"]
    assert set(answer.json()) == {"error", "message", "remedy", "request_id"}
    assert "req-17" in answer.json()["message"]
    assert "secret" not in answer.text
    assert "10.0.0.7" not in answer.text
    assert answer.headers["x-request-id"] == "req-17"


async def test_details_that_json_cannot_hold_are_converted(client: httpx.AsyncClient) -> None:
    body = (await client.get("/api/v1/renders/raise/strange")).json()
    assert body["message"] == "half \ufffd a character"
    assert (body["number"], body["huge"]) == ("nan", "inf")
    assert body["big"] == "a very large number"


async def test_invalid_input_is_described_in_every_family(client: httpx.AsyncClient) -> None:
    v1 = await client.get("/api/v1/renders/raise/invalid")
    assert v1.status_code == 400
    assert v1.json() == {
        "error": "invalid_request",
        "message": "must be later than now",
        "field": "expires_at",
    }
    pipelines = await client.get("/api/v1/pipeline-runs/raise/issues")
    assert pipelines.status_code == 422
    assert pipelines.json() == {
        "error": "invalid_definition",
        "message": "two steps are wrong",
        "issues": [
            {"path": "steps.a.when", "code": "not_upstream"},
            {"path": "steps.b", "code": "cycle"},
        ],
    }
    v2 = await client.get("/v2/videos/raise/issues")
    assert v2.status_code == 422
    assert v2.json() == {
        "error": "invalid_request",
        "message": "two steps are wrong",
        "errors": {"steps.a.when": ["two steps are wrong"], "steps.b": ["b needs itself"]},
        "issues": [
            {"path": "steps.a.when", "code": "not_upstream", "hint": "two steps are wrong"},
            {"path": "steps.b", "code": "cycle", "hint": "cut it"},
        ],
    }


async def test_invalid_bodies_are_described_in_every_family(client: httpx.AsyncClient) -> None:
    wrong = {"size": {"width": 1, "depth": 3}, "name": 7}
    v1 = await client.post("/api/v1/renders", json=wrong)
    assert v1.status_code == 400
    assert v1.json()["error"] == "invalid_request"
    assert v1.json()["field"] == "size.width"
    assert v1.json()["message"].startswith("size.width: ")
    assert v1.json()["message"].endswith("(and 2 more)")
    found = [(issue["path"], issue["code"]) for issue in v1.json()["issues"]]
    assert found == [
        ("size.width", "out_of_range"),
        ("size.depth", "unknown_field"),
        ("name", "type"),
    ]
    pipelines = await client.post("/api/v1/pipeline-runs", json={})
    assert pipelines.status_code == 422
    assert pipelines.json()["issues"] == [{"path": "size", "code": "required"}]
    v2 = await client.post("/v2/videos", json={"size": {"width": "wide"}})
    assert v2.status_code == 422
    assert list(v2.json()["errors"]) == ["size.width"]
    assert v2.json()["issues"][0]["code"] == "type"


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("missing", "required"),
        ("extra_forbidden", "unknown_field"),
        ("literal_error", "unknown_value"),
        ("enum", "unknown_value"),
        ("string_pattern_mismatch", "pattern"),
        ("number_type", "type"),
        ("int_parsing", "type"),
        ("string_too_long", "out_of_range"),
        ("value_error", "invalid"),
        ("something_new_of_the_validator", "invalid"),
    ],
)
def test_issue_codes_are_not_those_of_pydantic(kind: str, code: str) -> None:
    assert issue_of({"type": kind, "loc": ("body", "a"), "msg": "m"}).code == code


@pytest.mark.parametrize(
    ("path", "family"),
    [
        ("/api/v1/pipeline-runs", Family.PIPELINES),
        ("/api/v1/files/stream", Family.PIPELINES),
        ("/api/v1/files/1/stream", Family.PIPELINES),
        ("/api/v1/files/1/stream/1/init", Family.PIPELINES),
        ("/api/v1/files/1/metadata", Family.PIPELINES),
        ("/api/v1/files/1/metadata/faces", Family.PIPELINES),
        ("/api/v1/files/1", Family.V1),
        ("/api/v1/files/1/streams", Family.V1),
        ("/api/v1/files/stream/upload", Family.V1),
        ("/api/v1/renders/1/metadata", Family.V1),
        ("/v2/videos", Family.V2),
    ],
)
def test_which_routes_belong_to_pipelines(path: str, family: Family) -> None:
    assert family_of(path) is family


async def test_invalid_query_parameters_are_named(client: httpx.AsyncClient) -> None:
    answer = await client.get("/api/v1/renders/list", params={"limit": "many"})
    assert answer.status_code == 400
    assert answer.json()["field"] == "limit"


@pytest.mark.parametrize("family", Family)
async def test_malformed_json_is_400_everywhere(client: httpx.AsyncClient, family: Family) -> None:
    answer = await client.post(PREFIXES[family], content=b'{"size": NaN}')
    assert answer.status_code == 400
    assert answer.json()["error"] == "invalid_json"


async def test_unknown_routes_and_methods(client: httpx.AsyncClient) -> None:
    unknown = await client.get("/api/v1/nothing")
    assert (unknown.status_code, unknown.json()["error"]) == (404, "not_found")
    method = await client.put("/api/v1/renders", content=b"")
    assert (method.status_code, method.json()["error"]) == (405, "method_not_allowed")
    assert method.headers["allow"] == "POST"


@pytest.mark.parametrize(("what", "status"), [("missing", 404), ("bug", 500), ("invalid", 400)])
async def test_stream_routes_answer_with_an_event(
    client: httpx.AsyncClient, what: str, status: int
) -> None:
    answer = await client.get(f"/api/v1/renders/progress/{what}")
    assert answer.status_code == status
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.text.startswith("event: error\ndata: ")
    assert "{" not in answer.text


async def test_a_disconnected_caller_gets_no_response() -> None:
    sent: list[Any] = []

    async def vanish(scope: Any, receive: Any, send: Any) -> None:
        raise ClientDisconnect

    async def receive() -> Any:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": []}
    await RequestMiddleware(vanish)(scope, receive, send)
    assert sent == []


async def test_an_error_during_a_response_aborts_the_connection() -> None:
    async def half(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise ZeroDivisionError

    client = httpx.AsyncClient(
        transport=httpx.ASGITransport(RequestMiddleware(half)), base_url="http://test"
    )
    async with client:
        with pytest.raises(ZeroDivisionError):
            await client.get("/")


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=True, allow_infinity=True)
    | st.text(st.characters(codec=None, exclude_categories=()))
    | st.binary(max_size=5),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.text(st.characters(codec=None, exclude_categories=())), inner)
        | st.frozensets(st.integers())
    ),
    max_leaves=10,
)


@settings(max_examples=50)
@given(anything)
def test_any_value_can_be_written(value: Any) -> None:
    text = json.dumps(safe_json(value), allow_nan=False, ensure_ascii=False)
    json.loads(text.encode())


@settings(max_examples=30)
@given(st.text(st.characters(codec=None, exclude_categories=())), anything)
def test_every_problem_can_be_encoded(text: str, value: Any) -> None:
    for family, path in PREFIXES.items():
        issue = {"path": text, "code": "x", "message": text}
        error = errors.InvalidInput(text, field=text, value=value, issues=[issue])
        problem = problem_of(error, family)
        answer = write_problem({"type": "http", "path": path}, problem)
        assert json.loads(bytes(answer.body))["error"] == "invalid_request"


def test_very_deep_details_are_truncated() -> None:
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]
    body = safe_json(body_of(Problem(409, "conflict", "deep", {"deep": deep}), Family.V1))
    assert "..." in json.dumps(body)


class Inner(BaseModel):
    side: int


class Body(BaseModel):
    name: str = Field("", max_length=5)
    fps: int = Field(30, ge=1)
    share: float = 0.0
    flag: bool = False
    kind: Literal["mp4", "webp"] = "mp4"
    tags: list[str] = Field([], min_length=1)
    facts: dict[str, str] = {}
    inner: Inner | None = None


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"name": 1}, "must be a string"),
        ({"name": "longer"}, "must have at most 5 characters"),
        ({"fps": 0}, "must be greater than or equal to 1"),
        ({"fps": "x"}, "must be a whole number"),
        ({"fps": 1.5}, "must be a whole number"),
        ({"fps": []}, "must be a whole number"),
        ({"share": "x"}, "must be a number"),
        ({"share": {}}, "must be a number"),
        ({"flag": "x"}, "must be true or false"),
        ({"flag": 2}, "must be true or false"),
        ({"kind": "gif"}, "must be 'mp4' or 'webp'"),
        ({"tags": 1}, "must be a list"),
        ({"tags": []}, "must have at least 1 item"),
        ({"facts": []}, "must be an object"),
        ({"inner": 1}, "must be an object"),
    ],
)
def test_what_a_field_must_be_is_described_in_plain_words(
    body: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValidationError) as refused:
        Body.model_validate(body)
    (error,) = refused.value.errors()
    assert issue_of(error).message == message


def test_missing_fields_and_unknown_types_are_described_in_plain_words() -> None:
    tags = "Input tag 'x' found using 'type' does not match any of the expected tags: 'a', 'b'"
    kinds = {
        "missing": ("Field required", "is missing"),
        "union_tag_not_found": ("Unable to extract tag using discriminator 'type'", "has no type"),
        "union_tag_invalid": (tags, "type: must be one of 'a', 'b'"),
    }
    for kind, (message, described) in kinds.items():
        assert issue_of({"type": kind, "loc": ("body", "a"), "msg": message}).message == described
