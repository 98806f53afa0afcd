"""A few threads for work that takes a while, in which owners take turns.

The default threads of asyncio are for short work of everybody: reading a file, writing a chunk.
Longer work that a caller can ask for runs here, so that many requests of one organization delay
neither short work nor another organization's requests.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

from framekiln.kit.fair_places import FairPlaces

T = TypeVar("T")


class FairThreads:
    """Threads of one event loop."""

    def __init__(self, threads: int = 2) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="fair")
        self._places = FairPlaces(threads)

    async def run(self, owner: object, function: Callable[[], T]) -> T:
        """Call a function in a thread, when it is the owner's turn."""
        async with self._places.place(owner):
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._threads, copy_context().run, function)

    async def close(self) -> None:
        """Wait for the functions that run."""
        await asyncio.to_thread(self._threads.shutdown)
