"""`framekiln orgs`: the organizations of this installation."""

import asyncio
import re
from dataclasses import asdict
from typing import Annotated, Final

import typer

from framekiln.cli.database import open_services
from framekiln.cli.environment import load_settings
from framekiln.cli.output import JsonFlag, write_json, write_line, write_table
from framekiln.identity.errors import OrganizationNotFound
from framekiln.identity.model import Organization
from framekiln.identity.service import Identity
from framekiln.kit.errors import InvalidInput
from framekiln.kit.ids import parse_uuid
from framekiln.quotas.model import Quota, QuotaUsage

app = typer.Typer(
    help="Manage organizations and their quotas.", no_args_is_help=True, add_completion=False
)

_DEFAULT: Final = "default"
_NO_LIMIT: Final = "none"
_WHOLE: Final = re.compile(r"[0-9]{1,18}")

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


@app.command()
def quota(
    organization: OrganizationArgument,
    changes: Annotated[
        list[str] | None,
        typer.Argument(
            help="Limits to change, such as render_minutes=600; `none` removes a limit,"
            " `default` returns to that of the settings.",
            metavar="[NAME=LIMIT]...",
        ),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Show the quotas of an organization, or change them."""
    limits = [_parse_limit(text) for text in changes or ()]

    async def run() -> list[QuotaUsage]:
        async with open_services(load_settings()) as services:
            found = await find_organization(services.identity, organization)
            for name, limit in limits:
                if limit == _DEFAULT:
                    await services.quotas.reset_limit(found.id, name)
                else:
                    amount = None if limit == _NO_LIMIT else int(limit)
                    await services.quotas.set_limit(found.id, name, amount)
            return await services.quotas.usage(found.id)

    found = asyncio.run(run())
    if as_json:
        write_json({each.quota: {"used": each.used, "limit": each.limit} for each in found})
        return
    rows = [(each.quota, _shown(each.used, "-"), _shown(each.limit, _NO_LIMIT)) for each in found]
    write_table(("quota", "used", "limit"), rows)


def _parse_limit(text: str) -> tuple[Quota, str]:
    name, _, limit = text.partition("=")
    if name not in set(Quota):
        raise InvalidInput(f"there is no quota {name!r}; there are {', '.join(Quota)}")
    if limit not in (_DEFAULT, _NO_LIMIT) and not _WHOLE.fullmatch(limit):
        raise InvalidInput(
            f"{text!r} is not a limit: write {name}= and a whole number, `none` or `default`"
        )
    return Quota(name), limit


def _shown(amount: int | None, instead: str) -> str:
    return instead if amount is None else f"{amount:,}"


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
