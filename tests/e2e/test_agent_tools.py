"""An agent without a model makes films with the tools of `framekiln mcp`."""

import asyncio
import base64
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import httpx2
import uvicorn

from framekiln.client import AsyncClient, Client
from tests.support.clips import Clip, make_clip
from tests.support.looks import colour_at, decode_frames, decode_still
from tests.support.ports import ReservedPort
from tests.support.service import Account, confinement_settings

# Takes a second to import: only who runs these tests has to, not who collects them.
if TYPE_CHECKING:
    from mcp.client import Client as AgentSession

MAX_CALLS = 3
TEAL, RED, BLUE = (0, 128, 128), (255, 0, 0), (0, 0, 255)
SIZE: dict[str, Any] = {"width": 64, "height": 64}
FILM: dict[str, Any] = {**SIZE, "fps": 10, "duration_ms": 300}
CONFIG: dict[str, Any] = {
    "dimensions": SIZE,
    "duration": 0.3,
    "fps": 10,
    "backgroundColor": "#008080",
    "layers": [],
}
FADE = (
    "<style>@keyframes k {from {background: red} to {background: blue}}"
    "body {animation: k 200ms linear both}</style><body>"
)
DATA_PAGE = "<body><script>document.body.style.background = EF_RENDER_DATA.colour</script>"
CANVAS = (
    "<body style='margin: 0'><canvas width=64 height=64></canvas><script>"
    "const pen = document.querySelector('canvas').getContext('2d');"
    "pen.fillStyle = 'blue'; pen.fillRect(0, 0, 64, 64)</script>"
)


@dataclass
class Agent:
    """Calls tools, and counts the calls for each film."""

    session: "AgentSession"
    calls: int = 0
    counts: list[int] = field(default_factory=list)

    async def call(self, name: str, **arguments: Any) -> Any:
        """Call a tool that succeeds, and return its result."""
        self.calls += 1
        result = await self.session.call_tool(name, arguments)
        assert not result.is_error, result.content
        return result.structured_content or result.content

    async def fail(self, name: str, **arguments: Any) -> str:
        """Call a tool that fails, and return the reason."""
        self.calls += 1
        result = await self.session.call_tool(name, arguments)
        assert result.is_error, result.content
        (content,) = result.content
        assert content.type == "text"
        return content.text

    async def make(self, path: str, **order: Any) -> None:
        """Render and fetch, which completes a film."""
        made = await self.call("render", **order)
        assert made["has_ended"], made
        await self.call("fetch", kind=made["kind"], id=made["id"], path=path)
        self.finish_film()

    def finish_film(self) -> None:
        self.counts.append(self.calls)
        self.calls = 0


@asynccontextmanager
async def open_agent(account: Account, folder: Path) -> AsyncIterator[Agent]:
    """Start `framekiln mcp` as an agent does, in a folder."""
    from mcp import StdioServerParameters  # noqa: PLC0415
    from mcp.client import Client as AgentSession  # noqa: PLC0415
    from mcp.client.stdio import stdio_client  # noqa: PLC0415

    command = StdioServerParameters(
        command=sys.executable,
        args=["-m", "framekiln", "mcp"],
        env={**os.environ, **confinement_settings(), **account.environment},
        cwd=folder,
    )
    async with AgentSession(stdio_client(command)) as session:
        yield Agent(session)


def is_colour(found: tuple[int, int, int], expected: tuple[int, int, int]) -> bool:
    return all(abs(a - b) <= 8 for a, b in zip(found, expected, strict=True))


