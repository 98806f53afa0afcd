"""How many confined children of this process run at a time, and with how much memory together.

Others wait in a queue. Owners take turns in it, so that many files of one do not delay another's.
A child that waits has no process yet, and its own time limit has not begun. The budget belongs to
the process, because its memory does.

Sessions have a budget of their own. They last as long as films, so a large upload that has to run
alone would wait for hours; and a film waits for children of its own while it has a session. A
session counts what most films need; one that takes more counts more, and waits if that is too much.
"""

import asyncio
import os
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from framekiln.kit.cancellation import CHECK_EVERY_S, check_cancelled
from framekiln.kit.confined.errors import TooManySessions

_CONTAINER_LIMIT: Final = Path("/sys/fs/cgroup/memory.max")
_MAX_SESSIONS: Final = 32
_MAX_FILM_SESSIONS: Final = 16
# What a session counts grows in such steps.
_STEP_BYTES: Final = 256 << 20


@dataclass(eq=False)
class _SessionGroup:
    """Sessions that one film has at the same time."""

    running: int = 0


_owner: ContextVar[str] = ContextVar("confined_owner", default="")
_group: ContextVar[_SessionGroup | None] = ContextVar("confined_group", default=None)


@contextmanager
def children_of(owner: str) -> Iterator[None]:
    """Let the children that are started in the block wait in their owner's turn."""
    before = _owner.set(owner)
    try:
        yield
    finally:
        _owner.reset(before)


@contextmanager
def sessions_of_one_film() -> Iterator[None]:
    """Let only the first session in the block wait for a place.

    Others that are open at the same time start at once, because a film must not wait for itself.
    They count all the same.
    """
    before = _group.set(_SessionGroup())
    try:
        yield
    finally:
        _group.reset(before)


@dataclass(eq=False)
class _Waiter:
    """A child that is not started yet."""

    owner: str
    memory_bytes: int
    wake: Callable[[], None]
    group: _SessionGroup = field(default_factory=_SessionGroup)
    has_place: bool = False


class ChildBudget:
    """May be used from several threads, each with its own event loop."""

    def __init__(self, *, children: int, memory_bytes: int) -> None:
        self._children = children
        self._memory_bytes = memory_bytes
        self._lock = threading.Lock()
        self._running = 0
        self._used_bytes = 0
        self._queues: dict[str, deque[_Waiter]] = {}

    @property
    def running(self) -> int:
        """How many children have a place."""
        return self._running

    @asynccontextmanager
    async def place(self, memory_bytes: int) -> AsyncIterator[None]:
        """Wait for a place, and keep it for the block."""
        loop = asyncio.get_running_loop()
        admitted: asyncio.Future[None] = loop.create_future()

        def wake() -> None:
            # A closed loop has cancelled the task, which gives the place back.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(_wake, admitted)

        waiter = _Waiter(_owner.get(), memory_bytes, wake)
        self.enter(waiter)
        try:
            await admitted
            yield
        finally:
            self.leave(waiter)

    def enter(self, waiter: _Waiter) -> None:
        """Give a child a place, now or when it is its turn."""
        # A child that is allowed more than the whole budget runs alone.
        waiter.memory_bytes = min(waiter.memory_bytes, self._memory_bytes)
        with self._lock:
            if waiter.group.running >= _MAX_FILM_SESSIONS:
                raise TooManySessions(
                    f"the film reads media of more than {_MAX_FILM_SESSIONS} pages at a time:"
                    " show fewer layers with pages together, or use layers of type video"
                )
            if waiter.group.running:
                self._give_place(waiter)
            else:
                self._queues.setdefault(waiter.owner, deque()).append(waiter)
                self._admit()

    def grow(self, waiter: _Waiter, memory_bytes: int) -> bool:
        """Count more for a child that has a place; return False if others leave too little."""
        with self._lock:
            more_bytes = min(memory_bytes, self._memory_bytes) - waiter.memory_bytes
            # One that has the whole budget has nothing to wait for.
            is_free = more_bytes <= max(0, self._memory_bytes - self._used_bytes)
            # A film must not wait for itself.
            if is_free or waiter.group.running > 1:
                waiter.memory_bytes += more_bytes
                self._used_bytes += more_bytes
                return True
            return False

    def leave(self, waiter: _Waiter) -> None:
        """Take the place of a child back, or remove it from the queue."""
        with self._lock:
            if waiter.has_place:
                waiter.group.running -= 1
                self._running -= 1
                self._used_bytes -= waiter.memory_bytes
                waiter.has_place = False
            else:
                queue = self._queues[waiter.owner]
                queue.remove(waiter)
                if not queue:
                    del self._queues[waiter.owner]
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
            self._give_place(waiter)

    def _give_place(self, waiter: _Waiter) -> None:
        waiter.group.running += 1
        self._running += 1
        self._used_bytes += waiter.memory_bytes
        waiter.has_place = True
        waiter.wake()


