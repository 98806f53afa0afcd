"""`framekiln serve`: the whole service on one machine, in one terminal.

Order: own the data folder, database, migrations, first key and user, api and workers, ready,
greeting.
Ends when asked to, and takes everything it started along.
"""

import asyncio
import os
import sys

import httpx
import typer

from framekiln.capture.browser import find_chromium
from framekiln.cli.connection import embedded, start_postgres, to_stderr
from framekiln.cli.environment import load_settings
from framekiln.cli.greeting import Greeting
from framekiln.cli.output import JsonFlag, write_json, write_line
from framekiln.cli.port import local_url, require_free_port
from framekiln.cli.signals import until_signal
from framekiln.cli.supervisor import Supervisor
from framekiln.db.migrate import migrate
from framekiln.kit.errors import Unavailable
from framekiln.kit.folder_lock import locked
from framekiln.kit.processes import LineSink, Program
from framekiln.services import Services
from framekiln.settings import Settings

IO_CONCURRENCY = 20
_READY_WITHIN_S = 60
_POLL_S = 0.1


class NotReady(Unavailable):
    """The api did not get ready in time."""

    code = "not_ready"


def serve(as_json: JsonFlag = False) -> None:
    """Run everything on this machine: database, api and workers."""
    settings = load_settings()
    asyncio.run(_serve(settings, as_json=as_json))


async def _serve(settings: Settings, *, as_json: bool) -> None:
    with locked(settings.data):
        find_chromium()
        require_free_port(settings.host, settings.port)
        supervisor = Supervisor(sink=_sink(settings))
        await until_signal(_run(settings, supervisor, as_json=as_json), insist=supervisor.kill_all)


async def _run(settings: Settings, supervisor: Supervisor, *, as_json: bool) -> None:
    async with supervisor:
        conninfo = settings.database_url or await _start_database(settings, supervisor)
        await asyncio.to_thread(migrate, conninfo)
        async with Services.open(settings, conninfo) as services:
            issued = await services.identity.ensure_default(settings.api_key)
            user = await services.users.ensure_first()
        await _start_service(settings, supervisor, conninfo)
        key = issued.text if issued else None
        greeting = Greeting(settings, issued_key=key, pid=os.getpid(), issued_user=user)
        if as_json:
            write_json(greeting.as_json())
        else:
            write_line(greeting.as_text())
        await asyncio.Event().wait()


async def _start_database(settings: Settings, supervisor: Supervisor) -> str:
    postgres = embedded(settings)
    await start_postgres(supervisor, postgres)
    return postgres.conninfo


async def _start_service(settings: Settings, supervisor: Supervisor, conninfo: str) -> None:
    environment = child_environment(settings, conninfo)
    api, *workers = child_programs(settings, environment)
    ward = await supervisor.start(api)
    for program in workers:
        await supervisor.start(program)
    await supervisor.until_ready(ward, _wait_ready(local_url(settings.host, settings.port)))


def child_programs(settings: Settings, environment: dict[str, str]) -> list[Program]:
    """Return the api and the workers, as commands of our own command line."""
    us = (sys.executable, "-P", "-m", "framekiln")
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
    """Return what children must see beyond our own environment."""
    environment = {
        "DATABASE_URL": conninfo,
        "FRAMEKILN_DATA": str(settings.data),
        "PYTHONUNBUFFERED": "1",
    }
    # A child writes into our pipe and cannot see the terminal behind it.
    if settings.log_format == "auto" and sys.stderr.isatty():
        environment["FRAMEKILN_LOG_FORMAT"] = "console"
    return environment


def _sink(settings: Settings) -> LineSink:
    if settings.log_format == "json":
        # Lines are for a machine: a prefix would spoil them.
        return lambda _name, line: typer.echo(line, err=True)
    return to_stderr


async def _wait_ready(url: str) -> None:
    last = "no answer"
    async with httpx.AsyncClient(trust_env=False, timeout=5) as client:
        for _ in range(int(_READY_WITHIN_S / _POLL_S)):
            try:
                answer = await client.get(f"{url}/readyz")
            except httpx.HTTPError as error:
                last = str(error) or type(error).__name__
            else:
                if answer.status_code == httpx.codes.OK:
                    return
                last = f"status {answer.status_code}"
            await asyncio.sleep(_POLL_S)
    raise NotReady(f"the api at {url} did not get ready within {_READY_WITHIN_S} s: {last}")
