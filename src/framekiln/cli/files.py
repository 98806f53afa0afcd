"""`framekiln files`: files on the service; `framekiln upload` sends new ones."""

from typing import Annotated

import typer

from framekiln.cli.media_output import (
    LimitOption,
    TargetOption,
    check_target,
    fraction_bar,
    show_deleted,
    show_one,
    show_rows,
    show_saved,
)
from framekiln.cli.output import JsonFlag
from framekiln.cli.service_client import open_client
from framekiln.client.model import RemoteFile

app = typer.Typer(
    help="List, follow, download and delete files.", no_args_is_help=True, add_completion=False
)

FileArgument = Annotated[str, typer.Argument(help="Id of the file.")]


@app.command("list")
def list_all(
    search: Annotated[str | None, typer.Option(help="Only those with this in their name.")] = None,
    status: Annotated[str | None, typer.Option(help="Only those with this status.")] = None,
    file_type: Annotated[
        str | None, typer.Option("--type", help="Only video, image or caption files.")
    ] = None,
    limit: LimitOption = 25,
    as_json: JsonFlag = False,
) -> None:
    """Show files, newest first."""
    with open_client() as client:
        show_rows(
            client.files.list(search=search, status=status, file_type=file_type),
            {
                "id": lambda each: each.id,
                "status": lambda each: each.status,
                "type": lambda each: each.type,
                "bytes": lambda each: each.byte_size,
                "name": lambda each: each.filename,
            },
            limit=limit,
            as_json=as_json,
        )


@app.command()
def get(file: FileArgument, as_json: JsonFlag = False) -> None:
    """Show a file."""
    with open_client() as client:
        _show(client.files.get(file), as_json=as_json)


@app.command()
def watch(file: FileArgument, as_json: JsonFlag = False) -> None:
    """Wait until a file is ready, with a progress bar."""
    with open_client() as client, fraction_bar("processing", quiet=as_json) as bar:
        found = client.files.wait_ready(file, bar)
        bar(1)
    _show(found, as_json=as_json)


@app.command()
def download(file: FileArgument, output: TargetOption, as_json: JsonFlag = False) -> None:
    """Download the content of a file."""
    check_target(output)
    with open_client() as client:
        client.files.download(file, output)
    show_saved(file, output, as_json=as_json)


@app.command()
def delete(file: FileArgument, as_json: JsonFlag = False) -> None:
    """Delete a file and all that belongs to it."""
    with open_client() as client:
        client.files.delete(file)
    show_deleted(file, as_json=as_json)


def _show(found: RemoteFile, *, as_json: bool) -> None:
    show_one(found, f"{found.id}  {found.status}  {found.filename}", as_json=as_json)
