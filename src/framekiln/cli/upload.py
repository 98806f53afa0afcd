"""`framekiln upload`: uploads a local file to a running service, or resumes an upload."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from framekiln.cli.output import JsonFlag, write_json
from framekiln.cli.runs import show_when_done
from framekiln.cli.service_client import open_client
from framekiln.cli.upload_bar import UploadBar, upload_bar
from framekiln.client import Client
from framekiln.client.connection import ServiceConnection
from framekiln.client.files import OnRegistered, RemoteFiles
from framekiln.client.model import RemoteFile, RemoteRun
from framekiln.kit.errors import InvalidInput


def upload(
    file: Annotated[Path, typer.Argument(help="A video, audio, image or caption file.")],
    stream: Annotated[
        bool,
        typer.Option(
            "--stream", help="Send a video in verified fragments, usable during the upload."
        ),
    ] = False,
    resume: Annotated[
        str | None, typer.Option("--resume", help="Id of the file whose stream to continue.")
    ] = None,
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait until the file is ready, not only uploaded.")
    ] = False,
    expires_at: Annotated[
        str | None, typer.Option("--expires-at", help="When the file is deleted; ISO 8601.")
    ] = None,
    run: Annotated[
        str | None,
        typer.Option("--run", help="Name or id of a pipeline to run on it immediately."),
    ] = None,
    watch: Annotated[
        bool,
        typer.Option(
            "--watch", help="Wait for the end of the run; the exit code reports the result."
        ),
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Upload a file to the service at FRAMEKILN_BASE_URL; run it again to resume it."""
    if resume is not None and not stream:
        raise InvalidInput("--resume needs --stream; other uploads resume automatically")
    if watch and run is None:
        raise InvalidInput("--watch needs --run; use --wait to wait for the file")
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
    """Starts a run as soon as the file exists, before its bytes are sent."""

    def __init__(self, client: Client, pipeline: str | None) -> None:
        self._client = client
        # Checked first: nothing needs to be uploaded for a pipeline that does not exist.
        self._pipeline_id = None if pipeline is None else client.pipelines.find(pipeline).id
        self.run: RemoteRun | None = None

    def __call__(self, file_id: str) -> None:
        """Start it once: a resumed upload continues with the same run."""
        if self._pipeline_id is not None:
            key = f"upload {file_id} {self._pipeline_id}"
            self.run, _ = self._client.runs.create(self._pipeline_id, file_id, idempotency_key=key)


@dataclass(frozen=True)
class FileUpload:
    """The upload of one local file, whole or streamed."""

    files: RemoteFiles[ServiceConnection]
    path: Path
    bar: UploadBar
    expires_at: str | None

    def in_chunks(self, on_begun: OnRegistered) -> RemoteFile:
        """Upload the whole file."""
        return self.files.upload(
            self.path, self.bar.show_bytes, expires_at=self.expires_at, on_begun=on_begun
        )

    def as_stream(self, resume: str | None, on_begun: OnRegistered) -> RemoteFile:
        """Upload it in fragments, and print the id to resume it with."""

        def report_id(file_id: str) -> None:
            self.bar.print(f"stream {file_id}")
            on_begun(file_id)

        return self.files.upload_streamed(
            self.path,
            self.bar.show_bytes,
            file_id=resume,
            expires_at=self.expires_at,
            on_begun=report_id,
        )


def _show(found: RemoteFile, *, as_json: bool) -> None:
    if as_json:
        write_json(dict(found.raw))
    else:
        typer.echo(f"{found.id}  {found.status}  {found.filename}")
