"""Tools for agents that make films: check a composition, look at a frame, render."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Final, Literal

from mcp.server.mcpserver import Image
from pydantic import Field

from framekiln.cli.mcp_results import (
    MAX_WAIT_S,
    Identifier,
    Json,
    Kind,
    LinkS,
    ListLimit,
    WaitS,
    follow,
    is_too_long,
    with_link,
)
from framekiln.client import AsyncClient
from framekiln.kit.clock import Clock, iso
from framekiln.kit.errors import FramekilnError, InvalidInput, TooLarge, Unavailable

_MAX_HTML_CHARS: Final = 2_000_000
_MAX_SIDE_PX: Final = 8192
_MAX_DURATION_MS: Final = 6 * 3_600_000
_MAX_PICTURE_BYTES: Final = 5_000_000
_STILL_LIFE: Final = timedelta(hours=1)
_PLAN: Final = ("dimensions", "duration", "fps", "frame_count", "layers", "sources", "warnings")

Html = Annotated[
    str | None,
    Field(
        max_length=_MAX_HTML_CHARS,
        description="An HTML page with its CSS and scripts; media by URL. Animations run on an"
        " exact clock.",
    ),
]
LayerConfig = Annotated[
    Json | None,
    Field(
        description="A layer config instead of HTML, such as"
        ' {"dimensions": {"width": 640, "height": 360}, "duration": 2,'
        ' "backgroundColor": "#102030",'
        ' "layers": [{"id": "t", "type": "text", "text": {"text": "Hello"}}]};'
        " sources are URLs or file-id:<id>. Set extension to png, jpg or webp for a still."
    ),
]
TemplateId = Annotated[
    Identifier | None, Field(description="A stored template instead; see list_templates.")
]
RenderData = Annotated[
    Json | None,
    Field(description="For HTML: window.EF_RENDER_DATA. For a template: the values it asks for."),
]
Side = Annotated[
    int | None, Field(ge=2, le=_MAX_SIDE_PX, description="Pixels; only with HTML, even for mp4.")
]
FrameRate = Annotated[float | None, Field(ge=1, le=120, description="Only with HTML.")]
Duration = Annotated[
    int | None,
    Field(
        ge=0,
        le=_MAX_DURATION_MS,
        description="Only with HTML: the length of the film, or the time that a still shows.",
    ),
]


class FilmTools:
    """Tools that make films and pictures."""

    def __init__(self, client: AsyncClient, clock: Clock) -> None:
        self._client = client
        self._clock = clock

    async def check_composition(
        self,
        html: Html = None,
        config: LayerConfig = None,
        data: RenderData = None,
        width: Side = None,
        height: Side = None,
    ) -> Json:
        """Check HTML or a layer config without making the film; lists warnings and issues."""
        page = {"data": data, "width": width, "height": height}
        if _only({"html": html, "config": config}) == "config":
            _refuse(page, "set dimensions and values in the config")
            plan = await self._client.videos.plan(config or {})
            shown: Json = {name: plan[name] for name in _PLAN if name in plan}
            if is_too_long(shown):
                shown.pop("layers", None)
                shown.pop("sources", None)
            return {"is_valid": True, **shown}
        async with self._still(html, page, at_ms=0, container="jpeg") as (state, _):
            size = {"width": state["width"], "height": state["height"]}
            return {"is_valid": True, "dimensions": size, "warnings": state.get("warnings", [])}

    async def look_at_frame(
        self,
        html: Html = None,
        config: LayerConfig = None,
        data: RenderData = None,
        width: Side = None,
        height: Side = None,
        at_ms: Annotated[
            int, Field(ge=0, le=_MAX_DURATION_MS, description="The time of the frame.")
        ] = 0,
        image_format: Literal["jpeg", "png", "webp"] = "jpeg",
    ) -> list[Image | str]:
        """Return one frame of HTML or of a layer config as an image, and any warnings."""
        page = {"data": data, "width": width, "height": height}
        warnings: list[Any] = []
        if _only({"html": html, "config": config}) == "config":
            _refuse(page, "set dimensions and values in the config")
            form: Literal["jpg", "png", "webp"] = "jpg" if image_format == "jpeg" else image_format
            picture = await self._client.videos.draw_frame(config or {}, at_ms / 1000, form)
        else:
            async with self._still(html, page, at_ms, container=image_format) as (state, path):
                await self._client.renders.download(state["id"], path)
                picture = path.read_bytes()
                warnings = state.get("warnings", [])
        if len(picture) > _MAX_PICTURE_BYTES:
            raise TooLarge(
                f"the picture has {len(picture)} bytes, more than {_MAX_PICTURE_BYTES}: ask for"
                " image_format jpeg, or for a smaller size"
            )
        facts = json.dumps({"at_ms": at_ms, "warnings": warnings})
        return [Image(data=picture, format=image_format), facts]

    async def render(
        self,
        html: Html = None,
        config: LayerConfig = None,
        template_id: TemplateId = None,
        data: RenderData = None,
        width: Side = None,
        height: Side = None,
        fps: FrameRate = None,
        duration_ms: Duration = None,
        container: Annotated[
            Literal["mp4", "jpeg", "png", "webp"] | None,
            Field(description="Only with HTML; mp4 by default, the others are stills."),
        ] = None,
        wait_s: WaitS = 120,
        link_expires_in_s: LinkS = None,
    ) -> Json:
        """Make a film or still of HTML, a layer config or a template, and wait for it."""
        page: Json = {"width": width, "height": height, "fps": fps, "duration_ms": duration_ms}
        given = {"html": html, "config": config, "template_id": template_id}
        kind: Kind = "video"
        warnings: tuple[Any, ...] = ()
        match _only(given):
            case "html":
                kind, output = "render", None if container is None else {"container": container}
                body = _present({**page, "output": output})
                made_id = (await self._client.renders.create(html=html, data=data, **body)).id
            case "config":
                _refuse({**page, "container": container}, "set it in the config")
                _refuse({"data": data}, "put the values into the config")
                made_id = (await self._client.videos.create(config or {})).id
            case _:
                _refuse({**page, "container": container}, "the template has its own")
                made = await self._client.templates.render(template_id or "", data or {})
                made_id, warnings = made.id, made.warnings
        state = await follow(self._client, kind, made_id, wait_s)
        if warnings:
            state.setdefault("warnings", [dict(each) for each in warnings])
        return await with_link(self._client, state, link_expires_in_s)

    async def list_templates(
        self,
        template_id: Annotated[
            Identifier | None, Field(description="Only this one, with the schema of its data.")
        ] = None,
        limit: ListLimit = 25,
    ) -> Json:
        """List stored templates, or show the JSON Schema of the data of one template."""
        if template_id is not None:
            return {"id": template_id, "schema": await self._client.templates.schema(template_id)}
        found: list[Json] = []
        async for each in self._client.templates.list():
            found.append({"id": each.id, "name": each.name, "created_at": each.created_at})
            if len(found) == limit:
                break
        return {"templates": found}

    @asynccontextmanager
    async def _still(
        self, html: str | None, page: Json, at_ms: int, container: str
    ) -> AsyncIterator[tuple[Json, Path]]:
        """Yield the state of a still of a page and a path for it; it is deleted afterwards."""
        body = {
            **_present(page),
            "duration_ms": at_ms,
            "output": {"container": container},
            # In case this process ends before it is deleted.
            "expires_at": iso(self._clock.now() + _STILL_LIFE),
        }
        made = await self._client.renders.create(html=html or "", **body)
        try:
            state = await follow(self._client, "render", made.id, MAX_WAIT_S)
            if not state["has_ended"]:
                raise Unavailable("the service has much to do: try again in a minute")
            with TemporaryDirectory(prefix="framekiln-frame-") as folder:
                yield state, Path(folder) / "frame"
        finally:
            with suppress(FramekilnError):
                await self._client.renders.delete(made.id)


def _only(given: Json) -> str:
    """Return the name of the one value that is given."""
    names = [name for name, value in given.items() if value is not None]
    if len(names) != 1:
        raise InvalidInput(f"give exactly one of {', '.join(given)}; given: {len(names)}")
    return names[0]


def _refuse(values: Json, remedy: str) -> None:
    """Raise if a value is given that has no effect."""
    if names := ", ".join(_present(values)):
        raise InvalidInput(f"{names}: has no effect here; {remedy}")


def _present(values: Json) -> Json:
    return {name: value for name, value in values.items() if value is not None}
