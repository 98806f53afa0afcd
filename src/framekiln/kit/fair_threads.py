"""A few threads for work that takes a while, in which owners take turns.

The default threads of asyncio are for short work of everybody: reading a file, writing a chunk.
Longer work that a caller can ask for runs here, so that many requests of one organization delay
neither short work nor another organization's requests.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

T = TypeVar("T")


class FairThreads:
    """Threads of one event loop."""

    def __init__(self, threads: int = 2) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="fair")
        self._free = threads
        self._queues: dict[object, deque[asyncio.Future[None]]] = {}

    async def run(self, owner: object, function: Callable[[], T]) -> T:
        """Call a function in a thread, when it is the owner's turn."""
        await self._enter(owner)
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._threads, copy_context().run, function)
        finally:
            self._leave()

    async def close(self) -> None:
        """Wait for the functions that run."""
        await asyncio.to_thread(self._threads.shutdown)

    async def _enter(self, owner: object) -> None:
        if self._free:
            self._free -= 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queues.setdefault(owner, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():
                # The turn came together with the cancellation.
                self._leave()
            raise

    def _leave(self) -> None:
        """Give the thread to the next in turn."""
        while self._queues:
            owner, queue = next(iter(self._queues.items()))
            turn = queue.popleft()
            # The owner's next turn comes after one of everybody else.
            del self._queues[owner]
            if queue:
                self._queues[owner] = queue
            if not turn.cancelled():
                turn.set_result(None)
                return
        self._free += 1
