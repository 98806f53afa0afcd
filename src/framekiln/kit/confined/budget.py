"""How many confined children of this process run at a time, and with how much memory together.

Others wait in a queue. Owners take turns in it, so that many files of one do not delay another's.
A child that waits has no process yet, and its own time limit has not begun. The budget belongs to
the process, because its memory does.
"""

import asyncio
import os
import threading
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

_CONTAINER_LIMIT: Final = Path("/sys/fs/cgroup/memory.max")

_owner: ContextVar[str] = ContextVar("confined_owner", default="")


@contextmanager
def children_of(owner: str) -> Iterator[None]:
    """Let the children that are started in the block wait in their owner's turn."""
    before = _owner.set(owner)
    try:
        yield
    finally:
        _owner.reset(before)


@dataclass(eq=False)
class _Waiter:
    """A child that is not started yet."""

    memory_bytes: int
    loop: asyncio.AbstractEventLoop
    admitted: "asyncio.Future[None]"
    has_place: bool = field(default=False, kw_only=True)


class ChildBudget:
    """May be used from several threads, each with its own event loop."""

    def __init__(self, *, children: int, memory_bytes: int) -> None:
        self._children = children
        self._memory_bytes = memory_bytes
        self._lock = threading.Lock()
        self._running = 0
        self._used_bytes = 0
        self._queues: dict[str, deque[_Waiter]] = {}

    @asynccontextmanager
    async def place(self, memory_bytes: int) -> AsyncIterator[None]:
        """Wait for a place, and keep it for the block."""
        # A child that is allowed more than the whole budget runs alone.
        share_bytes = min(memory_bytes, self._memory_bytes)
        loop = asyncio.get_running_loop()
        waiter = _Waiter(share_bytes, loop, loop.create_future())
        owner = _owner.get()
        with self._lock:
            self._queues.setdefault(owner, deque()).append(waiter)
            self._admit()
        try:
            await waiter.admitted
            yield
        finally:
            with self._lock:
                self._leave(owner, waiter)

    def _leave(self, owner: str, waiter: _Waiter) -> None:
        if waiter.has_place:
            self._running -= 1
            self._used_bytes -= waiter.memory_bytes
        else:
            queue = self._queues[owner]
            queue.remove(waiter)
            if not queue:
                del self._queues[owner]
        self._admit()

    def _admit(self) -> None:
        """Give places to those whose turn it is; nobody overtakes a large child."""
        while self._queues:
            owner, queue = next(iter(self._queues.items()))
            waiter = queue[0]
            is_full = self._running >= self._children
            if is_full or self._used_bytes + waiter.memory_bytes > self._memory_bytes:
                return
            queue.popleft()
            # The owner's next child comes after one of everybody else.
            del self._queues[owner]
            if queue:
                self._queues[owner] = queue
            self._running += 1
            self._used_bytes += waiter.memory_bytes
            waiter.has_place = True
            # A closed loop has cancelled the task, which gives the place back.
            with suppress(RuntimeError):
                waiter.loop.call_soon_threadsafe(_wake, waiter.admitted)


def _wake(admitted: "asyncio.Future[None]") -> None:
    if not admitted.done():
        admitted.set_result(None)


def default_budget(*, children: int = 0, memory_bytes: int = 0) -> ChildBudget:
    """Return a budget; what is zero follows from the machine."""
    return ChildBudget(
        children=children or max(4, 2 * (os.cpu_count() or 1)),
        memory_bytes=memory_bytes or _machine_bytes() // 2,
    )


def _machine_bytes() -> int:
    """Return the memory of the machine, or of the container if that has less."""
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    try:
        return min(machine, int(_CONTAINER_LIMIT.read_text()))
    except (OSError, ValueError):
        return machine


class _ProcessBudget:
    """The budget of this process."""

    current = default_budget()


def set_child_budget(budget: ChildBudget) -> None:
    """Replace the budget of this process; children that already run stay in the old one."""
    _ProcessBudget.current = budget


def child_budget() -> ChildBudget:
    """Return the budget of this process."""
    return _ProcessBudget.current
