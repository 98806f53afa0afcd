"""A worker in a process of its own that is killed while it holds a job."""

import asyncio
import sys
from asyncio.subprocess import DEVNULL, PIPE
from contextlib import suppress

from tests.support.app import AppHarness


async def kill_worker_with_job(app: AppHarness, program: str, *more: str) -> None:
    """Run a program with the database, the data folder, and more; kill it when it is "holding"."""
    arguments = [app.services.jobs._conninfo, str(app.services.settings.data), *more]
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
