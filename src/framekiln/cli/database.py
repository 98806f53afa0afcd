"""The settings and the database of a command.

The database is that of DATABASE_URL; else that of a running `framekiln serve` on the same data
folder; else the embedded one, started for the duration of the command. Only `serve` and `migrate`
create one: with an empty database, every command would give wrong results.
"""

import asyncio
import getpass
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from signal import SIGINT
from typing import TYPE_CHECKING

import typer

from framekiln.audit.actor import name_actor
from framekiln.audit.model import ActorType
from framekiln.cli.account import account_of, lock_data
from framekiln.cli.port import is_service_at, local_url
from framekiln.cli.supervisor import RESTART_AT_ONCE, Supervisor
from framekiln.db.embedded import EmbeddedPostgres
from framekiln.db.migrate import migrate, pending
from framekiln.kit.errors import Conflict, Unavailable
from framekiln.kit.folder_lock import FolderInUse, is_locked
from framekiln.kit.garbage import uncollected_imports
from framekiln.kit.processes import Program
from framekiln.settings import Settings

if TYPE_CHECKING:
    from framekiln.services import Services

# It writes its memory to disk first. pg_ctl waits as long.
_DATABASE_ENDS_WITHIN_S = 60
_FIRST_START_WITHIN_S = 60
_RUNNING_ANSWERS_WITHIN_S = 5
# One api process and the three workers of `serve` use up to 63; the rest is for commands.
_CONNECTIONS = 100
CONNECTIONS_OF_API = 11
"""What an api process uses at most: for requests, for the queue, and one that listens."""


class DatabaseOutdated(Unavailable):
    """The database lacks tables that this version needs."""

    code = "database_outdated"
    retryable = False


class DatabaseMissing(Unavailable):
    """There is no database in the data folder."""

    code = "database_missing"
    retryable = False


class OtherService(Conflict):
    """The running service uses another database than the command."""

    code = "other_service"


@dataclass(frozen=True)
class DatabaseServer:
    """A running database server."""

    conninfo: str
    is_private: bool
    """Whether only this command uses it."""


@asynccontextmanager
async def open_server(
    settings: Settings, *, may_create: bool = False
) -> AsyncIterator[DatabaseServer]:
    """Yield the database server, whatever the state of its schema is."""
    if settings.database_url:
        yield DatabaseServer(settings.database_url, is_private=False)
        return
    postgres = embedded_postgres(settings)
    if not may_create and not postgres.exists():
        raise await asyncio.to_thread(_missing, settings)
    async with AsyncExitStack() as stack:
        try:
            stack.enter_context(lock_data(settings, account_of(settings)))
        except FolderInUse:
            await postgres.wait_ready(_RUNNING_ANSWERS_WITHIN_S)
            yield DatabaseServer(postgres.conninfo, is_private=False)
            return
        if not may_create:
            await asyncio.to_thread(_refuse_if_service_runs, settings)
        supervisor = await stack.enter_async_context(Supervisor(sink=write_to_stderr))
        await start_postgres(supervisor, postgres)
        yield DatabaseServer(postgres.conninfo, is_private=True)


@asynccontextmanager
async def open_conninfo(settings: Settings) -> AsyncIterator[str]:
    """Yield the connection string of a reachable database that is up to date."""
    async with open_server(settings) as server:
        if server.is_private:
            await asyncio.to_thread(migrate, server.conninfo)
        else:
            await _require_up_to_date(server.conninfo)
        yield server.conninfo


@asynccontextmanager
async def open_services(
    settings: Settings, *, actor: ActorType = ActorType.COMMAND_LINE
) -> AsyncIterator["Services"]:
    """Yield the application on the command's database; the audit log names the actor."""
    # All domains together are slow to import; commands that only need a database avoid that.
    with uncollected_imports():
        from framekiln.services import Services  # noqa: PLC0415

    async with open_conninfo(settings) as conninfo, Services.open(settings, conninfo) as services:
        name_actor(actor, None, _login_name() if actor is ActorType.COMMAND_LINE else None)
        yield services


def embedded_postgres(settings: Settings) -> EmbeddedPostgres:
    """Return the database of the data folder."""
    return EmbeddedPostgres(
        settings.data / "pg",
        account_of(settings),
        max_connections=_CONNECTIONS + CONNECTIONS_OF_API * (settings.api_processes - 1),
    )


def running_conninfo(settings: Settings) -> str:
    """Return the conninfo of a database that runs already; raise if there is none."""
    if settings.database_url:
        return settings.database_url
    postgres = embedded_postgres(settings)
    if not postgres.exists():
        raise _missing(settings)
    if not is_locked(settings.data):
        raise DatabaseMissing(
            f"the database in {settings.data} does not run: start framekiln serve, or set"
            " DATABASE_URL; only framekiln serve starts it as root"
        )
    return postgres.conninfo


async def start_postgres(supervisor: Supervisor, postgres: EmbeddedPostgres) -> None:
    """Start the embedded server under the supervisor and wait until it is ready."""
    await postgres.prepare()
    program = Program(
        "postgres",
        postgres.command(),
        # Not the keys of the service and of the bucket.
        inherited=frozenset({"PATH", "HOME", "LANG", "LC_ALL", "TZ"}),
        folder="/",
        stop_signal=SIGINT,
        stop_timeout_s=_DATABASE_ENDS_WITHIN_S,
        needs_clean_stop=True,
    )
    process = await supervisor.start(
        program, before_restart=postgres.prepare, policy=RESTART_AT_ONCE
    )
    supervisor.add_cleanup(postgres.leave)
    await supervisor.wait_until_ready(process, postgres.wait_ready(_FIRST_START_WITHIN_S))


def _login_name() -> str | None:
    """Return the account that runs the command; None if it has no name."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return None


def write_to_stderr(name: str, line: str) -> None:
    """Write one line of a child, or of the supervisor, with its name."""
    # A closed terminal must not stop us from reading the output of children.
    with suppress(OSError):
        typer.echo(f"{name:<14}| {line}", err=True)


def _missing(settings: Settings) -> DatabaseMissing:
    url = local_url(settings.host, settings.port)
    elsewhere = f"; the service at {url} keeps its data elsewhere"
    return DatabaseMissing(
        f"there is no database in {settings.data}: set FRAMEKILN_DATA to the data folder of the"
        " service, or DATABASE_URL to its database; only framekiln serve and framekiln migrate"
        f" create one{elsewhere if is_service_at(settings.host, settings.port) else ''}"
    )


def _refuse_if_service_runs(settings: Settings) -> None:
    """Raise if a service runs here: it does not use this folder, or it would hold the lock."""
    if is_service_at(settings.host, settings.port):
        raise OtherService(
            f"the service at {local_url(settings.host, settings.port)} does not use"
            f" {settings.data}: set FRAMEKILN_DATA to its data folder or DATABASE_URL to its"
            f" database; or, if you mean {settings.data}, set FRAMEKILN_PORT to another port"
        )


async def _require_up_to_date(conninfo: str) -> None:
    missing = await asyncio.to_thread(pending, conninfo)
    if missing:
        raise DatabaseOutdated(
            f"the database lacks {len(missing)} migrations of this version: run framekiln migrate"
        )
