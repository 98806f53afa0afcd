"""`framekiln renders`: renders on the service; `framekiln render` needs none."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from framekiln.cli.compositions import LAYER_CONFIG_ENDING
from framekiln.cli.film_options import AtOption, PresetOption, TransparentFlag
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
from framekiln.cli.output_formats import (
    PAGE_FILM,
    page_format_of,
    require_extension,
    still_format,
    still_time,
)
from framekiln.cli.service_client import open_client
from framekiln.client.bundles import is_bundle
from framekiln.client.model import RemoteRender
from framekiln.composition.render_preset import RenderPreset
from framekiln.kit.errors import InvalidInput, reason_of

app = typer.Typer(
    help="Create, follow and download renders of HTML pages on the service.",
    no_args_is_help=True,
    add_completion=False,
)

RenderArgument = Annotated[str, typer.Argument(help="Id of the render.")]


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
    at: AtOption = None,
    transparent: TransparentFlag = False,
    preset: PresetOption = RenderPreset.STANDARD,
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
    asked: dict[str, Any] = {
        "width": width,
        "height": height,
        "fps": fps,
        "duration_ms": duration_ms,
    }
    if at is not None and duration_ms is not None:
        raise InvalidInput("--at and --duration-ms cannot be combined: --at is the time of a still")
    if output is not None:
        check_target(output)
    made_as = PAGE_FILM if output is None else page_format_of(output)
    asked |= _encoding(made_as, at=at, is_transparent=transparent, preset=preset)
    body = {key: value for key, value in asked.items() if value is not None}
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
        made = client.renders.request(render)["output"]["container"]
        require_extension(output, made, resource=f"render {render}")
        client.renders.download(render, output)
    show_saved(render, output, as_json=as_json)


@app.command()
def delete(render: RenderArgument, as_json: JsonFlag = False) -> None:
    """Delete a render that has ended, and its output."""
    with open_client() as client:
        client.renders.delete(render)
    show_deleted(render, as_json=as_json)


def _encoding(
    made_as: str, *, at: str | None, is_transparent: bool, preset: RenderPreset
) -> dict[str, Any]:
    """Return the fields of a request that follow from the format; raise if options contradict."""
    is_film = made_as == PAGE_FILM
    # Also checks that a film has none of its options.
    at_ms = still_time(at, is_film=is_film)
    still_format(made_as, is_transparent=is_transparent)
    if is_film:
        return {"preset": preset}
    if preset is not RenderPreset.STANDARD:
        raise InvalidInput("--preset works only for films: a still has no preset")
    output = {"container": made_as, **({"transparency": True} if is_transparent else {})}
    return {"output": output} if at is None else {"output": output, "duration_ms": at_ms}


def _html(page: Path) -> str:
    if page.suffix.lower() == LAYER_CONFIG_ENDING:
        raise InvalidInput(f"{page} is no page: framekiln videos create makes videos of configs")
    try:
        data = sys.stdin.buffer.read() if str(page) == "-" else page.read_bytes()
        return data.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"cannot read {page}: {reason_of(error)}") from error


def _show(found: RemoteRender, *, as_json: bool) -> None:
    show_one(found, f"{found.id}  {found.status}", as_json=as_json)
