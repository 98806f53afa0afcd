"""`framekiln reviews`: pending review tasks, and their decisions."""

from pathlib import Path
from typing import Annotated

import typer

from framekiln.cli.json_input import read_json
from framekiln.cli.links import parse_duration_s
from framekiln.cli.output import JsonFlag, write_json, write_line, write_table
from framekiln.cli.service_client import open_client
from framekiln.client.model import RemoteReview

app = typer.Typer(
    help="List, approve and reject review tasks, and share them by link.",
    no_args_is_help=True,
    add_completion=False,
)

ReviewId = Annotated[str, typer.Argument(help="Id of the review task.")]


@app.command("list")
def list_all(
    status: Annotated[
        str | None,
        typer.Option(help="Only those with this status; pending ones wait for a decision."),
    ] = None,
    run_id: Annotated[str | None, typer.Option(help="Only those of this run.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Show review tasks, newest first."""
    with open_client() as client:
        found = list(client.reviews.list(status=status, run_id=run_id))
    if as_json:
        write_json([dict(each.raw) for each in found])
        return
    rows = [
        (each.id, each.status, each.run_id, each.raw["expires_at"], each.raw["instructions"])
        for each in found
    ]
    write_table(("id", "status", "run", "expires", "instructions"), rows)


@app.command()
def get(review: ReviewId, as_json: JsonFlag = False) -> None:
    """Show a review task."""
    with open_client() as client:
        _show(client.reviews.get(review), as_json=as_json)


@app.command()
def link(
    review: ReviewId,
    expires_in: Annotated[
        str, typer.Option("--expires-in", help="Such as 12h or 7d; at most 365d.")
    ] = "7d",
    as_json: JsonFlag = False,
) -> None:
    """Make a link to the page of a task, for somebody who has no account."""
    expires_in_s = parse_duration_s(expires_in)
    with open_client() as client:
        # The command may have a temporary key, with which the link would end.
        made = client.reviews.create_link(review, expires_in_s=expires_in_s, scope="organization")
    if as_json:
        write_json(dict(made.raw))
    else:
        write_line(made.url)


@app.command()
def approve(
    review: ReviewId,
    patch: Annotated[
        Path | None,
        typer.Option(help="Corrections: JSON with `annotations` and `reviewed_kinds`, or -."),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Approve a review task, with optional corrections. The run continues."""
    corrected = None if patch is None else read_json(patch)
    with open_client() as client:
        _show(client.reviews.approve(review, corrected), as_json=as_json)


@app.command()
def reject(
    review: ReviewId,
    reason: Annotated[
        str | None, typer.Option(help="The reason, stored with the decision.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Reject a review task. The run ends."""
    with open_client() as client:
        _show(client.reviews.reject(review, reason), as_json=as_json)


def _show(found: RemoteReview, *, as_json: bool) -> None:
    if as_json:
        write_json(dict(found.raw))
    else:
        write_line(f"{found.id}  {found.status}  run {found.run_id}")
