"""`framekiln pipelines endpoints`: your own services that run steps."""

from typing import Annotated, Any

import typer

from framekiln.cli.output import JsonFlag, write_json, write_line, write_table
from framekiln.cli.service_client import open_client
from framekiln.client.model import RemoteEndpoint
from framekiln.kit.errors import InvalidInput

app = typer.Typer(
    help="Manage endpoints: your own services that run steps.",
    no_args_is_help=True,
    add_completion=False,
)

EndpointId = Annotated[str, typer.Argument(help="Id of the endpoint.")]


@app.command("list")
def list_all(
    archived: Annotated[bool, typer.Option("--archived", help="Include archived ones.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Show all endpoints, newest first."""
    with open_client() as client:
        found = list(client.endpoints.list(include_archived=archived))
    if as_json:
        write_json([dict(each.raw) for each in found])
        return
    rows = [(each.id, each.url, each.raw["max_concurrency"], each.archived_at) for each in found]
    write_table(("id", "url", "at a time", "archived"), rows)


@app.command()
def get(endpoint: EndpointId, as_json: JsonFlag = False) -> None:
    """Show an endpoint, without its secret."""
    with open_client() as client:
        _show(client.endpoints.get(endpoint), as_json=as_json)


@app.command()
def create(
    url: Annotated[str, typer.Argument(help="URL that receives the requests.")],
    header: Annotated[
        list[str] | None,
        typer.Option("--header", help="A request header, 'Name: value'; repeatable."),
    ] = None,
    timeout_ms: Annotated[int | None, typer.Option(help="Time limit for the response.")] = None,
    callback_timeout_ms: Annotated[
        int | None, typer.Option(help="Time limit for the callback.")
    ] = None,
    max_concurrency: Annotated[
        int | None, typer.Option(help="Maximum number of requests at a time.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Create an endpoint and show its signing secret. It is not shown again."""
    settings: dict[str, Any] = {
        "headers": read_headers(header or []),
        "timeout_ms": timeout_ms,
        "callback_timeout_ms": callback_timeout_ms,
        "max_concurrency": max_concurrency,
    }
    given = {key: value for key, value in settings.items() if value is not None}
    with open_client() as client:
        _show(client.endpoints.create(url, **given), as_json=as_json)


@app.command()
def archive(endpoint: EndpointId, as_json: JsonFlag = False) -> None:
    """Archive an endpoint: it receives no new requests."""
    with open_client() as client:
        _show(client.endpoints.archive(endpoint), as_json=as_json)


def read_headers(lines: list[str]) -> dict[str, str]:
    """Return headers given as `Name: value`."""
    headers = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not name.strip():
            raise InvalidInput(f"--header {line!r}: write it as 'Name: value'")
        headers[name.strip()] = value.strip()
    return headers


def _show(found: RemoteEndpoint, *, as_json: bool) -> None:
    if as_json:
        write_json(dict(found.raw))
        return
    archived = "  archived" if found.archived_at else ""
    write_line(f"{found.id}  {found.url}{archived}")
    if found.signing_secret:
        write_line(found.signing_secret)
