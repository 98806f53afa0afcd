"""`framekiln serve`: the whole service on one machine, in one terminal.

Order: account, lock of the data folder, database, migrations, first key and user, api and workers,
readiness, startup message. On a signal it stops everything that it started. It does no work of the
service itself, so identity is the only domain that it imports.
"""

import asyncio
import os
import ssl
import sys
from http import HTTPStatus
from urllib.parse import urlsplit

import typer

from framekiln.capture.browser import find_chromium
from framekiln.cli.account import (
    account_command,
    account_environment,
    enter_account,
    lock_data,
    our_command,
    require_allowed_port,
    restrict_process,
)
from framekiln.cli.confinement import require_account_confinement
from framekiln.cli.database import embedded_postgres, start_postgres, write_to_stderr
from framekiln.cli.environment import load_settings
from framekiln.cli.output import JsonFlag, write_json, write_line
from framekiln.cli.port import local_url, require_free_port
from framekiln.cli.signals import run_until_signal
from framekiln.cli.startup_message import LOGIN_LINK_LIFETIME, StartupMessage
from framekiln.cli.supervisor import Supervisor
from framekiln.db.migrate import migrate
from framekiln.db.pool import Database
from framekiln.identity.passwords import Passwords
from framekiln.identity.service import Identity
from framekiln.identity.users import Users
from framekiln.kit.account import Account
from framekiln.kit.clock import SystemClock
from framekiln.kit.control_group import prepare_groups
from framekiln.kit.errors import Unavailable
from framekiln.kit.folder_lock import make_folder
from framekiln.kit.processes import LineSink, Program
from framekiln.settings import Settings
from framekiln.storage.blob_store import open_blob_store

IO_CONCURRENCY = 20
_READY_WITHIN_S = 300
_POLL_S = 0.1
_ANSWER_WITHIN_S = 5


class NotReady(Unavailable):
    """The api was not ready in time."""

    code = "not_ready"


def serve(as_json: JsonFlag = False) -> None:
    """Run everything on this machine: database, api and workers."""
    settings = load_settings()
    restrict_process()
    make_folder(settings.data)
    account = enter_account(settings)
    asyncio.run(_serve(settings, account, as_json=as_json))


async def _serve(settings: Settings, account: Account, *, as_json: bool) -> None:
    with lock_data(settings, account):
        find_chromium()
        require_allowed_port(settings, account)
        require_free_port(settings.host, settings.port)
        await asyncio.to_thread(require_account_confinement, settings, account)
        await asyncio.to_thread(prepare_groups, account)
        supervisor = Supervisor(sink=_sink(settings))
        await run_until_signal(
            _run(settings, account, supervisor, as_json=as_json), insist=supervisor.kill_children
        )


async def _run(
    settings: Settings, account: Account, supervisor: Supervisor, *, as_json: bool
) -> None:
    async with supervisor:
        conninfo = settings.database_url or await _start_database(settings, supervisor)
        await asyncio.to_thread(migrate, conninfo)
        _check_for_children(settings)
        greeting = await _first_access(settings, conninfo)
        # Before anything can fail: they are not made a second time.
        greeting.keep_secrets()
        environment = child_environment(settings, conninfo)
        environment |= account_environment(settings, account)
        await _start_service(settings, supervisor, child_programs(settings, account, environment))
        if as_json:
            write_json(greeting.as_json())
        else:
            write_line(greeting.as_text())
        await asyncio.Event().wait()


async def _start_database(settings: Settings, supervisor: Supervisor) -> str:
    postgres = embedded_postgres(settings)
    await start_postgres(supervisor, postgres)
    return postgres.conninfo


def _check_for_children(settings: Settings) -> None:
    """Raise errors that every child would have, once instead of three times for each."""
    open_blob_store(settings.storage_url, folder=settings.data / "blobs")
    if settings.fetch_ca_file is not None:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(settings.fetch_ca_file)


async def _first_access(settings: Settings, conninfo: str) -> StartupMessage:
    """Create the first key and the first user, if there are none, and a link to log in."""
    shows_secrets = sys.stdout.isatty()
    clock, database = SystemClock(), Database(conninfo)
    await database.open()
    try:
        issued = await Identity(database, clock).ensure_default(settings.api_key)
        users = Users(database, passwords=Passwords(), clock=clock)
        user = await users.ensure_first()
        code = None
        if shows_secrets:
            code = await users.issue_first_login_code(lifetime=LOGIN_LINK_LIFETIME)
    finally:
        await database.close()
    return StartupMessage(
        settings,
        issued_key=issued.text if issued else None,
        pid=os.getpid(),
        issued_user=user,
        login_code=code,
        shows_secrets=shows_secrets,
    )


async def _start_service(
    settings: Settings, supervisor: Supervisor, programs: list[Program]
) -> None:
    api, *workers = programs
    process = await supervisor.start(api)
    for program in workers:
        await supervisor.start(program)
    await supervisor.wait_until_ready(process, _wait_ready(local_url(settings.host, settings.port)))


def child_programs(
    settings: Settings, account: Account, environment: dict[str, str]
) -> list[Program]:
    """Return the api and the workers, as commands of our own command line, run as the account."""
    us = account_command(account, our_command())
    commands = {
        "api": ("api",),
        "worker-io": (
            *("worker", "--queues", "control,io,media,playback,endpoints"),
            *("--concurrency", str(IO_CONCURRENCY)),
        ),
        "worker-media": (
            *("worker", "--queues", "files,speech,steps"),
            *("--concurrency", str(settings.slots)),
        ),
        "worker-render": (
            *("worker", "--queues", "render"),
            *("--concurrency", str(settings.slots)),
        ),
    }
    return [Program(name, (*us, *words), environment) for name, words in commands.items()]


def child_environment(settings: Settings, conninfo: str) -> dict[str, str]:
    """Return the variables that children need in addition to our environment."""
    environment = {
        "DATABASE_URL": conninfo,
        "FRAMEKILN_DATA": str(settings.data),
        "PYTHONUNBUFFERED": "1",
    }
    # A child writes to our pipe and cannot detect the terminal behind it.
    if settings.log_format == "auto" and sys.stderr.isatty():
        environment["FRAMEKILN_LOG_FORMAT"] = "console"
    return environment


def _sink(settings: Settings) -> LineSink:
    if settings.log_format == "json":
        # The lines are for programs: a prefix would break them.
        return lambda _name, line: typer.echo(line, err=True)
    return write_to_stderr


async def _wait_ready(url: str) -> None:
    last = "no answer"
    for _ in range(int(_READY_WITHIN_S / _POLL_S)):
        try:
            async with asyncio.timeout(_ANSWER_WITHIN_S):
                status = await _status_of(url, "/readyz")
        except (OSError, ValueError, IndexError) as error:
            last = str(error) or type(error).__name__
        else:
            if status == HTTPStatus.OK:
                return
            last = f"status {status}"
        await asyncio.sleep(_POLL_S)
    raise NotReady(f"the api at {url} was not ready within {_READY_WITHIN_S} s: {last}")


async def _status_of(url: str, path: str) -> int:
    """Request `path` and return the status; a client library would take longer to import."""
    address = urlsplit(url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    try:
        request = f"GET {path} HTTP/1.1\r\nHost: {address.netloc}\r\nConnection: close\r\n\r\n"
        writer.write(request.encode())
        answer = await reader.read()
        return int(answer.split(b" ", 2)[1])
    finally:
        writer.close()
