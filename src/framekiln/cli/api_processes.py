"""Several api processes at one address (`FRAMEKILN_API_PROCESSES`).

This process opens the listening sockets, starts the others and restarts those that die. The sockets
stay open meanwhile: a new connection waits for the next process that is free.
"""

import asyncio
import os
import sys
from pathlib import Path

import typer

from framekiln.cli.account import our_command
from framekiln.cli.port import listen
from framekiln.cli.signals import END_WITHIN_S, run_until_signal
from framekiln.cli.supervisor import RESTART_AT_ONCE, Supervisor
from framekiln.kit.processes import Program
from framekiln.settings import METRICS_FOLDER_VARIABLE, Settings


def serve_in_processes(settings: Settings, folder: Path) -> None:
    """Run the api in several processes until a stop signal; `folder` is for temporary files."""
    asyncio.run(run_until_signal(_serve(settings, folder), end_within_s=END_WITHIN_S))


async def _serve(settings: Settings, folder: Path) -> None:
    listeners = listen(settings.host, settings.port)
    files = tuple(listener.fileno() for listener in listeners)
    words = [word for number in files for word in ("--listener", str(number))]
    metrics = folder / "metrics"
    metrics.mkdir()
    environment = {METRICS_FOLDER_VARIABLE: str(metrics)}
    # A child writes to our pipe and cannot detect the terminal behind it.
    if settings.log_format == "auto" and sys.stderr.isatty():
        environment["FRAMEKILN_LOG_FORMAT"] = "console"
    supervisor = Supervisor(
        sink=lambda _name, line: typer.echo(line, err=True),
        policy=RESTART_AT_ONCE,
        stops_in_order=False,
    )
    try:
        async with supervisor:
            for number in range(1, settings.api_processes + 1):
                await supervisor.start(
                    Program(
                        f"api {number} of {os.getpid()}",
                        (*our_command(), "api", *words),
                        environment,
                        inherited_files=files,
                    )
                )
            await asyncio.Event().wait()
    finally:
        for listener in listeners:
            listener.close()
