"""`framekiln templates`: layer configs with named inputs."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from framekiln.cli.json_input import read_json, read_object
from framekiln.cli.media_output import (
    LimitOption,
    OutputOption,
    WaitFlag,
    check_target,
    finish,
    show_deleted,
    show_one,
    show_rows,
)
from framekiln.cli.output import JsonFlag, write_json
from framekiln.cli.service_client import open_client
from framekiln.cli.videos import require_extension_of_video
from framekiln.client.model import RemoteTemplate
from framekiln.kit.errors import InvalidInput
from framekiln.kit.suggestions import did_you_mean

app = typer.Typer(
    help="Store templates, and make videos of them.", no_args_is_help=True, add_completion=False
)

_FIELDS: Final = ("name", "config", "inputs", "default_values", "destinations")
# Editors find the JSON Schema by the first; the others are in versions that the service returned.
_NOT_SENT: Final = {"$schema", "id", "version", "created_at"}

TemplateId = Annotated[str, typer.Argument(help="Id of the template.")]


TemplateFile = Annotated[
    Path,
    typer.Argument(
        help="A JSON file with config, inputs and default_values, or - for standard input."
    ),
]
NameOption = Annotated[
    str | None, typer.Option(help="Name of the template; by default that in the file.")
]


VersionOption = Annotated[
    int | None, typer.Option(help="A version of the template; by default the latest.", min=1)
]


@app.command()
def create(template: TemplateFile, name: NameOption = None, as_json: JsonFlag = False) -> None:
    """Store a template."""
    content, warnings = _read_template(template, name)
    with open_client() as client:
        _show(client.templates.create(**content), warnings, as_json=as_json)


@app.command()
def update(
    template: TemplateId, file: TemplateFile, name: NameOption = None, as_json: JsonFlag = False
) -> None:
    """Make the next version of a template; earlier ones are kept."""
    content, warnings = _read_template(file, name)
    with open_client() as client:
        _show(client.templates.update(template, **content), warnings, as_json=as_json)


@app.command("list")
def list_all(limit: LimitOption = 25, as_json: JsonFlag = False) -> None:
    """Show templates, newest first."""
    with open_client() as client:
        show_rows(
            client.templates.list(),
            {
                "id": lambda each: each.id,
                "name": lambda each: each.name,
                "created": lambda each: each.created_at,
            },
            limit=limit,
            as_json=as_json,
        )


@app.command()
def get(template: TemplateId, as_json: JsonFlag = False) -> None:
    """Show a template."""
    with open_client() as client:
        _show(client.templates.get(template), [], as_json=as_json)


@app.command()
def versions(template: TemplateId, limit: LimitOption = 25, as_json: JsonFlag = False) -> None:
    """Show the versions of a template, newest first."""
    with open_client() as client:
        show_rows(
            client.templates.versions(template),
            {
                "version": lambda each: each.number,
                "name": lambda each: each.name,
                "created": lambda each: each.created_at,
            },
            limit=limit,
            as_json=as_json,
        )


@app.command()
def schema(template: TemplateId, version: VersionOption = None) -> None:
    """Write the JSON Schema of the data of a template."""
    with open_client() as client:
        write_json(client.templates.schema(template, version=version))


@app.command()
def render(
    template: TemplateId,
    data: Annotated[
        str | None, typer.Option("--data", help='Values of the inputs: {"name": "Ada"}.')
    ] = None,
    data_file: Annotated[
        Path | None, typer.Option("--data-file", help="The same as a JSON file, or -.")
    ] = None,
    version: VersionOption = None,
    wait: WaitFlag = False,
    output: OutputOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Fill a template with data and create the video."""
    values = read_object(data, data_file) or {}
    if output is not None:
        check_target(output)
    with open_client() as client:
        made = client.templates.render(template, values, version=version)
        if output is not None:
            require_extension_of_video(client, made.id, output)
        found = finish(client.videos, made, wait=wait, output=output, as_json=as_json)
    show_one(found, f"{found.id}  {found.status}", as_json=as_json)


@app.command()
def delete(template: TemplateId, as_json: JsonFlag = False) -> None:
    """Delete a template; its videos are kept."""
    with open_client() as client:
        client.templates.delete(template)
    show_deleted(template, as_json=as_json)


def _read_template(file: Path, name: str | None) -> tuple[dict[str, Any], list[dict[str, str]]]:
    """Return what to send, and warnings about fields of the file that are not sent."""
    read = read_json(file)
    name = name or read.get("name")
    if not isinstance(name, str) or not isinstance(read.get("config"), dict):
        raise InvalidInput(f"{file} needs a config, and a name, which may also be given as --name")
    content = {"name": name, **{key: read.get(key) for key in _FIELDS if key != "name"}}
    unknown = sorted(read.keys() - set(_FIELDS) - _NOT_SENT)
    return content, [_unknown_field(each) for each in unknown]


def _unknown_field(name: str) -> dict[str, str]:
    message = f"{name} is not a field of a template"
    warning = {"path": name, "code": "unknown_field", "message": message}
    hint = did_you_mean(name, _FIELDS)
    return {**warning, "hint": hint} if hint else warning


def _show(found: RemoteTemplate, warnings: list[dict[str, str]], *, as_json: bool) -> None:
    """Write a template; `warnings` come before those of the service."""
    if warnings:
        raw = {**found.raw, "warnings": [*warnings, *found.raw.get("warnings", ())]}
        found = replace(found, raw=raw)
    show_one(found, f"{found.id}  {found.name}", as_json=as_json)
