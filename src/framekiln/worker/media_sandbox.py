"""The warm sandbox of a worker, in which segments are made and films are joined."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from framekiln.kit.confined.warm_sandbox import WarmSandbox, open_sandbox_folders, open_warm_sandbox
from framekiln.media.remux.confined_join import JOIN_MODULE
from framekiln.media.segments.tasks import TASKS_MODULE


@asynccontextmanager
async def open_media_sandbox() -> AsyncIterator[WarmSandbox]:
    """Open the sandbox; it ends with the worker."""
    with open_sandbox_folders() as folders:
        async with open_warm_sandbox(folders, [TASKS_MODULE, JOIN_MODULE]) as warm:
            yield warm