async def test_a_scripted_agent_makes_ten_films_in_three_calls_each(
    account: Account, tmp_path: Path
) -> None:
    template = {**CONFIG, "backgroundColor": "{{ colour }}"}
    with Client(account.url, account.api_key) as client:
        client.templates.create(
            "Colour",
            template,
            inputs={"colour": "required|color"},
            default_values={"colour": "#ff0000"},
        )
    async with open_agent(account, tmp_path) as agent:
        # A page, looked at before it is rendered.
        teal = "<body style='background: teal'>"
        image, facts = await agent.call("look_at_frame", html=teal, **SIZE, image_format="png")
        assert image.type == "image"
        (tmp_path / "look.png").write_bytes(base64.b64decode(image.data))
        assert json.loads(facts.text)["warnings"] == []
        await agent.make("page.mp4", html=teal, **FILM)
        # A page with data, checked before.
        colour = {"colour": "red"}
        checked = await agent.call("check_composition", html=DATA_PAGE, data=colour, **SIZE)
        assert checked["is_valid"]
        await agent.make("data.mp4", html=DATA_PAGE, data=colour, **FILM)
        await agent.make("fade.mp4", html=FADE, **FILM)
        await agent.make("canvas.mp4", html=CANVAS, **FILM)
        still = {"duration_ms": 200, "container": "png"}
        await agent.make("still.png", html=FADE, **SIZE, **still)
        # A config, with a picture of it before.
        image, _ = await agent.call("look_at_frame", config=CONFIG, at_ms=100)
        assert image.type == "image"
        assert image.mime_type == "image/jpeg"
        await agent.make("config.mp4", config=CONFIG)
        await agent.make("config.png", config={**CONFIG, "extension": "png"})
        # A template that was found by its name.
        (found,) = (await agent.call("list_templates"))["templates"]
        await agent.make("template.mp4", template_id=found["id"], data={"colour": "#0000ff"})
        # A config with a picture of this machine.
        file = await agent.call("upload_file", path="still.png")
        assert (file["status"], file["filename"]) == ("ready", "still.png")
        layer = {"id": "p", "type": "image", "file": f"file-id:{file['id']}", "size": SIZE}
        await agent.make("file.mp4", config={**CONFIG, "layers": [layer]})
        # A config that is wrong at first, delivered as a link.
        wrong = {**CONFIG, "duration": -1}
        assert "\n- duration: " in await agent.fail("check_composition", config=wrong)
        linked = await agent.call("render", config=CONFIG, link_expires_in_s=60)
        async with httpx.AsyncClient() as without_key:
            film = await without_key.get(linked["link"])
        (tmp_path / "linked.mp4").write_bytes(film.content)
        agent.finish_film()
    assert len(agent.counts) == 10
    assert max(agent.counts) <= MAX_CALLS
    middle = {
        name: [colour_at(frame.rgb, 32, 32) for frame in decode_frames(tmp_path / f"{name}.mp4")]
        for name in ("page", "data", "fade", "canvas", "config", "template", "file", "linked")
    }
    assert {len(colours) for colours in middle.values()} == {3}
    first = {"page": TEAL, "data": RED, "fade": RED, "canvas": BLUE, "config": TEAL}
    for name, expected in {**first, "template": BLUE, "file": BLUE, "linked": TEAL}.items():
        assert is_colour(middle[name][0], expected), name
    assert is_colour(middle["fade"][2], BLUE)
    for name, expected in {"look": TEAL, "still": BLUE, "config": TEAL}.items():
        assert is_colour(colour_at(decode_still(tmp_path / f"{name}.png"), 32, 32), expected)
    # Pictures that were only looked at are not kept.
    assert len(account.http.get("/api/v1/renders").json()["renders"]) == 5


async def test_an_agent_runs_a_pipeline_over_http(account: Account, tmp_path: Path) -> None:
    from mcp.client import Client as AgentSession  # noqa: PLC0415
    from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415

    from framekiln.cli.mcp_server import make_http_app  # noqa: PLC0415

    clip = make_clip(tmp_path / "holiday.mp4", Clip(duration_s=Fraction(1)))
    with Client(account.url, account.api_key) as client:
        client.pipelines.create("facts", {"steps": {"facts": {"type": "probe"}}})
        client.files.wait_ready(client.files.upload(clip).id)
    port = ReservedPort()
    key = {"Authorization": f"Bearer {account.api_key}"}
    async with AsyncClient(account.url, account.api_key) as service:
        app = make_http_app(service, account.api_key)
        async with serving(app, port.number), httpx2.AsyncClient(headers=key) as http:
            transport = streamable_http_client(
                f"http://127.0.0.1:{port.number}/mcp", http_client=http
            )
            async with AgentSession(transport) as session:
                agent = Agent(session)
                (file,) = (await agent.call("list_files", search="HOLIDAY"))["files"]
                (pipeline,) = (await agent.call("list_pipelines"))["pipelines"]
                assert pipeline["name"] == "facts"
                run = await agent.call("run_pipeline", pipeline="facts", file_id=file["id"])
                assert (run["status"], run["has_ended"]) == ("succeeded", True)
                (step,) = run["steps"]
                namespace = step["namespace"]
                read = await agent.call("read_outputs", run_id=run["id"], namespace=namespace)
                assert len(read["outputs"]) == 1
                missing = await agent.fail("run_pipeline", pipeline="fact", file_id=file["id"])
                assert "there is no pipeline 'fact'" in missing


@asynccontextmanager
async def serving(app: Any, port: int) -> AsyncIterator[None]:
    """Serve an application in this process."""
    config = uvicorn.Config(app, host="127.0.0.1", port=port, log_config=None, ws="none")
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve())
    while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
        await asyncio.sleep(0.01)
    try:
        yield
    finally:
        server.should_exit = True
        await task
