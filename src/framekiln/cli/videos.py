"""`framekiln videos`: videos from layer configs."""

from pathlib import Path
from typing import Annotated, Any

import typer

from framekiln.cli.json_input import read_json
from framekiln.cli.media_output import (
    LimitOption,
    OutputOption,
    TargetOption,
    WaitFlag,
    check_target,
    finish,
    show_deleted,
    show_one,
    show_rows,
    show_saved,
    wait_for,
)
from framekiln.cli.output import JsonFlag, write_json
from framekiln.cli.output_formats import extension_of, require_extension
from framekiln.cli.service_client import open_client
from framekiln.client.client import Client
from framekiln.client.model import RemoteVideo
from framekiln.client.videos import FrameFormat
from framekiln.kit.errors import InvalidInput

app = typer.Typer(
    help="Create, follow and download videos from layer configs.",
    no_args_is_help=True,
    add_completion=False,
)

VideoId = Annotated[str, typer.Argument(help="Id of the video.")]
Config = Annotated[
    Path, typer.Argument(help="A layer config (JSON file), or - for standard input.")
]

_PAGES = (".html", ".htm")
_FORMATS: dict[str, FrameFormat] = {
    ".png": "png",
    ".jpg": "jpg",
    ".jpeg": "jpg",
    ".webp": "webp",
}


@app.command()
def create(
    config: Config,
    file: Annotated[
        list[str] | None,
        typer.Option("--file", help="A local file for a layer: LAYER=PATH; repeatable."),
    ] = None,
    wait: WaitFlag = False,
    output: OutputOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Create a video from a layer config; the ending of the output replaces its extension."""
    read, files = _read_config(config), _files(file or [])
    if output is not None:
        check_target(output)
        read["extension"] = extension_of(output)
    with open_client() as client:
        made = client.videos.create(read, files=files)
        found = finish(client.videos, made, wait=wait, output=output, as_json=as_json)
    _show(found, as_json=as_json)


@app.command("list")
def list_all(limit: LimitOption = 25, as_json: JsonFlag = False) -> None:
    """Show videos, newest first."""
    with open_client() as client:
        show_rows(
            client.videos.list(),
            {
                "id": lambda each: each.id,
                "status": lambda each: each.status,
                "seconds": lambda each: each.duration,
                "error": lambda each: each.error and each.error["message"],
            },
            limit=limit,
            as_json=as_json,
        )


@app.command()
def get(video: VideoId, as_json: JsonFlag = False) -> None:
    """Show a video."""
    with open_client() as client:
        _show(client.videos.get(video), as_json=as_json)


@app.command()
def watch(video: VideoId, as_json: JsonFlag = False) -> None:
    """Wait until a video is ready, with a progress bar."""
    with open_client() as client:
        _show(wait_for(client.videos, video, quiet=as_json), as_json=as_json)


@app.command()
def download(video: VideoId, output: TargetOption, as_json: JsonFlag = False) -> None:
    """Download a video that is ready."""
    check_target(output)
    with open_client() as client:
        require_extension_of_video(client, video, output)
        client.videos.download(video, output)
    show_saved(video, output, as_json=as_json)


@app.command()
def delete(video: VideoId, as_json: JsonFlag = False) -> None:
    """Delete a video; one that is being rendered is stopped."""
    with open_client() as client:
        client.videos.delete(video)
    show_deleted(video, as_json=as_json)


@app.command()
def plan(config: Config) -> None:
    """Check a config and its sources, and write its timeline as JSON; nothing is rendered."""
    read = _read_config(config)
    with open_client() as client:
        write_json(client.videos.plan(read))


@app.command()
def frame(
    config: Config,
    output: TargetOption,
    at: Annotated[float, typer.Option(help="When, in seconds.", min=0)] = 0,
    as_json: JsonFlag = False,
) -> None:
    """Draw one picture of a config: PNG, JPEG or WebP by the ending of the output."""
    check_target(output)
    form = _FORMATS.get(output.suffix.lower())
    if form is None:
        raise InvalidInput(f"{output} must end with {', '.join(_FORMATS)}")
    read = _read_config(config)
    with open_client() as client:
        output.write_bytes(client.videos.draw_frame(read, at, form))
    show_saved("frame", output, as_json=as_json)


def require_extension_of_video(client: Client, video: str, output: Path) -> None:
    """Raise if the name of a file says that it has another format than the video."""
    made = client.videos.config(video)["extension"]
    require_extension(output, made, resource=f"video {video}")


def _read_config(config: Path) -> dict[str, Any]:
    if config.suffix.lower() in _PAGES:
        raise InvalidInput(f"{config} is no layer config: framekiln renders create renders pages")
    return read_json(config)


def _files(given: list[str]) -> dict[str, Path]:
    files = {}
    for each in given:
        layer, separator, path = each.partition("=")
        if not separator or not layer or not Path(path).is_file():
            raise InvalidInput(f"--file {each} must be LAYER=PATH, with the path of a local file")
        files[layer] = Path(path)
    return files


def _show(found: RemoteVideo, *, as_json: bool) -> None:
    seconds = "" if found.duration is None else f"  {found.duration:g} s"
    show_one(found, f"{found.id}  {found.status}{seconds}", as_json=as_json)
