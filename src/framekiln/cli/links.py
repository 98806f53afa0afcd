"""`framekiln link` and `framekiln links`: signed links to media of the service."""

import re
from typing import Annotated, Final

import typer

from framekiln.cli.output import JsonFlag, write_json, write_line, write_table
from framekiln.cli.service_client import open_client
from framekiln.kit.errors import InvalidInput

app = typer.Typer(help="List and revoke signed links.", no_args_is_help=True, add_completion=False)

_UNITS_S: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_DURATION: Final = re.compile(r"([0-9]{1,9})([smhdw]?)")


def link(
    url: Annotated[str, typer.Argument(help="A URL of the service that serves media.")],
    expires_in: Annotated[
        str, typer.Option("--expires-in", help="Such as 30m, 12h or 7d; at most 365d.")
    ] = "1d",
    as_json: JsonFlag = False,
) -> None:
    """Make a signed link to media of the service."""
    expires_in_s = parse_duration_s(expires_in)
    with open_client() as client:
        # The command may have a temporary key, with which the link would end.
        made = client.links.create(url, expires_in_s=expires_in_s, scope="organization")
    if as_json:
        write_json(dict(made.raw))
    else:
        write_line(made.url)


@app.command("list")
def list_all(as_json: JsonFlag = False) -> None:
    """Show all links, newest first."""
    with open_client() as client:
        found = list(client.links.list())
    if as_json:
        write_json([dict(each.raw) for each in found])
        return
    rows = [(each.id, each.address, each.expires_at, each.revoked_at) for each in found]
    write_table(("id", "address", "expires", "revoked"), rows)


@app.command()
def revoke(link_id: Annotated[str, typer.Argument(metavar="LINK", help="Id of the link.")]) -> None:
    """Revoke a link at once."""
    with open_client() as client:
        client.links.revoke(link_id)
    write_line(f"{link_id}  revoked")


def parse_duration_s(text: str) -> int:
    """Return the seconds of a duration such as 90, 30m, 12h or 7d."""
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise InvalidInput(f"{text!r} is no duration: give a number and s, m, h, d or w, as in 7d")
    return int(match[1]) * _UNITS_S[match[2] or "s"]
