"""The parts of the service as separate commands, for many machines: api, worker, migrate.

Only its own command imports each part: importing all of them takes longer than most commands take
to run.
"""

import asyncio
from typing import Annotated

import typer

from framekiln.audit.model import ActorType
from framekiln.cli.account import (
    account_environment,
    account_of,
    enter_account,
    exec_as_account,
    prepare_data,
    require_allowed_port,
    restrict_process,
)
from framekiln.cli.api_processes import serve_in_processes
from framekiln.cli.confinement import require_confinement
from framekiln.cli.database import open_server, open_services, running_conninfo
from framekiln.cli.environment import load_settings
from framekiln.cli.output import JsonFlag, write_json, write_line
from framekiln.cli.port import require_free_port
from framekiln.cli.signals import END_WITHIN_S, run_until_signal
from framekiln.db.migrate import migrate as apply_migrations
from framekiln.kit.control_group import prepare_groups
from framekiln.kit.errors import InvalidInput
from framekiln.kit.folder_lock import make_folder
from framekiln.kit.garbage import uncollected_imports
from framekiln.kit.temp_folder import own_temp_folder
from framekiln.settings import Settings

QUEUES = ("control", "io", "render", "media", "files", "speech", "playback", "steps", "endpoints")


class UnknownQueue(InvalidInput):
    """`--queues` names a queue that does not exist."""

    code = "unknown_queue"


def api(
    listener: Annotated[
        list[int] | None,
        typer.Option(hidden=True, help="A listening socket of the process that starts this one."),
    ] = None,
) -> None:
    """Run only the HTTP api."""
    settings = load_settings()
    if not listener:
        require_allowed_port(settings, account_of(settings))
        _leave_root(settings, ("api",))
        require_free_port(settings.host, settings.port)
        require_confinement(settings, has_pages=False)
    else:
        restrict_process()
    with own_temp_folder() as folder:
        if settings.api_processes > 1 and not listener:
            serve_in_processes(settings, folder)
        else:
            asyncio.run(_api(settings, listener or []))


async def _api(settings: Settings, listeners: list[int]) -> None:
    with uncollected_imports():
        from framekiln.api.app import create_app  # noqa: PLC0415
        from framekiln.cli.api_server import serve_app  # noqa: PLC0415

    async with open_services(settings, actor=ActorType.SERVICE) as services:
        await serve_app(create_app(services), settings, listeners)


def worker(
    queues: Annotated[str, typer.Option(help="Queues, separated by commas.")] = ",".join(QUEUES),
    concurrency: Annotated[
        int, typer.Option(min=0, help="Jobs at a time; 0 means a number based on the CPU count.")
    ] = 0,
) -> None:
    """Run a worker for some queues."""
    settings = load_settings()
    names = parse_queues(queues)
    if "render" in names:
        prepare_groups(account_of(settings))
    _leave_root(settings, ("worker", "--queues", queues, "--concurrency", str(concurrency)))
    require_confinement(settings, has_pages="render" in names)
    work = _worker(settings, names, concurrency or settings.slots)
    with own_temp_folder():
        asyncio.run(run_until_signal(work, end_within_s=END_WITHIN_S))


async def _worker(settings: Settings, queues: list[str], concurrency: int) -> None:
    with uncollected_imports():
        from framekiln.worker.loop import run_worker  # noqa: PLC0415

    async with open_services(settings, actor=ActorType.SERVICE) as services:
        await run_worker(services, queues=queues, concurrency=concurrency)


def _leave_root(settings: Settings, arguments: tuple[str, ...]) -> None:
    """Restrict this process; as root, replace it with one of the account of the service."""
    restrict_process()
    if account_of(settings).is_ours:
        return
    conninfo = running_conninfo(settings)
    make_folder(settings.data)
    account = enter_account(settings)
    if account.is_ours:
        return
    prepare_data(settings, account)
    exec_as_account(
        account,
        arguments,
        {"DATABASE_URL": conninfo, **account_environment(settings, account)},
    )


def parse_queues(text: str) -> list[str]:
    """Return the names in `text`, in order, without duplicates."""
    names = list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    unknown = [name for name in names if name not in QUEUES]
    if unknown or not names:
        raise UnknownQueue(
            f"--queues {text!r}: choose from {', '.join(QUEUES)}, separated by commas"
        )
    return names


def migrate(as_json: JsonFlag = False) -> None:
    """Apply the migrations of this version to the database."""
    settings = load_settings()
    applied = asyncio.run(_migrate(settings))
    if as_json:
        write_json({"applied": applied})
        return
    for name in applied:
        write_line(f"applied {name}")
    if not applied:
        write_line("the database is up to date")


async def _migrate(settings: Settings) -> list[str]:
    async with open_server(settings, may_create=True) as server:
        return await asyncio.to_thread(apply_migrations, server.conninfo)
