"""The command line: `framekiln`. Starts the other drivers, and does by hand what they do alone."""

import os
from typing import Annotated

import typer

from framekiln.cli.lazy import LazyCommands

app = typer.Typer(
    name="framekiln",
    cls=LazyCommands,
    help="Self-hosted media composition and rendering: HTML or JSON in, MP4 or stills out.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,  # prints local variables, and with them secrets
)


@app.callback()
def options(
    debug: Annotated[
        bool, typer.Option("--debug", help="Show tracebacks; also FRAMEKILN_DEBUG=1.")
    ] = False,
) -> None:
    """Self-hosted media composition and rendering: HTML or JSON in, MP4 or stills out."""
    if debug:
        os.environ["FRAMEKILN_DEBUG"] = "1"
