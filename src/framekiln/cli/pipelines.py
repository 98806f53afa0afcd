"""`framekiln pipelines`: named graphs of steps, their versions and their endpoints."""

from typing import Annotated

import typer

from framekiln.cli import pipeline_endpoints, pipeline_versions
from framekiln.cli.arguments import DefinitionOption, PipelineArgument
from framekiln.cli.json_input import read_json
from framekiln.cli.output import JsonFlag, write_json, write_line, write_table
from framekiln.cli.service_client import open_client
from framekiln.client.model import RemotePipeline

app = typer.Typer(
    help="Manage pipelines, their versions and endpoints.",
    no_args_is_help=True,
    add_completion=False,
)
app.add_typer(pipeline_versions.app, name="versions")
app.add_typer(pipeline_endpoints.app, name="endpoints")


@app.command("list")
def list_all(
    archived: Annotated[bool, typer.Option("--archived", help="Include archived ones.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Show all pipelines, newest first."""
    with open_client() as client:
        found = list(client.pipelines.list(include_archived=archived))
    if as_json:
        write_json([dict(each.raw) for each in found])
        return
    rows = [(each.name, each.id, each.latest_version, each.archived_at) for each in found]
    write_table(("name", "id", "version", "archived"), rows)


@app.command()
def get(pipeline: PipelineArgument, as_json: JsonFlag = False) -> None:
    """Show a pipeline and the steps of its latest version."""
    with open_client() as client:
        # Items of a list do not have all fields of a pipeline.
        found = client.pipelines.get(client.pipelines.find(pipeline).id)
    _show(found, as_json=as_json)
    if not as_json:
        pipeline_versions.show_steps(found.raw["version"]["definition"])


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="Name of the new pipeline.")],
    definition: DefinitionOption,
    as_json: JsonFlag = False,
) -> None:
    """Create a pipeline with its first version."""
    asked = read_json(definition)
    with open_client() as client:
        found = client.pipelines.create(name, asked)
    _show(found, as_json=as_json)
    pipeline_versions.show_warnings(found.warnings)


@app.command()
def archive(pipeline: PipelineArgument, as_json: JsonFlag = False) -> None:
    """Archive a pipeline: no new versions or runs. Its name can be used again."""
    with open_client() as client:
        found = client.pipelines.archive(client.pipelines.find(pipeline).id)
    _show(found, as_json=as_json)


def _show(found: RemotePipeline, *, as_json: bool) -> None:
    if as_json:
        write_json(dict(found.raw))
        return
    archived = "  archived" if found.archived_at else ""
    write_line(f"{found.id}  {found.name}  version {found.latest_version}{archived}")
