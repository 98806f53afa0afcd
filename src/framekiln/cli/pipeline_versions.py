"""`framekiln pipelines versions`: the definitions of a pipeline, which never change."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

import typer

from framekiln.cli.arguments import DefinitionOption, PipelineArgument
from framekiln.cli.json_input import read_json
from framekiln.cli.output import JsonFlag, write_json, write_line, write_table
from framekiln.cli.service_client import open_client

app = typer.Typer(
    help="Manage the versions of a pipeline.", no_args_is_help=True, add_completion=False
)


@app.command("list")
def list_all(pipeline: PipelineArgument, as_json: JsonFlag = False) -> None:
    """Show the versions of a pipeline, newest first."""
    with open_client() as client:
        found = list(client.pipelines.versions(client.pipelines.find(pipeline).id))
    if as_json:
        write_json([dict(each.raw) for each in found])
        return
    rows = [(each.number, each.created_at, len(each.needs), each.digest) for each in found]
    write_table(("version", "created", "steps", "digest"), rows)


@app.command()
def get(
    pipeline: PipelineArgument,
    number: Annotated[int, typer.Argument(help="Number of the version, from 1.", min=1)],
    as_json: JsonFlag = False,
) -> None:
    """Show one version."""
    with open_client() as client:
        found = client.pipelines.version(client.pipelines.find(pipeline).id, number)
    if as_json:
        write_json(dict(found.raw))
        return
    write_line(f"version {found.number}  {found.digest}")
    show_steps(found.definition)


@app.command()
def create(
    pipeline: PipelineArgument, definition: DefinitionOption, as_json: JsonFlag = False
) -> None:
    """Create a version, unless an equal one exists."""
    asked = read_json(definition)
    with open_client() as client:
        found, is_new = client.pipelines.create_version(client.pipelines.find(pipeline).id, asked)
    show_warnings(found.warnings)
    if as_json:
        version = {name: each for name, each in found.raw.items() if name != "warnings"}
        write_json({"version": version, "created": is_new, "warnings": list(found.warnings)})
        return
    write_line(f"version {found.number}  {found.digest}{'' if is_new else '  was there before'}")


def show_warnings(warnings: Iterable[Mapping[str, str]]) -> None:
    """Write the warnings about a definition to standard error."""
    for each in warnings:
        typer.echo(f"warning: {each['path']}: {each['message']}", err=True)


def show_steps(definition: Mapping[str, Any]) -> None:
    """Write the steps of a definition."""
    rows = [
        (key, step["type"], step["namespace"], ", ".join(step["needs"]))
        for key, step in definition["steps"].items()
    ]
    write_table(("step", "type", "namespace", "needs"), rows)
