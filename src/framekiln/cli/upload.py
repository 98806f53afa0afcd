"""`framekiln upload`: a local file goes to a running service, and goes on where it broke off."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from framekiln.cli.output import JsonFlag, write_json
from framekiln.cli.runs import show_when_done
from framekiln.cli.service_client import open_client
from framekiln.cli.upload_bar import UploadBar, upload_bar
from framekiln.client import Client
from framekiln.client.files import OnRegistered, RemoteFiles
from framekiln.client.model import RemoteFile, RemoteRun
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
    run: Annotated[
        str | None,
        typer.Option("--run", help="Name or id of a pipeline that is run over it, at once."),
    ] = None,
    watch: Annotated[
        bool,
        typer.Option("--watch", help="Stay until the run has ended; the exit code says how."),
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Upload a file to the service at FRAMEKILN_BASE_URL; run it again to go on where it broke."""
    if resume is not None and not stream:
        raise InvalidInput("--resume is for --stream; other uploads are found again by themselves")
    if watch and run is None:
        raise InvalidInput("--watch is for --run; --wait waits for the file")
    with open_client() as client:
        beginning = RunStarter(client, run)
        with upload_bar(as_json) as bar:
            sending = FileUpload(client.files, file, bar, expires_at)
            found = sending.as_stream(resume, beginning) if stream else sending.in_chunks(beginning)
            if wait:
                found = client.files.wait_ready(found.id, bar.show_fraction)
        if beginning.run is None or not as_json:
            _show(found, as_json=as_json)
        if beginning.run is not None:
            show_when_done(client, beginning.run, watch=watch, as_json=as_json)


class RunStarter:
    """Begins a run as soon as there is a file, before its bytes are sent."""

    def __init__(self, client: Client, pipeline: str | None) -> None:
        self._client = client
        # Found first: nothing need be uploaded for a pipeline that is not there.
        self._pipeline_id = None if pipeline is None else client.pipelines.find(pipeline).id
        self.run: RemoteRun | None = None

    def __call__(self, file_id: str) -> None:
        """Begin it once: an upload that is continued goes on with its run, too."""
        if self._pipeline_id is not None:
            key = f"upload {file_id} {self._pipeline_id}"
            self.run, _ = self._client.runs.create(self._pipeline_id, file_id, idempotency_key=key)


@dataclass(frozen=True)
class FileUpload:
    """One local file on its way, in either manner."""

    files: RemoteFiles
    path: Path
    bar: UploadBar
    expires_at: str | None

    def in_chunks(self, on_begun: OnRegistered) -> RemoteFile:
        """Send it as it is."""
        return self.files.upload(
            self.path, self.bar.show_bytes, expires_at=self.expires_at, on_begun=on_begun
        )

    def as_stream(self, resume: str | None, on_begun: OnRegistered) -> RemoteFile:
        """Send it as fragments, and say by which id it can be continued."""

        def told(file_id: str) -> None:
            self.bar.print(f"stream {file_id}")
            on_begun(file_id)

        return self.files.upload_streamed(
            self.path,
            self.bar.show_bytes,
            file_id=resume,
            expires_at=self.expires_at,
            on_begun=told,
        )


def _show(found: RemoteFile, *, as_json: bool) -> None:
    if as_json:
        write_json(dict(found.told))
    else:
        typer.echo(f"{found.id}  {found.status}  {found.filename}")
