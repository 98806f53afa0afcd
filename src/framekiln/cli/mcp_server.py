"""`framekiln mcp`: tools for agents, by the Model Context Protocol on standard input or HTTP."""

import asyncio
import hmac
import os
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, Final

import typer
import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp_types import ToolAnnotations
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from framekiln.cli.mcp_film_tools import FilmTools
from framekiln.cli.mcp_media_tools import LocalFileTools, MediaTools
from framekiln.cli.mcp_results import reported
from framekiln.cli.port import PortUnavailable, require_free_port
from framekiln.cli.service_client import ServiceAddress, open_address
from framekiln.client import AsyncClient
from framekiln.kit.clock import SystemClock
from framekiln.kit.errors import InvalidInput

ToolFunction = Callable[..., Awaitable[Any]]

_HOST: Final = "127.0.0.1"
# An agent waits for each tool, so it should learn soon that the service does not respond.
_RETRY_WITHIN_S: Final = 20.0
_READING: Final = ToolAnnotations(read_only_hint=True)
_MAKING: Final = ToolAnnotations(read_only_hint=False, destructive_hint=False)
_OVERWRITING: Final = ToolAnnotations(read_only_hint=False, destructive_hint=True)
_INSTRUCTIONS: Final = """\
Framekiln makes films and stills of HTML pages or of JSON layer configs.
1. Write HTML or a config. check_composition lists its warnings; look_at_frame shows a picture.
2. render makes the film and waits. If has_ended is false, call follow.
3. fetch saves it to a local file, or ask render for a link (link_expires_in_s).
Errors say what is wrong, where, and what to do. {url}/llms.txt describes the HTTP API,
{url}/schemas/layer-config.json all fields of layer configs."""


def mcp(
    http: Annotated[
        int | None,
        typer.Option(
            metavar="PORT",
            min=1,
            max=65_535,
            help="Serve streamable HTTP at 127.0.0.1:PORT/mcp, not standard input and output.",
        ),
    ] = None,
    folder: Annotated[
        Path,
        typer.Option(
            help="The folder of the files that tools upload and write; not with --http.",
            file_okay=False,
            exists=True,
        ),
    ] = Path(),
) -> None:
    """Offer the service to agents as tools (Model Context Protocol)."""
    try:
        with open_address() as address:
            if http is None:
                asyncio.run(_serve_streams(address, folder))
            else:
                _require_usable(address, http)
                asyncio.run(_serve_http(address, http))
    except KeyboardInterrupt:
        # A thread still reads standard input; the process would not end before its next line.
        os._exit(1)


def _require_usable(address: ServiceAddress, port: int) -> None:
    if address.is_temporary:
        raise InvalidInput("set FRAMEKILN_API_KEY: agents send the same key to this server")
    try:
        require_free_port(_HOST, port)
    except PortUnavailable as error:
        raise PortUnavailable(f"--http: cannot listen on port {port}: give another") from error


class StrictTool(Tool):
    """A tool that refuses parameters it does not have: agents misspell names."""

    async def run(
        self, arguments: dict[str, Any], context: Context[Any, Any], convert_result: bool = False
    ) -> Any:
        """Run the tool."""
        names = self.parameters["properties"]
        if unknown := ", ".join(sorted(arguments.keys() - names.keys())):
            raise ToolError(f"{self.name} has no parameter {unknown}; it has {', '.join(names)}")
        return await super().run(arguments, context, convert_result)


def make_server(client: AsyncClient, *, folder: Path | None) -> MCPServer[Any]:
    """Return a server with all tools; without a folder, none of them uses local files."""
    films, media = FilmTools(client, SystemClock()), MediaTools(client)
    reading: list[ToolFunction] = [films.check_composition, films.list_templates, media.follow]
    reading += [media.list_files, media.list_pipelines, media.read_outputs]
    making: list[ToolFunction] = [films.render, media.transcribe, media.run_pipeline]
    tools = [
        _tool(films.look_at_frame, _READING, structured_output=False),
        *(_tool(each, _READING) for each in reading),
        *(_tool(each, _MAKING) for each in making),
    ]
    if folder is not None:
        local = LocalFileTools(client, folder)
        tools += [_tool(local.upload_file, _MAKING), _tool(local.fetch, _OVERWRITING)]
    return MCPServer(
        "framekiln",
        version=version("framekiln"),
        instructions=_INSTRUCTIONS.format(url=client.base_url),
        tools=tools,
        log_level="WARNING",
    )


def _tool(
    function: ToolFunction,
    annotations: ToolAnnotations,
    *,
    structured_output: bool | None = None,
) -> Tool:
    return StrictTool.from_function(
        reported(function), annotations=annotations, structured_output=structured_output
    )


class KeyCheck:
    """Lets only requests with the key of the service through: others may use this machine."""

    def __init__(self, app: ASGIApp, api_key: str) -> None:
        self._app = app
        self._expected = f"Bearer {api_key}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "http":
            given = Headers(scope=scope).get("Authorization", "").encode()
            if not hmac.compare_digest(given, self._expected):
                message = "send Authorization: Bearer with the FRAMEKILN_API_KEY of this server"
                body = {"error": "unauthorized", "message": message}
                headers = {"WWW-Authenticate": "Bearer"}
                await JSONResponse(body, 401, headers=headers)(scope, receive, send)
                return
        await self._app(scope, receive, send)


def make_http_app(client: AsyncClient, api_key: str) -> ASGIApp:
    """Return the application that serves agents over HTTP."""
    return KeyCheck(make_server(client, folder=None).streamable_http_app(host=_HOST), api_key)


async def _serve_streams(address: ServiceAddress, folder: Path) -> None:
    async with AsyncClient(address.url, address.api_key, retry_within_s=_RETRY_WITHIN_S) as client:
        await make_server(client, folder=folder).run_stdio_async()


async def _serve_http(address: ServiceAddress, port: int) -> None:
    async with AsyncClient(address.url, address.api_key, retry_within_s=_RETRY_WITHIN_S) as client:
        app = make_http_app(client, address.api_key)
        config = uvicorn.Config(
            app, host=_HOST, port=port, ws="none", log_config=None, access_log=False
        )
        typer.echo(f"http://{_HOST}:{port}/mcp", err=True)
        await uvicorn.Server(config).serve()
