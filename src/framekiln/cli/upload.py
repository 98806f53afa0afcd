"""`framekiln upload`: a local file goes to a running service, and goes on where it broke off."""

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from framekiln.cli.environment import load_settings
from framekiln.cli.output import JsonFlag, write_json
from framekiln.client import Client
from framekiln.client.connection import check_running
from framekiln.client.records import RemoteFile
from framekiln.kit.errors import InvalidInput
from framekiln.settings import Settings

_KEY_NAME = "framekiln upload, while it ran"


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
    # A polite end is an interruption like Ctrl-C, so that a key made for us does not stay.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    settings = load_settings()
    check_running(settings.public_url)
    with _key(settings) as key, Client(settings.public_url, key) as client, _bar(as_json) as bar:
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


@contextmanager
def _key(settings: Settings) -> Iterator[str]:
    """Yield the key of the environment, or one of the local data folder for as long as we run."""
    if settings.api_key:
        yield settings.api_key
        return
    # They bring the database along, which a client of another machine does not need.
    from framekiln.cli.connection import open_services  # noqa: PLC0415
    from framekiln.cli.orgs import find_organization  # noqa: PLC0415
    from framekiln.identity.service import DEFAULT_ORGANIZATION  # noqa: PLC0415

    async def make() -> tuple[str, str]:
        async with open_services(settings) as services:
            organization = await find_organization(services.identity, DEFAULT_ORGANIZATION)
            issued = await services.identity.create_key(organization.id, _KEY_NAME)
            return issued.text, issued.key.key_id

    async def revoke(key_id: str) -> None:
        async with open_services(settings) as services:
            await services.identity.revoke_key(key_id)

    text, key_id = asyncio.run(make())
    try:
        yield text
    finally:
        asyncio.run(revoke(key_id))


class _Bar:
    """What a person sees meanwhile, on standard error."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task = progress.add_task("uploading", total=None)

    def bytes_done(self, done: int, total: int) -> None:
        self._progress.update(self._task, completed=done, total=total)

    def fraction_done(self, fraction: float) -> None:
        total: Any = self._progress.tasks[self._task].total or 1
        self._progress.update(
            self._task, description="processing", completed=fraction * total, total=total
        )

    def tell(self, text: str) -> None:
        self._progress.console.print(text, markup=False)


@contextmanager
def _bar(quiet: bool) -> Iterator[_Bar]:
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    console = Console(stderr=True)
    with Progress(*columns, TransferSpeedColumn(), console=console, disable=quiet) as progress:
        yield _Bar(progress)
