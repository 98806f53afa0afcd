"""`framekiln upload`: a local file goes to a running service, and goes on where it broke off."""

from pathlib import Path
from typing import Annotated

import typer

from framekiln.cli.output import JsonFlag, write_json
from framekiln.cli.remote import open_client
from framekiln.cli.upload_bar import upload_bar
from framekiln.client.records import RemoteFile
from framekiln.kit.errors import InvalidInput


def upload(
    file: Annotated[Path, typer.Argument(help="A video, sound, image or caption file.")],
    stream: Annotated[
        bool, typer.Option("--stream", help="Send a video as verified fragments, usable at once.")
    ] = False,
    resume: Annotated[
        str | None, typer.Option("--resume", help="Id of the file whose stream is continued.")
    ] = None,
    wait: Annotated[
        bool, typer.Option("--wait", help="Return when the file is ready, not only uploaded.")
    ] = False,
    expires_at: Annotated[
        str | None, typer.Option("--expires-at", help="When it is removed; ISO 8601.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Upload a file to the service at FRAMEKILN_BASE_URL; run it again to go on where it broke."""
    if resume is not None and not stream:
        raise InvalidInput("--resume is for --stream; other uploads are found again by themselves")
    with open_client() as client, upload_bar(as_json) as bar:
        if stream:
            found = client.files.upload_streamed(
                file,
                bar.bytes_done,
                file_id=resume,
                expires_at=expires_at,
                on_begun=lambda file_id: bar.tell(f"stream {file_id}"),
            )
        else:
            found = client.files.upload(file, bar.bytes_done, expires_at=expires_at)
        if wait:
            found = client.files.wait_ready(found.id, bar.fraction_done)
    _tell(found, as_json=as_json)


def _tell(found: RemoteFile, *, as_json: bool) -> None:
    if as_json:
        write_json(dict(found.told))
    else:
        typer.echo(f"{found.id}  {found.status}  {found.filename}")
