"""The command line: `framekiln`. Starts the other drivers, and does by hand what they do alone."""

import os
from typing import Annotated

import typer

from framekiln.cli import jobs, keys, orgs
from framekiln.cli.doctor import doctor
from framekiln.cli.output import OneLineErrors
from framekiln.cli.processes import api, migrate, worker
from framekiln.cli.render import render
from framekiln.cli.serve import serve

app = typer.Typer(
    name="framekiln",
    cls=OneLineErrors,
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


app.command()(serve)
app.command()(render)
app.command()(doctor)
app.command()(api)
app.command()(worker)
app.command()(migrate)
app.add_typer(keys.app, name="keys")
app.add_typer(orgs.app, name="orgs")
app.add_typer(jobs.app, name="jobs")