def _wake(admitted: "asyncio.Future[None]") -> None:
    if not admitted.done():
        admitted.set_result(None)


class SessionPlace:
    """The place of one session, in the turn of whoever makes this. Its session calls it."""

    def __init__(self, budget: ChildBudget, memory_bytes: int) -> None:
        self._budget = budget
        self._admitted = threading.Event()
        group = _group.get() or _SessionGroup()
        self._waiter = _Waiter(_owner.get(), memory_bytes, self._admitted.set, group)
        self._needed_bytes = memory_bytes

    def note_memory(self, used_bytes: object) -> None:
        """Note what the child says it has taken at most; anything but a number is ignored."""
        if type(used_bytes) is int:
            steps = -(-used_bytes // _STEP_BYTES)
            self._needed_bytes = max(self._needed_bytes, steps * _STEP_BYTES)

    def must_wait(self) -> bool:
        """Whether the child has taken more than the budget has left, so that others go first.

        Then end the child, leave, and take the place again, which counts all of it.
        """
        if not self._waiter.has_place or self._needed_bytes <= self._waiter.memory_bytes:
            return False
        return not self._budget.grow(self._waiter, self._needed_bytes)

    def take(self, within_s: float) -> bool:
        """Wait for the place, unless it is taken; return False if there is none in time."""
        if self._waiter.has_place:
            return True
        deadline = time.monotonic() + within_s
        self._waiter.memory_bytes = self._needed_bytes
        self._budget.enter(self._waiter)
        is_in_time = False
        try:
            while not is_in_time and time.monotonic() < deadline:
                check_cancelled()
                is_in_time = self._admitted.wait(CHECK_EVERY_S)
        finally:
            if not is_in_time:
                self._leave()
        return is_in_time

    def leave(self) -> None:
        """Give the place back, if it is taken."""
        if self._waiter.has_place:
            self._leave()

    def _leave(self) -> None:
        self._budget.leave(self._waiter)
        self._admitted.clear()


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


def default_session_budget(*, sessions: int = 0, memory_bytes: int = 0) -> ChildBudget:
    """Return a budget for sessions; what is zero has its default."""
    return default_budget(children=sessions or _MAX_SESSIONS, memory_bytes=memory_bytes)


class _ProcessBudget:
    """The budgets of this process."""

    current = default_budget()
    sessions = default_session_budget()


def set_child_budget(budget: ChildBudget, sessions: ChildBudget | None = None) -> None:
    """Replace the budgets of this process; children that already run stay in the old ones."""
    _ProcessBudget.current = budget
    _ProcessBudget.sessions = sessions or _ProcessBudget.sessions


def child_budget() -> ChildBudget:
    """Return the budget of this process."""
    return _ProcessBudget.current


def session_budget() -> ChildBudget:
    """Return the budget of this process for sessions."""
    return _ProcessBudget.sessions
