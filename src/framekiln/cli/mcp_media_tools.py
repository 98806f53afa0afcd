"""Tools for agents about what exists: files, transcripts, pipelines, local copies."""

import json
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from framekiln.cli.mcp_results import (
    MAX_TEXT_CHARS,
    Identifier,
    Json,
    Kind,
    LinkS,
    ListLimit,
    WaitS,
    follow,
    is_too_long,
    show_state,
    wait_within,
    with_link,
)
from framekiln.client import AsyncClient
from framekiln.kit.errors import InvalidInput, NotFound

_MAX_NAME_CHARS: Final = 255
_MAX_PATH_CHARS: Final = 1000

Name = Annotated[str, Field(min_length=1, max_length=_MAX_NAME_CHARS)]
LocalPath = Annotated[
    str,
    Field(
        min_length=1,
        max_length=_MAX_PATH_CHARS,
        description="A path in the folder of this server, such as film.mp4.",
    ),
]


class MediaTools:
    """Tools about files, transcripts and pipelines on the service."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client

    async def follow(
        self,
        kind: Kind,
        id: Identifier,
        wait_s: WaitS = 120,
        link_expires_in_s: LinkS = None,
    ) -> Json:
        """Wait for a render, video, file or run and return its state, warnings and addresses."""
        state = await follow(self._client, kind, id, wait_s)
        return await with_link(self._client, state, link_expires_in_s)

    async def list_files(
        self,
        search: Annotated[
            str | None, Field(max_length=_MAX_NAME_CHARS, description="Text in the file name.")
        ] = None,
        type: Literal["video", "image", "caption"] | None = None,
        limit: ListLimit = 25,
    ) -> Json:
        """List or search the files on the service, newest first; use them as file-id:<id>."""
        found: list[Json] = []
        async for each in self._client.files.list(search=search, file_type=type):
            found.append(show_state("file", each))
            if len(found) == limit:
                break
        return {"files": found}

    async def transcribe(
        self,
        file_id: Identifier,
        text_format: Literal["vtt", "srt", "json"] = "vtt",
        wait_s: WaitS = 120,
    ) -> Json:
        """Transcribe the speech of a file, or read the transcript that exists."""
        made = await self._client.transcriptions.create(file_id)
        done = await wait_within(self._client.transcriptions.wait(made.id), wait_s)
        if done is None:
            again = "call transcribe with the same file_id"
            return {"id": made.id, "has_ended": False, "next": again}
        text = await self._client.transcriptions.text(made.id, text_format)
        return {
            "id": made.id,
            "has_ended": True,
            "text": text[:MAX_TEXT_CHARS],
            "is_cut": len(text) > MAX_TEXT_CHARS,
            "warnings": done.raw.get("warnings", []),
        }

    async def list_pipelines(self, limit: ListLimit = 25) -> Json:
        """List the pipelines that can be run over files, newest first."""
        found: list[Json] = []
        async for each in self._client.pipelines.list():
            found.append({"id": each.id, "name": each.name, "version": each.latest_version})
            if len(found) == limit:
                break
        return {"pipelines": found}

    async def run_pipeline(
        self,
        pipeline: Annotated[Name, Field(description="The name or id of the pipeline.")],
        file_id: Identifier,
        wait_s: WaitS = 120,
    ) -> Json:
        """Run a pipeline over a file and wait; its steps name the namespaces of outputs."""
        found = await self._client.pipelines.find(pipeline)
        run, _ = await self._client.runs.create(found.id, file_id)
        return await follow(self._client, "run", run.id, wait_s)

    async def read_outputs(
        self,
        run_id: Identifier,
        namespace: Annotated[str, Field(pattern="^[0-9A-Za-z_.-]{1,128}$")],
        limit: ListLimit = 25,
    ) -> Json:
        """Read what a run wrote to a namespace: one output, or one for each window of time."""
        found: list[Any] = []
        async for each in self._client.runs.outputs(run_id, namespace):
            if not found and is_too_long(each):
                cut = json.dumps(each)[:MAX_TEXT_CHARS]
                return {"outputs": [], "has_more": True, "beginning_of_first": cut}
            if len(found) == limit or is_too_long([*found, each]):
                return {"outputs": found, "has_more": True}
            found.append(each)
        return {"outputs": found, "has_more": False}


class LocalFileTools:
    """Tools that read and write files of one folder on this machine."""

    def __init__(self, client: AsyncClient, folder: Path) -> None:
        self._client = client
        self._folder = folder.resolve()

    async def upload_file(self, path: LocalPath, wait_s: WaitS = 120) -> Json:
        """Upload a local video, sound, picture or caption file and wait until it is ready."""
        local = self._inside(path)
        if not local.is_file():
            raise NotFound(f"{path}: there is no such file in {self._folder}")
        file = await self._client.files.upload(local)
        return await follow(self._client, "file", file.id, wait_s)

    async def fetch(
        self,
        kind: Literal["render", "video", "file"],
        id: Identifier,
        path: LocalPath,
        overwrite: bool = False,
    ) -> Json:
        """Download a finished render, a video or a file to a local path."""
        local = self._inside(path)
        if not local.parent.is_dir():
            raise InvalidInput(f"{path}: there is no folder {local.parent}")
        if local.is_dir() or (local.exists() and not overwrite):
            raise InvalidInput(f"{path} exists: give another path, or overwrite a file")
        match kind:
            case "render":
                await self._client.renders.download(id, local)
            case "video":
                await self._client.videos.download(id, local)
            case "file":
                await self._client.files.download(id, local)
        return {"path": str(local), "byte_size": local.stat().st_size}

    def _inside(self, path: str) -> Path:
        """Return a path in the folder; links and hidden files do not lead out of it."""
        try:
            found = (self._folder / path).resolve()
        except (OSError, ValueError, RuntimeError) as error:
            raise InvalidInput("path: this is not a usable path") from error
        if not found.is_relative_to(self._folder) or found == self._folder:
            raise InvalidInput(f"{path} is not in {self._folder}: give a path inside this folder")
        if any(part.startswith(".") for part in found.relative_to(self._folder).parts):
            raise InvalidInput(f"{path}: hidden files and folders cannot be used")
        return found
