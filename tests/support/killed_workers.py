"""A worker in a process of its own that is killed while it holds a job."""

import asyncio
import sys
from asyncio.subprocess import DEVNULL, PIPE
from contextlib import suppress

from tests.support.app import AppHarness


async def kill_worker_with_job(app: AppHarness, program: str) -> None:
    """Run a program with the database and the data folder; kill it when it writes "holding"."""
    arguments = [app.services.jobs._conninfo, str(app.services.settings.data)]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, *arguments, stdout=PIPE, stderr=DEVNULL
    )
    assert process.stdout is not None
    try:
        while b"holding" not in (line := await process.stdout.readline()):
            assert line, "the worker ended by itself"
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.communicate()
