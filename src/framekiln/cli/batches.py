"""`framekiln batches`: one pipeline over many files."""

from typing import Annotated

import typer

from framekiln.cli.arguments import PipelineArgument, resolve_file_id
from framekiln.cli.output import JsonFlag, write_json, write_line, write_table
from framekiln.cli.service_client import open_client
from framekiln.client.model import RemoteBatch

app = typer.Typer(
    help="Run a pipeline over many files.", no_args_is_help=True, add_completion=False
)

_COUNTS = ("run", "succeeded", "failed", "filtered", "cancelled")


@app.command()
def create(
    pipeline: PipelineArgument,
    files: Annotated[list[str], typer.Argument(help="Ids of files, or local files to upload.")],
    max_in_flight: Annotated[
        int | None, typer.Option(help="Maximum number of runs at a time.", min=1)
    ] = None,
    version: Annotated[
        int | None, typer.Option(help="Version of the pipeline; by default the latest.", min=1)
    ] = None,
    idempotency_key: Annotated[
        str | None,
        typer.Option(help="Repeating the command with the same key returns the same batch."),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Run a pipeline over many files."""
    more = {"max_in_flight": max_in_flight, "version": version}
    given = {key: value for key, value in more.items() if value is not None}
    with open_client() as client:
        pipeline_id = client.pipelines.find(pipeline).id
        file_ids = [resolve_file_id(client, each, quiet=as_json) for each in files]
        batch, _ = client.batches.create(
            pipeline_id, file_ids, idempotency_key=idempotency_key, **given
        )
    _show(batch, as_json=as_json)


@app.command()
def get(
    batch: Annotated[str, typer.Argument(help="Id of the batch.")], as_json: JsonFlag = False
) -> None:
    """Show a batch and the status of its runs."""
    with open_client() as client:
        _show(client.batches.get(batch), as_json=as_json)


@app.command("list")
def list_all(as_json: JsonFlag = False) -> None:
    """Show all batches, newest first."""
    with open_client() as client:
        found = list(client.batches.list())
    if as_json:
        write_json([dict(each.raw) for each in found])
        return
    rows = [(each.id, each.status, *_counts(each)) for each in found]
    write_table(("id", "status", "runs", *_COUNTS[1:]), rows)


def _show(batch: RemoteBatch, *, as_json: bool) -> None:
    if as_json:
        write_json(dict(batch.raw))
        return
    runs, *ended = _counts(batch)
    counted = ", ".join(f"{count} {name}" for name, count in zip(_COUNTS[1:], ended, strict=True))
    write_line(f"{batch.id}  {batch.status}  {runs} runs: {counted}")


def _counts(batch: RemoteBatch) -> list[int]:
    return [batch.raw[f"{name}_count"] for name in _COUNTS]
