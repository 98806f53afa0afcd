"""`framekiln orgs`: the organizations of this installation."""

import asyncio
from dataclasses import asdict
from typing import Annotated

import typer

from framekiln.cli.database import open_services
from framekiln.cli.environment import load_settings
from framekiln.cli.output import JsonFlag, write_json, write_line, write_table
from framekiln.identity.errors import OrganizationNotFound
from framekiln.identity.model import Organization
from framekiln.identity.service import Identity
from framekiln.kit.ids import parse_uuid

app = typer.Typer(help="Organizations.", no_args_is_help=True, add_completion=False)

OrganizationArgument = Annotated[str, typer.Argument(help="Name or id of the organization.")]


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="Name of the new organization.")],
    pipelines: Annotated[bool, typer.Option(help="Whether pipelines are enabled.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Create an organization. Create a key for it with `framekiln keys create --org NAME`."""

    async def run() -> Organization:
        async with open_services(load_settings()) as services:
            return await services.identity.create_organization(name, pipelines_enabled=pipelines)

    _show(asyncio.run(run()), as_json=as_json)


@app.command("list")
def list_all(as_json: JsonFlag = False) -> None:
    """Show all organizations."""

    async def run() -> list[Organization]:
        async with open_services(load_settings()) as services:
            return await services.identity.list_organizations()

    found = asyncio.run(run())
    if as_json:
        write_json([asdict(organization) for organization in found])
        return
    rows = [(one.name, one.id, "on" if one.pipelines_enabled else "off") for one in found]
    write_table(("name", "id", "pipelines"), rows)


@app.command("enable-pipelines")
def enable_pipelines(organization: OrganizationArgument, as_json: JsonFlag = False) -> None:
    """Enable pipelines for an organization."""
    _show(asyncio.run(_set_pipelines(organization, enabled=True)), as_json=as_json)


@app.command("disable-pipelines")
def disable_pipelines(organization: OrganizationArgument, as_json: JsonFlag = False) -> None:
    """Disable pipelines for an organization."""
    _show(asyncio.run(_set_pipelines(organization, enabled=False)), as_json=as_json)


async def find_organization(identity: Identity, name_or_id: str) -> Organization:
    """Return the organization with this name or id."""
    wanted = parse_uuid(name_or_id)
    for organization in await identity.list_organizations():
        if organization.name == name_or_id or organization.id == wanted:
            return organization
    raise OrganizationNotFound(
        f"there is no organization {name_or_id!r}: framekiln orgs list shows them"
    )


async def _set_pipelines(name_or_id: str, *, enabled: bool) -> Organization:
    async with open_services(load_settings()) as services:
        organization = await find_organization(services.identity, name_or_id)
        return await services.identity.set_pipelines(organization.id, enabled)


def _show(organization: Organization, *, as_json: bool) -> None:
    if as_json:
        write_json(asdict(organization))
        return
    pipelines = "on" if organization.pipelines_enabled else "off"
    write_line(f"{organization.name} {organization.id} pipelines {pipelines}")
