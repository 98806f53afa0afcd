"""`framekiln users`: users who may log in. A generated password is shown only once."""

import asyncio
import sys
from dataclasses import asdict
from typing import Annotated

import typer

from framekiln.cli.database import open_services
from framekiln.cli.environment import load_settings
from framekiln.cli.orgs import find_organization
from framekiln.cli.output import JsonFlag, write_json, write_line, write_table
from framekiln.cli.port import is_service_at
from framekiln.cli.startup_message import LOGIN_LINK_LIFETIME, login_url
from framekiln.identity.errors import MemberNotFound
from framekiln.identity.invitations import invitation_url
from framekiln.identity.model import IssuedInvitation, IssuedUser, Member, Role, User
from framekiln.identity.service import DEFAULT_ORGANIZATION
from framekiln.identity.users import FIRST_EMAIL, require_email
from framekiln.settings import Settings

app = typer.Typer(
    help="Manage users and their passwords.", no_args_is_help=True, add_completion=False
)

Email = Annotated[str, typer.Argument(help="The e-mail address of the user.")]
Org = Annotated[str, typer.Option("--org", help="Name or id of the organization.")]
FromStdin = Annotated[
    bool,
    typer.Option(
        "--password-stdin",
        help="Read the password from standard input instead of generating one.",
        show_default=False,
    ),
]


@app.command()
def create(
    email: Email,
    org: Org = DEFAULT_ORGANIZATION,
    role: Annotated[Role, typer.Option(help="The role in the organization.")] = Role.MEMBER,
    password_stdin: FromStdin = False,
    as_json: JsonFlag = False,
) -> None:
    """Create a user and show the password. It is not shown again."""
    password = _given_password(password_stdin)

    async def run() -> IssuedUser:
        async with open_services(load_settings()) as services:
            organization = await find_organization(services.identity, org)
            return await services.users.create(email, organization.id, role=role, password=password)

    _show(asyncio.run(run()), is_made_up=password is None, as_json=as_json)


@app.command()
def invite(
    email: Email,
    org: Org = DEFAULT_ORGANIZATION,
    role: Annotated[Role, typer.Option(help="The role in the organization.")] = Role.MEMBER,
    as_json: JsonFlag = False,
) -> None:
    """Print a link with which somebody joins an organization; it works once, for a week."""
    settings = load_settings()

    async def run() -> IssuedInvitation:
        async with open_services(settings) as services:
            organization = await find_organization(services.identity, org)
            return await services.invitations.create(organization.id, email, role)

    issued = asyncio.run(run())
    link = invitation_url(settings.public_url, issued.token)
    if as_json:
        write_json({"email": issued.invitation.email, "role": role, "url": link})
    else:
        write_line(link)
    _warn_unless_running(settings)


@app.command("role")
def change_role(
    email: Email,
    role: Annotated[Role, typer.Argument(help="The new role.")],
    org: Org = DEFAULT_ORGANIZATION,
    as_json: JsonFlag = False,
) -> None:
    """Change what a user may do in an organization."""

    async def run() -> Member:
        async with open_services(load_settings()) as services:
            organization = await find_organization(services.identity, org)
            members = await services.members.list_all(organization.id)
            address = require_email(email)
            found = next((each for each in members if each.user.email == address), None)
            if found is None:
                raise MemberNotFound(f"{address} does not belong to {organization.name}")
            return await services.members.set_role(organization.id, found.user.id, role)

    changed = asyncio.run(run())
    if as_json:
        write_json(asdict(changed))
    else:
        write_line(f"{changed.user.email} is {changed.role} in {changed.organization.name}")


@app.command("list")
def list_all(as_json: JsonFlag = False) -> None:
    """List all users and their organizations."""

    async def run() -> list[Member]:
        async with open_services(load_settings()) as services:
            return await services.users.list_members()

    found = asyncio.run(run())
    if as_json:
        write_json([asdict(member) for member in found])
        return
    rows = [
        (member.user.email, member.organization.name, member.role, member.user.created_at)
        for member in found
    ]
    write_table(("e-mail", "organization", "role", "created"), rows)


@app.command()
def password(email: Email, password_stdin: FromStdin = False, as_json: JsonFlag = False) -> None:
    """Set a new password and end all sessions of the user."""
    text = _given_password(password_stdin)

    async def run() -> IssuedUser:
        async with open_services(load_settings()) as services:
            return await services.users.set_password(email, text)

    _show(asyncio.run(run()), is_made_up=text is None, as_json=as_json)


@app.command("login-link")
def login_link(
    email: Annotated[str, typer.Argument(help="The e-mail address of the user.")] = FIRST_EMAIL,
    as_json: JsonFlag = False,
) -> None:
    """Print a link that logs the user in once, without the password; it expires in an hour."""
    settings = load_settings()

    async def run() -> str:
        async with open_services(settings) as services:
            return await services.users.issue_login_code(email, lifetime=LOGIN_LINK_LIFETIME)

    link = login_url(settings, asyncio.run(run()))
    if as_json:
        write_json({"email": email, "url": link})
    else:
        write_line(link)
    _warn_unless_running(settings)


@app.command()
def delete(email: Email, as_json: JsonFlag = False) -> None:
    """Delete a user. The organization keeps its data."""

    async def run() -> User:
        async with open_services(load_settings()) as services:
            return await services.users.delete(email)

    deleted = asyncio.run(run())
    if as_json:
        write_json(asdict(deleted))
    else:
        write_line(f"deleted {deleted.email}")


def _warn_unless_running(settings: Settings) -> None:
    """Warn if a link leads nowhere: it has the port of our environment, not of the service's."""
    if not settings.base_url and not is_service_at(settings.host, settings.port):
        typer.echo(
            f"warning: no service answers at {settings.public_url}; if it has another port, set"
            " FRAMEKILN_PORT for this command, too",
            err=True,
        )


def _given_password(from_stdin: bool) -> str | None:
    # Never an argument: every user of the machine can read those.
    return sys.stdin.readline().rstrip("\r\n") if from_stdin else None


def _show(issued: IssuedUser, *, is_made_up: bool, as_json: bool) -> None:
    shown = issued.password if is_made_up else None
    if as_json:
        write_json({**asdict(issued.user), "password": shown})
    else:
        write_line(f"{issued.user.email} {shown or ''}".rstrip())
