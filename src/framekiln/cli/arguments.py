"""Arguments shared by commands: pipelines, and local media to upload first."""

from pathlib import Path
from typing import Annotated

import typer

from framekiln.cli.upload_bar import upload_bar
from framekiln.client import Client
from framekiln.kit.errors import InvalidInput
from framekiln.kit.ids import parse_uuid

PipelineArgument = Annotated[str, typer.Argument(help="Name or id of the pipeline.")]
DefinitionOption = Annotated[
    Path, typer.Option("--definition", help="A JSON file, or - for standard input.")
]


def resolve_file_id(client: Client, id_or_path: str, *, quiet: bool) -> str:
    """Return the id of a file on the service; a local file is uploaded if necessary."""
    if parse_uuid(id_or_path) is not None:
        return id_or_path
    path = Path(id_or_path)
    if not path.exists():
        raise InvalidInput(f"{id_or_path} is neither the id of a file nor a local file")
    with upload_bar(quiet) as bar:
        return client.files.upload(path, bar.show_bytes).id
