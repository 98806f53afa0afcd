"""`framekiln transcriptions`: speech of files as text and captions."""

from pathlib import Path
from typing import Annotated

import typer

from framekiln.cli.media_output import (
    LimitOption,
    TargetOption,
    WaitFlag,
    check_target,
    fraction_bar,
    show_one,
    show_rows,
    show_saved,
)
from framekiln.cli.output import JsonFlag
from framekiln.cli.service_client import open_client
from framekiln.client import Client
from framekiln.client.model import RemoteTranscription
from framekiln.client.responses import whole_file
from framekiln.client.transcriptions import TextForm
from framekiln.kit.errors import InvalidInput

app = typer.Typer(
    help="Transcribe files, and download text and captions.",
    no_args_is_help=True,
    add_completion=False,
)

TranscriptionId = Annotated[
    str, typer.Argument(metavar="TRANSCRIPTION", help="Id of the transcription.")
]
OutputOption = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="Wait, and write the captions to this file."),
]
FormOption = Annotated[
    TextForm | None, typer.Option("--format", help="By default that of the output's name.")
]


@app.command()
def create(
    file: Annotated[str, typer.Argument(help="Id of the file.")],
    track: Annotated[
        int | None, typer.Option(help="Number of the track; by default the first with audio.")
    ] = None,
    wait: WaitFlag = False,
    output: OutputOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Transcribe a file; the same file and track are transcribed once."""
    form = None if output is None else _form_of(output, None)
    with open_client() as client:
        found = client.transcriptions.create(file, track)
        if wait or output is not None:
            found = _wait(client, found.id, quiet=as_json)
        if output is not None and form is not None:
            _save(client, found.id, output, form)
    _show(found, as_json=as_json)


@app.command("list")
def list_all(
    file: Annotated[str | None, typer.Option(help="Only those of this file.")] = None,
    limit: LimitOption = 25,
    as_json: JsonFlag = False,
) -> None:
    """Show transcriptions, newest first."""
    with open_client() as client:
        show_rows(
            client.transcriptions.list(file_id=file),
            {
                "id": lambda each: each.id,
                "status": lambda each: each.status,
                "file": lambda each: each.raw["file_id"],
            },
            limit=limit,
            as_json=as_json,
        )


@app.command()
def get(transcription: TranscriptionId, as_json: JsonFlag = False) -> None:
    """Show a transcription."""
    with open_client() as client:
        _show(client.transcriptions.get(transcription), as_json=as_json)


@app.command()
def watch(transcription: TranscriptionId, as_json: JsonFlag = False) -> None:
    """Wait until a transcription is complete, with a progress bar."""
    with open_client() as client:
        _show(_wait(client, transcription, quiet=as_json), as_json=as_json)


@app.command()
def download(
    transcription: TranscriptionId,
    output: TargetOption,
    form: FormOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Write the captions to a file: .vtt, .srt or .json."""
    asked = _form_of(output, form)
    with open_client() as client:
        _save(client, transcription, output, asked)
    show_saved(transcription, output, as_json=as_json)


def _form_of(output: Path, form: TextForm | None) -> TextForm:
    check_target(output)
    if form is not None:
        return form
    match output.suffix.lower():
        case ".vtt":
            return "vtt"
        case ".srt":
            return "srt"
        case ".json":
            return "json"
    raise InvalidInput(f"{output} must end in .vtt, .srt or .json, or give --format")


def _wait(client: Client, transcription_id: str, *, quiet: bool) -> RemoteTranscription:
    with fraction_bar("transcribing", quiet=quiet) as bar:
        found = client.transcriptions.wait(transcription_id, bar)
        bar(1)
    return found


def _save(client: Client, transcription_id: str, output: Path, form: TextForm) -> None:
    text = client.transcriptions.text(transcription_id, form)
    with whole_file(output) as file:
        file.write(text.encode())


def _show(found: RemoteTranscription, *, as_json: bool) -> None:
    show_one(found, f"{found.id}  {found.status}", as_json=as_json)
