"""What all tools for agents share: limits of parameters, waiting, states, links and errors."""

import asyncio
import functools
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, Final, Literal, ParamSpec, TypeVar

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from framekiln.client import AsyncClient
from framekiln.client.errors import EndedBadly, ServiceRefused, ServiceUnreachable
from framekiln.client.model import RemoteObject, RemoteRun
from framekiln.kit.errors import FramekilnError, InvalidInput

MAX_WAIT_S: Final = 300
MAX_TEXT_CHARS: Final = 100_000
"""Longer texts are cut: they would fill the memory of a model."""
_MAX_LINK_S: Final = 365 * 86_400
_MAX_ISSUES: Final = 50
_UNAUTHORIZED: Final = 401

Json = dict[str, Any]
Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

Kind = Literal["render", "video", "file", "run"]
# They become parts of URLs.
Identifier = Annotated[str, Field(pattern="^[0-9A-Za-z-]{1,64}$")]
WaitS = Annotated[
    int, Field(ge=0, le=MAX_WAIT_S, description="How many seconds to wait for the end.")
]
LinkS = Annotated[
    int | None,
    Field(
        ge=1,
        le=_MAX_LINK_S,
        description="Also make a link that works without a key for this many seconds.",
    ),
]
ListLimit = Annotated[int, Field(ge=1, le=100, description="The maximum number of items.")]

_ADDRESSES: Final = {
    "render": "/api/v1/renders/{}.mp4",
    "video": "/v2/videos/{}/download",
    "file": "/api/v1/files/{}/content",
}
_FIELDS: Final = {
    "render": ("width", "height", "fps", "duration_ms", "byte_size", "download_url", "warnings"),
    "video": ("progress", "duration", "download_url", "poster_url", "warnings"),
    "file": ("filename", "type", "byte_size", "width", "height", "duration_ms"),
    "run": ("pipeline_id", "pipeline_version", "file_id", "error"),
}
_ENDED: Final = {"complete", "ready", "failed", "succeeded", "cancelled", "expired"}


def reported(
    tool: Callable[Parameters, Awaitable[Result]],
) -> Callable[Parameters, Awaitable[Result]]:
    """Return a tool whose errors reach the agent with their reason and remedy."""

    @functools.wraps(tool)
    async def call(*arguments: Parameters.args, **options: Parameters.kwargs) -> Result:
        try:
            return await tool(*arguments, **options)
        except FramekilnError as error:
            raise ToolError(describe_error(error)) from error
        except OSError as error:
            raise ToolError(f"{error.filename or 'the file'}: {error.strerror}") from error

    return call


def describe_error(error: FramekilnError) -> str:
    """Return the reason of an error, each issue with its path, and what to do."""
    raw = error.details.get("raw") or {}
    issues = raw.get("issues")
    if isinstance(issues, list) and issues:
        lines = [f"{raw.get('error', error.code)}: correct these and call the tool again"]
        lines += [_issue_line(each) for each in issues[:_MAX_ISSUES]]
    else:
        lines = [error.message]
    if isinstance(error, ServiceUnreachable):
        lines.append(_retry_advice(error))
    elif isinstance(error, ServiceRefused) and error.details.get("status") == _UNAUTHORIZED:
        lines.append("Set FRAMEKILN_API_KEY to a key of the service, and start this server again.")
    lines += [f"warning: {warning}" for warning in error.warnings]
    return "\n".join(lines)[:MAX_TEXT_CHARS]


def _issue_line(issue: Mapping[str, Any]) -> str:
    reason = issue.get("hint") or issue.get("message") or issue.get("code")
    return f"- {issue.get('path') or 'body'}: {reason}"


def _retry_advice(error: ServiceUnreachable) -> str:
    if error.retry_after_s is not None:
        return f"Try again in {error.retry_after_s} s."
    if "raw" in error.details:
        return "Try again later."
    return "Is the service running (framekiln serve), and is FRAMEKILN_BASE_URL its address?"


async def wait_within(waiting: Awaitable[Result], wait_s: float) -> Result | None:
    """Return a result, or None if it takes longer."""
    try:
        async with asyncio.timeout(wait_s):
            return await waiting
    except TimeoutError:
        return None


async def follow(client: AsyncClient, kind: Kind, resource_id: str, wait_s: float) -> Json:
    """Return the state of something that is being made, at its end or after `wait_s`."""
    waits: dict[str, Callable[[str], Awaitable[RemoteObject]]] = {
        "render": client.renders.wait,
        "video": client.videos.wait,
        "file": client.files.wait_ready,
        "run": client.runs.wait,
    }
    gets: dict[str, Callable[[str], Awaitable[RemoteObject]]] = {
        "render": client.renders.get,
        "video": client.videos.get,
        "file": client.files.get,
        "run": client.runs.get,
    }
    try:
        found = await wait_within(waits[kind](resource_id), wait_s)
    except EndedBadly as error:
        failed = await gets[kind](resource_id)
        error.warnings = tuple(map(_warning_line, failed.raw.get("warnings", ())))
        raise
    return show_state(kind, found or await gets[kind](resource_id))


def show_state(kind: Kind, found: Any) -> Json:
    """Return what an agent needs to know about a resource."""
    shown = {name: found.raw[name] for name in _FIELDS[kind] if found.raw.get(name) is not None}
    state: Json = {"kind": kind, "id": found.id, "status": found.status}
    state["has_ended"] = found.status in _ENDED
    if isinstance(found, RemoteRun):
        shown["steps"] = [
            {
                "step": step.key,
                "namespace": step.raw["namespace"],
                "type": step.type,
                "status": step.status,
                **({"error": dict(step.error)} if step.error else {}),
            }
            for step in found.steps
        ]
    if not state["has_ended"]:
        shown["next"] = f"call follow with kind {kind} and this id"
    return {**state, **shown}


async def with_link(client: AsyncClient, state: Json, link_s: int | None) -> Json:
    """Return a state with a signed link, if one is wanted and there is something to read."""
    if link_s is None or not state["has_ended"]:
        return state
    if state["kind"] == "run":
        raise InvalidInput("a run has no file to link to: read its outputs with read_outputs")
    address = _ADDRESSES[state["kind"]].format(state["id"])
    # The server may have a temporary key, with which the link would end.
    link = await client.links.create(address, expires_in_s=link_s, scope="organization")
    return {**state, "link": link.url, "link_expires_at": link.expires_at}


def _warning_line(warning: Any) -> str:
    if isinstance(warning, Mapping):
        return _issue_line(warning).removeprefix("- ")
    return str(warning)


def is_too_long(value: object) -> bool:
    """Whether something is too long for one response."""
    return len(json.dumps(value)) > MAX_TEXT_CHARS
