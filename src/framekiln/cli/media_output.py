"""What commands about renders, videos, templates and files share: waiting, downloading, showing."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from framekiln.cli.output import write_json, write_line, write_table
from framekiln.client.model import RemoteObject
from framekiln.kit.errors import InvalidInput

OutputOption = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="Wait, and download the result to this file."),
]
TargetOption = Annotated[Path, typer.Option("--output", "-o", help="The file to write.")]
WaitFlag = Annotated[bool, typer.Option("--wait", help="Wait until it is complete.")]
LimitOption = Annotated[int, typer.Option(help="Maximum number of rows.", min=1)]

Found = TypeVar("Found", bound=RemoteObject)
OnFraction = Callable[[float], None]


@contextmanager
def fraction_bar(description: str, *, quiet: bool) -> Iterator[OnFraction]:
    """Yield a function that shows a fraction as a bar on standard error."""
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
    console = Console(stderr=True)
    with Progress(*columns, TimeElapsedColumn(), console=console, disable=quiet) as progress:
        task = progress.add_task(description, total=1)
        yield lambda fraction: progress.update(task, completed=fraction)


def wait_for(part: Any, resource_id: str, *, quiet: bool) -> Any:
    """Wait for a render or video with a bar."""
    with fraction_bar("rendering", quiet=quiet) as show:
        found = part.wait(resource_id, show)
        show(1)
    return found


def finish(part: Any, made: Found, *, wait: bool, output: Path | None, as_json: bool) -> Found:
    """Wait for what was made and download it, as far as the options say so."""
    found: Found = made
    if wait or output is not None:
        found = _with_warnings_of(made, wait_for(part, made.raw["id"], quiet=as_json))
    if output is not None:
        part.download(made.raw["id"], output)
    return found


def _with_warnings_of(made: Found, ended: Found) -> Found:
    """Return what has ended, with the warnings that only the response to its creation had."""
    kept = [*ended.raw.get("warnings", ())]
    first = [each for each in made.raw.get("warnings", ()) if each not in kept]
    return ended.of({**ended.raw, "warnings": [*first, *kept]}) if first else ended


def check_target(path: Path) -> None:
    """Raise if a file cannot be written there; better before a film is made than after."""
    if path.is_dir():
        raise InvalidInput(f"{path} is a folder: give --output the name of a file")
    if not path.absolute().parent.is_dir():
        raise InvalidInput(f"there is no folder {path.absolute().parent}: create it first")


def show_rows(
    found: Iterator[Found],
    columns: dict[str, Callable[[Found], object]],
    *,
    limit: int,
    as_json: bool,
) -> None:
    """Write up to `limit` resources, as a table or as one list."""
    rows = list(islice(found, limit))
    if as_json:
        write_json([dict(each.raw) for each in rows])
        return
    write_table(tuple(columns), [[read(each) for read in columns.values()] for each in rows])


def show_one(found: RemoteObject, line: str, *, as_json: bool) -> None:
    """Write one resource, and its warnings on standard error."""
    if as_json:
        write_json(dict(found.raw))
        return
    write_line(line)
    for warning in found.raw.get("warnings", ()):
        typer.echo(f"warning: {_warning(warning)}", err=True)
    if error := found.raw.get("error"):
        typer.echo(f"{error['code']}: {error['message']}", err=True)


def show_deleted(resource_id: str, *, as_json: bool) -> None:
    """Say that something was deleted."""
    if as_json:
        write_json({"id": resource_id, "deleted": True})
    else:
        write_line(f"{resource_id}  deleted")


def show_saved(resource_id: str, path: Path, *, as_json: bool) -> None:
    """Say where a download is."""
    size_bytes = path.stat().st_size
    if as_json:
        write_json({"id": resource_id, "path": str(path), "byte_size": size_bytes})
    else:
        write_line(f"{path}  {size_bytes} bytes")


def _warning(found: object) -> str:
    if not isinstance(found, dict):
        return str(found)
    row = f"row {found['row']}: " if found.get("row") else ""
    place = f"{row}{found['path']}: " if found.get("path") else row
    hint = f" ({found['hint']})" if found.get("hint") else ""
    return f"{place}{found.get('message') or found.get('code')}{hint}"
