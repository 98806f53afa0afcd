"""The tools for agents, called through the SDK's own client; the service is prepared responses."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from framekiln.client import AsyncClient

# Takes a second to import: only who runs these tests has to, not who collects them.
if TYPE_CHECKING:
    from mcp.client import Client as AgentSession
    from mcp_types import CallToolResult

LOCAL = {"upload_file", "fetch"}
TOOLS = {
    "check_composition",
    "look_at_frame",
    "render",
    "list_templates",
    "follow",
    "list_files",
    "transcribe",
    "list_pipelines",
    "run_pipeline",
    "read_outputs",
    *LOCAL,
}
VIDEO = {"id": "v", "is_ready": False, "is_failed": False, "metadata": {}, "progress": 0.25}
ENDED = "event: complete\ndata: {}\n\n"


class PreparedService:
    """Gives prepared responses, one after the other, and records requests."""

    def __init__(self, *answers: httpx.Response) -> None:
        self._answers = list(answers)
        self.requests: list[httpx.Request] = []

    @asynccontextmanager
    async def open_session(self, folder: Path | None = None) -> AsyncIterator["AgentSession"]:
        """Yield the session of an agent."""
        from mcp.client import Client as AgentSession  # noqa: PLC0415

        from framekiln.cli.mcp_server import make_server  # noqa: PLC0415

        transport = httpx.MockTransport(self._answer)
        async with (
            AsyncClient("http://service", "k", retry_within_s=0, transport=transport) as client,
            AgentSession(make_server(client, folder=folder)) as session,
        ):
            yield session

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        return self._answers.pop(0)


class BusyService(PreparedService):
    """Reports no progress."""

    def _answer(self, request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/progress"):
            return httpx.Response(200, content=self._silence())
        return super()._answer(request)

    async def _silence(self) -> AsyncIterator[bytes]:
        await asyncio.Event().wait()
        yield b""


def text_of(result: "CallToolResult") -> str:
    """Return the text of a failed call."""
    assert result.is_error
    (content,) = result.content
    assert content.type == "text"
    return content.text


async def call(
    name: str, /, *answers: httpx.Response, folder: Path | None = None, **arguments: Any
) -> "CallToolResult":
    async with PreparedService(*answers).open_session(folder) as session:
        return await session.call_tool(name, arguments)


async def test_each_tool_has_a_description_and_typed_bounded_parameters(tmp_path: Path) -> None:
    async with PreparedService().open_session(tmp_path) as session:
        tools = (await session.list_tools()).tools
    assert {tool.name for tool in tools} == TOOLS
    for tool in tools:
        assert tool.description
        assert len(tool.description) < 120
        for schema in tool.input_schema["properties"].values():
            for kind in schema.get("anyOf", [schema]):
                bounds = {"enum", "pattern", "maxLength", "maximum", "additionalProperties"}
                is_bounded = kind.get("type") in ("null", "boolean") or bounds & kind.keys()
                assert is_bounded, (tool.name, schema)


async def test_without_a_folder_no_tool_uses_local_files() -> None:
    async with PreparedService().open_session() as session:
        tools = (await session.list_tools()).tools
    assert {tool.name for tool in tools} == TOOLS - LOCAL


@pytest.mark.parametrize(
    ("name", "arguments", "reason"),
    [
        ("render", {}, "give exactly one of html, config, template_id"),
        ("render", {"html": "a", "config": {}}, "give exactly one of"),
        ("render", {"config": {}, "width": 64}, "width: has no effect here; set it in the config"),
        ("render", {"config": {}, "data": {}}, "data: has no effect here; put the values into"),
        ("render", {"html": "a", "durationMs": 5}, "has no parameter durationMs; it has html, "),
        ("follow", {"kind": "render", "id": "../keys"}, "should match pattern"),
        ("follow", {"kind": "render", "id": "r", "wait_s": 301}, "less than or equal to 300"),
        ("list_files", {"limit": 101}, "less than or equal to 100"),
        ("look_at_frame", {"config": {}, "width": 64}, "set dimensions and values in the config"),
    ],
)
async def test_wrong_arguments_are_refused_with_a_remedy_before_anything_is_sent(
    name: str, arguments: dict[str, Any], reason: str
) -> None:
    assert reason in text_of(await call(name, **arguments))


@pytest.mark.parametrize("path", ["../a.mp4", "/etc/passwd", ".git/a", "link/a.mp4", ".", "a\0b"])
async def test_paths_outside_the_folder_are_refused(path: str, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "link").symlink_to(tmp_path)
    where = {"kind": "render", "id": "r", "path": path}
    for result in (
        await call("fetch", folder=folder, **where),
        await call("upload_file", folder=folder, path=path),
    ):
        assert "path" in text_of(result) or "hidden" in text_of(result)


async def test_a_local_file_is_replaced_only_on_request(tmp_path: Path) -> None:
    film = tmp_path / "film.mp4"
    film.write_bytes(b"mine")
    where = {"kind": "video", "id": "v", "path": "film.mp4"}
    assert "exists" in text_of(await call("fetch", folder=tmp_path, **where))
    assert film.read_bytes() == b"mine"
    new = httpx.Response(200, content=b"new")
    done = await call("fetch", new, folder=tmp_path, **where, overwrite=True)
    assert done.structured_content == {"path": str(film), "byte_size": 3}
    assert film.read_bytes() == b"new"


async def test_issues_of_the_service_are_listed_with_path_and_remedy() -> None:
    issues = [
        {"path": "layers.0.file", "code": "remote_url_required", "hint": "must begin with http://"},
        {"path": "fps", "code": "out_of_range", "message": "must be at least 1"},
    ]
    refusal = {"error": "invalid_request", "message": "layers.0.file", "issues": issues}
    failed = await call("check_composition", httpx.Response(422, json=refusal), config={})
    assert text_of(failed).splitlines() == [
        "Error executing tool check_composition: invalid_request:"
        " correct these and call the tool again",
        "- layers.0.file: must begin with http://",
        "- fps: must be at least 1",
    ]


async def test_a_wrong_key_and_a_busy_service_say_what_to_do() -> None:
    wrong = httpx.Response(401, json={"error": "unauthorized", "message": "no such key"})
    assert "Set FRAMEKILN_API_KEY" in text_of(await call("list_files", wrong))
    full = {"error": "quota_exceeded", "message": "no more requests"}
    busy = httpx.Response(429, json=full, headers={"Retry-After": "7"})
    assert "Try again in 7 s." in text_of(await call("list_files", busy))


async def test_a_render_that_takes_longer_can_be_followed() -> None:
    answers = [httpx.Response(200, json=each) for each in ({"id": "v"}, VIDEO, VIDEO)]
    arguments = {"config": {"layers": []}, "wait_s": 0, "link_expires_in_s": 60}
    async with BusyService(*answers).open_session() as session:
        done = await session.call_tool("render", arguments)
    assert done.structured_content == {
        "kind": "video",
        "id": "v",
        "status": "processing",
        "has_ended": False,
        "progress": 0.25,
        "next": "call follow with kind video and this id",
    }


async def test_a_failed_render_is_an_error_with_its_reason_and_warnings() -> None:
    render = {"id": "r", "status": "failed", "warnings": ["durationMs has no effect"]}
    failed = await call(
        "follow",
        httpx.Response(200, text="event: error\ndata: page_failed: no page\n\n"),
        httpx.Response(200, json=render),
        kind="render",
        id="r",
    )
    assert text_of(failed).endswith("page_failed: no page\nwarning: durationMs has no effect")


async def test_transcribe_returns_the_text_and_cuts_long_ones() -> None:
    done = await call(
        "transcribe",
        httpx.Response(200, json={"id": "t"}),
        httpx.Response(200, text=ENDED),
        httpx.Response(200, json={"id": "t", "status": "complete", "warnings": []}),
        httpx.Response(200, text="WEBVTT" + 100_000 * "x"),
        file_id="f",
    )
    assert done.structured_content is not None
    assert done.structured_content["text"].startswith("WEBVTT")
    assert len(done.structured_content["text"]) == 100_000
    assert done.structured_content["is_cut"]


async def test_outputs_end_where_they_would_be_too_long() -> None:
    outputs = [{"window": None, "output": {"text": 60_000 * "x"}} for _ in range(3)]
    page = httpx.Response(200, json={"outputs": outputs, "next_cursor": None})
    done = await call("read_outputs", page, run_id="r", namespace="speech")
    assert done.structured_content == {"outputs": outputs[:1], "has_more": True}


async def test_over_http_only_requests_with_the_key_are_answered() -> None:
    from framekiln.cli.mcp_server import KeyCheck  # noqa: PLC0415

    answered: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        answered.append(scope["path"])
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})

    transport = httpx.ASGITransport(KeyCheck(app, "ef_a_b"))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
        for headers in ({}, {"Authorization": "Bearer ef_a_c"}, {"Authorization": "ef_a_b"}):
            refused = await http.post("/mcp", headers=headers)
            assert (refused.status_code, answered) == (401, [])
            assert "FRAMEKILN_API_KEY" in json.loads(refused.content)["message"]
        right = {"Authorization": "Bearer ef_a_b"}
        assert (await http.post("/mcp", headers=right)).status_code == 204


async def test_over_http_the_key_is_checked_first() -> None:
    from framekiln.cli.mcp_server import make_http_app  # noqa: PLC0415

    async with AsyncClient("http://service", "ef_a_b") as client:
        transport = httpx.ASGITransport(make_http_app(client, "ef_a_b"))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
            assert (await http.post("/mcp")).status_code == 401
