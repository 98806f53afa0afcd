"""`framekiln runs`: runs a pipeline on a file, and watches it."""

from itertools import islice
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.live import Live

from framekiln.cli.arguments import PipelineArgument, resolve_file_id
from framekiln.cli.output import JsonFlag, write_json, write_line, write_table
from framekiln.cli.run_tree import draw_run
from framekiln.cli.service_client import open_client
from framekiln.client import Client
from framekiln.client.model import RemoteRun
from framekiln.kit.clock import SystemClock

EXIT_CODES: Final = {"failed": 1, "filtered": 3, "cancelled": 4}
"""By the final status of a run; all others are not failures."""

app = typer.Typer(
    help="Start, follow, cancel and retry runs of pipelines.",
    no_args_is_help=True,
    add_completion=False,
)

RunId = Annotated[str, typer.Argument(help="Id of the run.")]
Watch = Annotated[
    bool,
    typer.Option("--watch", help="Wait for the end of the run; the exit code reports the result."),
]


@app.command()
def create(
    pipeline: PipelineArgument,
    file: Annotated[str, typer.Argument(help="Id of a file, or a local file to upload.")],
    watch: Watch = False,
    version: Annotated[
        int | None, typer.Option(help="Version of the pipeline; by default the latest.", min=1)
    ] = None,
    external_id: Annotated[
        str | None, typer.Option(help="An id of your own, returned unchanged.")
    ] = None,
    idempotency_key: Annotated[
        str | None,
        typer.Option(help="Repeating the command with the same key returns the same run."),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Run a pipeline over a file."""
    more = {"version": version, "external_id": external_id}
    given = {key: value for key, value in more.items() if value is not None}
    with open_client() as client:
        # Checked first: nothing needs to be uploaded for a pipeline that does not exist.
        pipeline_id = client.pipelines.find(pipeline).id
        file_id = resolve_file_id(client, file, quiet=as_json)
        run, _ = client.runs.create(pipeline_id, file_id, idempotency_key=idempotency_key, **given)
        show_when_done(client, run, watch=watch, as_json=as_json)


@app.command()
def get(run: RunId, watch: Watch = False, as_json: JsonFlag = False) -> None:
    """Show a run with its steps."""
    with open_client() as client:
        found = client.runs.get(run)
        if watch:
            show_when_done(client, found, watch=True, as_json=as_json)
        elif as_json:
            write_json(dict(found.raw))
        else:
            Console(markup=False).print(draw_run(found, _needs(client, found), SystemClock().now()))


@app.command("list")
def list_all(
    status: Annotated[str | None, typer.Option(help="Only those with this status.")] = None,
    pipeline_id: Annotated[
        str | None, typer.Option(help="Name or id of the pipeline; only its runs.")
    ] = None,
    file_id: Annotated[str | None, typer.Option(help="Only those of this file.")] = None,
    batch_id: Annotated[str | None, typer.Option(help="Only those of this batch.")] = None,
    limit: Annotated[int, typer.Option(help="Maximum number of runs.", min=1)] = 25,
    as_json: JsonFlag = False,
) -> None:
    """Show runs, newest first."""
    with open_client() as client:
        query = {"status": status, "file_id": file_id, "batch_id": batch_id}
        if pipeline_id is not None:
            query["pipeline_id"] = client.pipelines.find(pipeline_id).id
        found = list(islice(client.runs.list(limit=min(limit, 100), **query), limit))
    if as_json:
        write_json([dict(each.raw) for each in found])
        return
    rows = [
        (each.id, each.status, each.pipeline_id, each.file_id, each.raw["created_at"])
        for each in found
    ]
    write_table(("id", "status", "pipeline", "file", "created"), rows)


@app.command()
def cancel(run: RunId, as_json: JsonFlag = False) -> None:
    """Cancel a run immediately."""
    with open_client() as client:
        _show(client.runs.cancel(run), as_json=as_json)


@app.command()
def retry(run: RunId, watch: Watch = False, as_json: JsonFlag = False) -> None:
    """Resume a run that failed or was cancelled. Finished steps are kept."""
    with open_client() as client:
        show_when_done(client, client.runs.retry(run), watch=watch, as_json=as_json)


@app.command()
def outputs(
    run: RunId,
    namespace: Annotated[str, typer.Argument(help="Namespace of the step, by default its key.")],
    as_json: JsonFlag = False,
) -> None:
    """Write the outputs of a run as JSON: one line per window, or one list with --json."""
    with open_client() as client:
        found = client.runs.outputs(run, namespace)
        if as_json:
            write_json(list(found))
            return
        for each in found:
            write_json(each)


def show_when_done(client: Client, run: RemoteRun, *, watch: bool, as_json: bool) -> None:
    """Show a run; if it is watched, wait for its end and exit with the code of its status."""
    if not watch:
        _show(run, as_json=as_json)
        return
    ended = client.runs.wait(run.id) if as_json else _watch(client, run)
    _show(ended, as_json=as_json)
    raise typer.Exit(EXIT_CODES.get(ended.status, 0))


def _watch(client: Client, run: RemoteRun) -> RemoteRun:
    """Draw a run repeatedly on standard error, until it has ended."""
    needs, clock, console = _needs(client, run), SystemClock(), Console(stderr=True)
    with Live(console=console, auto_refresh=False) as live:
        ended = client.runs.wait(
            run.id, lambda found: live.update(draw_run(found, needs, clock.now()), refresh=True)
        )
    if not console.is_terminal:
        # In a file, only the last state is written, without a newline at its end.
        console.print()
    return ended


def _needs(client: Client, run: RemoteRun) -> dict[str, list[str]]:
    return client.pipelines.version(run.pipeline_id, run.pipeline_version).needs


def _show(run: RemoteRun, *, as_json: bool) -> None:
    if as_json:
        write_json(dict(run.raw))
        return
    write_line(f"{run.id}  {run.status}")
    if run.error is not None:
        at = f" (step {run.error['step_key']})" if run.error["step_key"] else ""
        typer.echo(f"{run.error['code']}: {run.error['message']}{at}", err=True)
