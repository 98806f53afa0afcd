"""`framekiln renders`: renders on the service; `framekiln render` needs none."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from framekiln.cli.json_input import read_object
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
from framekiln.cli.output import JsonFlag
from framekiln.cli.service_client import open_client
from framekiln.client.bundles import is_bundle
from framekiln.client.model import RemoteRender
from framekiln.kit.errors import InvalidInput, reason_of

app = typer.Typer(
    help="Create, follow and download renders of HTML pages on the service.",
    no_args_is_help=True,
    add_completion=False,
)

RenderArgument = Annotated[str, typer.Argument(help="Id of the render.")]
_STILLS = {".png": "png", ".jpg": "jpeg", ".jpeg": "jpeg", ".webp": "webp"}


@app.command()
def create(
    page: Annotated[
        Path,
        typer.Argument(
            help="An HTML file, a folder with an index.html, a bundle (.tar.gz, .zip), or - for"
            " a page on standard input."
        ),
    ],
    width: Annotated[int | None, typer.Option(help="In pixels.", min=1)] = None,
    height: Annotated[int | None, typer.Option(help="In pixels.", min=1)] = None,
    fps: Annotated[float | None, typer.Option(help="Frames per second.")] = None,
    duration_ms: Annotated[int | None, typer.Option(help="In milliseconds.", min=0)] = None,
    data: Annotated[
        str | None, typer.Option("--data", help="A JSON object for the page: EF_RENDER_DATA.")
    ] = None,
    data_file: Annotated[
        Path | None, typer.Option("--data-file", help="The same as a JSON file, or -.")
    ] = None,
    wait: WaitFlag = False,
    output: OutputOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Render a page, folder or bundle; a still if the output ends with .png, .jpg or .webp."""
    asked = {"width": width, "height": height, "fps": fps, "duration_ms": duration_ms}
    body: dict[str, Any] = {key: value for key, value in asked.items() if value is not None}
    if output is not None:
        check_target(output)
        if still := _STILLS.get(output.suffix.lower()):
            body["output"] = {"container": still}
    values = read_object(data, data_file)
    html = None if is_bundle(page) else _html(page)
    with open_client() as client:
        if html is None:
            made = client.renders.create_from_bundle(page, data=values, **body)
        else:
            made = client.renders.create(html=html, data=values, **body)
        found = finish(client.renders, made, wait=wait, output=output, as_json=as_json)
    _show(found, as_json=as_json)


@app.command("list")
def list_all(
    status: Annotated[str | None, typer.Option(help="Only those with this status.")] = None,
    limit: LimitOption = 25,
    as_json: JsonFlag = False,
) -> None:
    """Show renders, newest first."""
    with open_client() as client:
        show_rows(
            client.renders.list(status=status),
            {
                "id": lambda each: each.id,
                "status": lambda each: each.status,
                "ms": lambda each: each.raw["duration_ms"],
                "created": lambda each: each.raw["created_at"],
            },
            limit=limit,
            as_json=as_json,
        )


@app.command()
def get(render: RenderArgument, as_json: JsonFlag = False) -> None:
    """Show a render."""
    with open_client() as client:
        _show(client.renders.get(render), as_json=as_json)


@app.command()
def watch(render: RenderArgument, as_json: JsonFlag = False) -> None:
    """Wait until a render is complete, with a progress bar."""
    with open_client() as client:
        _show(wait_for(client.renders, render, quiet=as_json), as_json=as_json)


@app.command()
def download(render: RenderArgument, output: TargetOption, as_json: JsonFlag = False) -> None:
    """Download the output of a render."""
    check_target(output)
    with open_client() as client:
        client.renders.download(render, output)
    show_saved(render, output, as_json=as_json)


@app.command()
def delete(render: RenderArgument, as_json: JsonFlag = False) -> None:
    """Delete a render that has ended, and its output."""
    with open_client() as client:
        client.renders.delete(render)
    show_deleted(render, as_json=as_json)


def _html(page: Path) -> str:
    try:
        data = sys.stdin.buffer.read() if str(page) == "-" else page.read_bytes()
        return data.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"cannot read {page}: {reason_of(error)}") from error


def _show(found: RemoteRender, *, as_json: bool) -> None:
    show_one(found, f"{found.id}  {found.status}", as_json=as_json)
