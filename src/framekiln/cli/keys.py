"""`framekiln keys`: API keys. The text of a key is shown only when it is created."""

import asyncio
from dataclasses import asdict
from datetime import timedelta
from typing import Annotated

import typer

from framekiln.cli.database import open_services
from framekiln.cli.environment import load_settings
from framekiln.cli.orgs import find_organization
from framekiln.cli.output import JsonFlag, write_json, write_line, write_table
from framekiln.identity.model import ApiKey, IssuedKey
from framekiln.identity.service import DEFAULT_ORGANIZATION

app = typer.Typer(
    help="Create, list, rotate and revoke API keys.", no_args_is_help=True, add_completion=False
)

Org = Annotated[str, typer.Option("--org", help="Name or id of the organization.")]


@app.command()
def create(
    name: Annotated[str, typer.Option(help="What the key is for.")] = "made by framekiln keys",
    org: Org = DEFAULT_ORGANIZATION,
    as_json: JsonFlag = False,
) -> None:
    """Create a key and show it. It is not shown again."""

    async def run() -> IssuedKey:
        async with open_services(load_settings()) as services:
            # Before the first start there is no organization yet, and this is the first key.
            first = await services.identity.ensure_default(None)
            if first and org == DEFAULT_ORGANIZATION:
                return first
            organization = await find_organization(services.identity, org)
            return await services.identity.create_key(organization.id, name)

    issued = asyncio.run(run())
    if as_json:
        write_json({"api_key": issued.text, **asdict(issued.key)})
    else:
        write_line(issued.text)


@app.command()
def rotate(
    key_id: Annotated[str, typer.Argument(help="The last part of the key.")],
    org: Org = DEFAULT_ORGANIZATION,
    overlap_hours: Annotated[
        int, typer.Option(min=0, max=90 * 24, help="How long the secret before works.")
    ] = 24,
    as_json: JsonFlag = False,
) -> None:
    """Give a key a new secret and show it. It is not shown again."""

    async def run() -> IssuedKey:
        async with open_services(load_settings()) as services:
            organization = await find_organization(services.identity, org)
            return await services.identity.rotate_key(
                organization.id, key_id, overlap=timedelta(hours=overlap_hours)
            )

    issued = asyncio.run(run())
    if as_json:
        write_json({"api_key": issued.text, **asdict(issued.key)})
    else:
        write_line(issued.text)


@app.command("list")
def list_all(org: Org = DEFAULT_ORGANIZATION, as_json: JsonFlag = False) -> None:
    """Show an organization's keys, without their secrets."""

    async def run() -> list[ApiKey]:
        async with open_services(load_settings()) as services:
            organization = await find_organization(services.identity, org)
            return await services.identity.list_keys(organization.id)

    found = asyncio.run(run())
    if as_json:
        write_json([asdict(key) for key in found])
        return
    rows = [(key.key_id, key.name, _state(key), key.created_at, key.last_used_at) for key in found]
    write_table(("key id", "name", "state", "created", "last used"), rows)


@app.command()
def revoke(
    key_id: Annotated[str, typer.Argument(help="Public id of the key; `keys list` shows it.")],
    as_json: JsonFlag = False,
) -> None:
    """Revoke a key permanently."""

    async def run() -> ApiKey:
        async with open_services(load_settings()) as services:
            return await services.identity.revoke_key(key_id)

    revoked = asyncio.run(run())
    if as_json:
        write_json(asdict(revoked))
    else:
        write_line(f"revoked {revoked.key_id} ({revoked.name})")


def _state(key: ApiKey) -> str:
    return "revoked" if key.revoked_at else "works"
