"""`framekiln bulks`: a video for each row of a table."""

from pathlib import Path
from typing import Annotated

import typer

from framekiln.cli.media_output import (
    LimitOption,
    OutputOption,
    TargetOption,
    WaitFlag,
    check_target,
    finish,
    show_one,
    show_rows,
    show_saved,
    wait_for,
)
from framekiln.cli.output import JsonFlag
from framekiln.cli.service_client import open_client
from framekiln.client.model import RemoteBulk
from framekiln.kit.errors import InvalidInput

app = typer.Typer(
    help="Make a video for each row of a table.", no_args_is_help=True, add_completion=False
)

BulkId = Annotated[str, typer.Argument(help="Id of the bulk.")]


@app.command()
def create(
    template: Annotated[str, typer.Argument(help="Id of the template.")],
    table: Annotated[Path, typer.Argument(help="A table: .csv, .json, .jsonl or .ndjson.")],
    key: Annotated[
        str | None,
        typer.Option(help="Idempotency key: the same key and table return the first bulk."),
    ] = None,
    version: Annotated[
        int | None, typer.Option(help="A version of the template; by default the latest.", min=1)
    ] = None,
    wait: WaitFlag = False,
    output: OutputOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Make a video of each row; nothing starts if any row is wrong."""
    if output is not None:
        _check_archive(output)
    with open_client() as client:
        made = client.bulks.create_from_table(template, table, version=version, key=key)
        found = finish(client.bulks, made, wait=wait, output=output, as_json=as_json)
    _show(found, as_json=as_json)


@app.command("list")
def list_all(limit: LimitOption = 25, as_json: JsonFlag = False) -> None:
    """Show bulks, newest first."""
    with open_client() as client:
        show_rows(
            client.bulks.list(),
            {
                "id": lambda each: each.id,
                "status": lambda each: each.status,
                "rows": lambda each: each.row_count,
                "failed": lambda each: each.counts["failed"],
                "created": lambda each: each.raw["created_at"],
            },
            limit=limit,
            as_json=as_json,
        )


@app.command()
def get(bulk: BulkId, as_json: JsonFlag = False) -> None:
    """Show a bulk, with the number of its rows by status."""
    with open_client() as client:
        _show(client.bulks.get(bulk), as_json=as_json)


@app.command()
def watch(bulk: BulkId, as_json: JsonFlag = False) -> None:
    """Wait until all rows have ended."""
    with open_client() as client:
        _show(wait_for(client.bulks, bulk, quiet=as_json), as_json=as_json)


@app.command()
def rows(bulk: BulkId, limit: LimitOption = 25, as_json: JsonFlag = False) -> None:
    """Show rows with their videos or errors, in order."""
    with open_client() as client:
        show_rows(
            client.bulks.rows(bulk),
            {
                "row": lambda each: each.row,
                "status": lambda each: each.status,
                "video": lambda each: each.video_id or "",
                "error": lambda each: each.error["message"] if each.error else "",
            },
            limit=limit,
            as_json=as_json,
        )


@app.command()
def cancel(bulk: BulkId, as_json: JsonFlag = False) -> None:
    """Start no more rows; finished videos stay."""
    with open_client() as client:
        _show(client.bulks.cancel(bulk), as_json=as_json)


@app.command()
def download(bulk: BulkId, output: TargetOption, as_json: JsonFlag = False) -> None:
    """Write the videos of a bulk that has ended to a ZIP file."""
    _check_archive(output)
    with open_client() as client:
        client.bulks.download(bulk, output)
    show_saved(bulk, output, as_json=as_json)


@app.command()
def manifest(bulk: BulkId, output: TargetOption, as_json: JsonFlag = False) -> None:
    """Write the results of all rows to a .json or .csv file, also while the bulk runs."""
    check_target(output)
    ending = output.suffix.lower()
    if ending not in (".json", ".csv"):
        raise InvalidInput(f"{output} must end in .json or .csv")
    with open_client() as client:
        client.bulks.manifest(bulk, output, "csv" if ending == ".csv" else "json")
    show_saved(bulk, output, as_json=as_json)


def _check_archive(output: Path) -> None:
    check_target(output)
    if output.suffix.lower() != ".zip":
        raise InvalidInput(f"{output} must end in .zip: it gets all videos of the bulk")


def _show(found: RemoteBulk, *, as_json: bool) -> None:
    counts = ", ".join(f"{count} {name}" for name, count in found.counts.items() if count)
    show_one(found, f"{found.id}  {found.status}  {counts}", as_json=as_json)
