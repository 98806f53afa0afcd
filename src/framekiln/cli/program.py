"""The command line as a whole: its options and its commands."""

import os
from typing import Annotated

import typer

from framekiln.cli.commands import LazyCommandGroup

app = typer.Typer(
    name="framekiln",
    cls=LazyCommandGroup,
    help="Self-hosted media composition and rendering: HTML or JSON in, MP4 or stills out.",
    no_args_is_help=True,
    # Boxes and colours take as long to import as everything else.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,  # prints local variables, and with them secrets
)


def _show_version(is_wanted: bool) -> None:
    if is_wanted:
        # Slow to import, and used only here.
        from importlib.metadata import version  # noqa: PLC0415

        typer.echo(f"framekiln {version('framekiln')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show tracebacks; also FRAMEKILN_DEBUG=1.")
    ] = False,
) -> None:
    """Self-hosted media composition and rendering: HTML or JSON in, MP4 or stills out."""
    if debug:
        os.environ["FRAMEKILN_DEBUG"] = "1"
